"""The figures in experiments/figures against the papers: what is typed here is from their text, not from our files."""

import os
import re
from pathlib import Path

import pytest

from hashbench import figures
from hashbench.figures import CellsFile, FigureSpec
from hashbench.figures.lines import LinesFile
from hashbench.figures.ranking_examples import ExamplesFile
from hashbench.figures.tied_orders import OrdersFile
from hashbench.runs.store import Store
from hashbench.tables import spec
from hashbench.tables.cell import Cell

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("HASHBENCH_SHARED", ROOT.parent / "shared"))
FIGURES = sorted(path.stem for path in (ROOT / "experiments" / "figures").glob("*.toml"))
STRUCTHASH_BITS = [8, 16, 24, 32, 48, 64]  # ours: the text says no more than "the maximum bit length is set to 64"


def lines(paper: str) -> list[str]:
    path = SHARED / "papers" / f"{paper}.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not here: set HASHBENCH_SHARED to the folder that holds papers/")
    return path.read_text(encoding="utf-8").splitlines()


def panels_before(paper: str, caption: str) -> int:
    """The number of pictures that stand directly before a caption."""
    text = lines(paper)
    at = next(i for i, line in enumerate(text) if line.startswith(caption))
    n = 0
    for line in reversed(text[:at]):
        if line and not line.startswith("Refer to caption"):
            return n
        n += line.count("Refer to caption")
    return n


def cells(name: str) -> list[Cell]:
    found = figures.load(name).cells
    assert found
    return found


def file_of(figure: FigureSpec) -> CellsFile:
    assert isinstance(figure.file, CellsFile)
    return figure.file


def axes(name: str) -> dict[str, tuple[list[str], list[str]]]:
    """The rows and columns of each section, in order."""
    found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for cell in cells(name):
        rows, columns = found.setdefault(cell.section, ({}, {}))
        rows[cell.row], columns[cell.column] = None, None
    return {section: ([*rows], [*columns]) for section, (rows, columns) in found.items()}


def test_every_figure_of_the_papers_with_measured_values_is_declared() -> None:
    structhash = [f"structhash_figure{n}" for n in (1, 2, 3, 4)]
    assert {"talr_figure1", "talr_figure3", "sparse_hash_figure1", "sparse_hash_figure3", *structhash} <= set(FIGURES)
    assert figures.names() == FIGURES


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_with_the_name_of_a_table_shows_that_table(name: str) -> None:
    """``hashbench run`` and ``status`` take the table of that name."""
    if name in spec.names():
        assert file_of(figures.load(name)).table == name


def test_talr_figure_1_has_the_relevance_of_the_poster_whose_ap_is_its_best_order() -> None:
    """The poster: "Affinity: 1 3 0 2 0 0 0 0", "AP = avg(1/1, 2/2, 3/4) = 0.92"; its ranking has no ties."""
    file = figures.load("talr_figure1").file
    assert isinstance(file, OrdersFile)
    text = "\n".join(lines("talr_poster"))
    affinity = re.search(r"Affinity: ([\d ]+)", text)
    assert affinity and [level != "0" for level in affinity[1].split()] == file.relevant
    best = figures.load("talr_figure1").fill([], Store.default()).points[0]
    assert best["ap"] == pytest.approx((1 + 1 + 3 / 4) / 3) and "= 0.92" in text


def test_talr_figure_3_has_all_methods_of_the_first_setting() -> None:
    """Its caption: the ranges for all methods considered in the CIFAR-10 experiment (first setting)."""
    assert axes("talr_figure3") == {
        "CIFAR-10 S1 (mAP)": (
            ["BRE", "MACHash", "FastHash", "StructHash", "DPSH*", "DTSH", "MIHash", "TALR-AP"],
            ["12 bits", "24 bits", "32 bits", "48 bits"],
        )
    }
    assert {(c.dataset, c.protocol, c.metric, c.evaluation) for c in cells("talr_figure3")} == {
        ("cifar10", "s1", "ap", "database")
    }
    assert {c.settings.get("model", c.settings.get("features")) for c in cells("talr_figure3")} == {"vggf"}
    assert [c.published for c in cells("talr_figure3") if c.row == "TALR-AP"] == [0.732, 0.789, 0.800, 0.826]
    assert figures.load("talr_figure3").file.kind == "tie_ranges"
    caption = next(line for line in lines("talr") if line.startswith("Figure 3"))
    assert "for all methods considered in the CIFAR-10 experiment (first setting)" in caption


def test_our_own_tie_ranges_are_of_the_measured_table() -> None:
    assert axes("cifar10_small_cnn_ties") == {
        "32 bits": (["DPSH", "DTSH", "MIHash", "HashNet", "TALR-AP", "TALR-NDCG"], ["mAP"])
    }


def test_sparse_hash_figure_3_has_two_panels_with_the_bound() -> None:
    assert axes("sparse_hash_figure3") == {
        "CIFAR-100, d = 64: SUF": (["Ours", "VQ", "Th"], ["k = 1", "k = 2", "k = 3", "k = 4"]),
        "ImageNet32, d = 256: SUF": (["Ours", "VQ", "Th"], ["k = 1", "k = 2", "k = 3"]),
    }
    file = figures.load("sparse_hash_figure3").file
    assert isinstance(file, LinesFile) and file.bound == "suf"
    trained = {(c.dataset, c.settings["base"], c.settings["d"], c.evaluation) for c in cells("sparse_hash_figure3")}
    assert trained == {("cifar100", "npairs", 64, "database"), ("imagenet32", "triplet", 256, "test")}


def test_sparse_hash_figure_3_is_the_speed_up_of_tables_2_and_4() -> None:
    """Typed from Tables 2 (train) and 4; k = 1 first."""
    printed = {
        ("CIFAR-100, d = 64: SUF", "Ours"): [54.90, 16.51, 7.32, 4.52],
        ("CIFAR-100, d = 64: SUF", "VQ"): [31.35, 5.44, 2.36, 1.55],
        ("CIFAR-100, d = 64: SUF", "Th"): [13.65, 5.36, 3.21, 2.30],
        ("ImageNet32, d = 256: SUF", "Ours"): [221.49, 60.25, 27.16],
        ("ImageNet32, d = 256: SUF", "VQ"): [146.26, 32.83, 13.85],
        ("ImageNet32, d = 256: SUF", "Th"): [18.81, 6.33, 3.64],
    }
    for (section, row), values in printed.items():
        found = [c.published for c in cells("sparse_hash_figure3") if (c.section, c.row) == (section, row)]
        assert found == values
    text = lines("sparse_hash")
    at = next(i for i, line in enumerate(text) if line.startswith("Figure 3"))
    left = text[at - 2]
    right = text[at - 1]  # each tick is there three times: 111 222 333 444 ... 60 60 60
    assert re.match(r"111222333444.*202020.*404040.*606060", left) and "80" not in left
    assert re.match(r"111222333(?!444).*100100100.*200200200", right)
    assert all(panel.endswith("SUF UpperboundOursVQTh") for panel in (left, right))


def test_structhash_figure_1_has_three_panels_of_ndcg_by_bits() -> None:
    methods = ["StructH-N", "StructH-A", "CGH", "SPLH", "STHs", "BREs", "ITQ", "SPHER", "MDSH", "AGH", "LSH"]
    columns = [f"{bits} bits" for bits in STRUCTHASH_BITS]
    names = ("USPS", "MNIST", "ISOLET")
    assert axes("structhash_figure1") == {f"{name}: NDCG (K=100)": (methods, columns) for name in names}
    assert panels_before("structhash", "Figure 1: NDCG results on 3 datasets.") == 3


def test_structhash_figure_2_shows_sixteen_queries_in_two_columns() -> None:
    (cell,) = cells("structhash_figure2")
    assert cell.method == "structhash"
    assert cell.settings["loss"] == "ndcg"
    assert cell.settings["bits"] == 64
    file = figures.load("structhash_figure2").file
    assert isinstance(file, ExamplesFile)
    assert file.kind == "ranking_examples"
    assert file.queries == 16
    assert file.panels_across == 2
    assert panels_before("structhash", "Figure 2: Some ranking examples of our method.") == 16


def test_structhash_figure_3_has_three_measures_of_four_large_data_sets() -> None:
    supervised = ["StructH-N", "StructH-A", "CGH", "SPLH", "STHs", "BREs"]  # section 5: CGH, BREs, STHs, SPLH
    bits = [f"{bits} bits" for bits in STRUCTHASH_BITS]
    expected = {}
    for name in ("Flickr-1M", "SIFT-1M", "GIST-1M", "Tiny-580K"):
        expected[f"{name}: NDCG (K=100)"] = supervised, bits
        expected[f"{name}: mAP"] = supervised, bits
        expected[f"{name}: precision (64 bits)"] = supervised, [f"K = {k:,}" for k in (100, 250, 500, 750, 1000)]
    assert axes("structhash_figure3") == expected
    assert list(axes("structhash_figure3")) == list(expected)
    metrics = {(c.section.partition(": ")[2], c.metric.partition("@")[0]) for c in cells("structhash_figure3")}
    assert metrics == {
        ("NDCG (K=100)", "structhash_ndcg"),
        ("mAP", "ap(norm=retrieved)"),
        ("precision (64 bits)", "precision"),
    }
    assert {(c.row, c.evaluation) for c in cells("structhash_figure3")} == {
        (row, "weighted" if row in ("StructH-N", "StructH-A", "CGH") else "database") for row in supervised
    }
    assert panels_before("structhash", "Figure 3: Results on 4 large datasests") == 12


@pytest.mark.parametrize("dataset", ["flickr1m", "sift1m", "gist1m", "tiny580k"])
def test_rows_of_the_large_data_sets_hold_each_precision_by_weighted_distances(dataset: str) -> None:
    """The weighted distances are not kept, so a metric that the row lacks is never known."""
    from hashbench.datasets.card import load_card
    from hashbench.runs.execute import OF_SORTED

    held = {*OF_SORTED, *load_card(dataset).protocol("structhash").metrics}
    assert {c.metric for c in cells("structhash_figure3") if c.evaluation == "weighted"} <= held


def test_structhash_figure_4_compares_the_kernel_version_with_the_linear_one_and_with_ksh() -> None:
    methods = ["StructHash-Kernel", "StructHash", "KSH"]
    columns = [f"{bits} bits" for bits in STRUCTHASH_BITS]
    names = ("Flickr-1M", "SIFT-1M", "GIST-1M")
    assert axes("structhash_figure4") == {f"{name}: NDCG (K=100)": (methods, columns) for name in names}
    asked = {(c.row, c.method, c.settings.get("hash_functions")) for c in cells("structhash_figure4")}
    assert asked == {
        ("StructHash-Kernel", "structhash", "kernel"),
        ("StructHash", "structhash", None),
        ("KSH", "ksh", None),
    }
    assert panels_before("structhash", "Figure 4: Comparison on large datasets") == 3


def test_sparse_hash_figure_1_has_the_sizes_of_the_authors_record() -> None:
    file = figures.load("sparse_hash_figure1").file
    assert file.model_dump(include={"k", "lam", "sizes"}) == {"k": 4, "lam": 1.0, "sizes": [64, 128, 256, 512]}
    caption = next(line for line in lines("sparse_hash") if line.startswith("Figure 1"))
    assert "averaged over 20 runs on machines with Intel Xeon E5-2650 CPU" in caption
