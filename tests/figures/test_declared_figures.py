"""The figures in experiments/figures against the papers: what is typed here is from their text, not from our files."""

import os
import re
from pathlib import Path

import pytest
from support.toy_root import REPOSITORY

from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.figures import CellsFile, FigureSpec
from hashbench.showing.figures.tied_orders import OrdersFile
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell

SHARED = Path(os.environ.get("HASHBENCH_SHARED", REPOSITORY.parent / "shared"))
FIGURES = sorted(path.stem for path in (REPOSITORY / "experiments" / "figures").glob("*.toml"))


def lines(paper: str) -> list[str]:
    path = SHARED / "papers" / f"{paper}.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not here: set HASHBENCH_SHARED to the folder that holds papers/")
    return path.read_text(encoding="utf-8").splitlines()


def cells(name: str) -> list[Cell]:
    found = figures.load(name).cells
    assert found
    return found


def file_of(figure: FigureSpec) -> CellsFile:
    assert isinstance(figure.file, CellsFile)
    return figure.file


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


@pytest.mark.parametrize("dataset", ["flickr1m", "sift1m", "gist1m", "tiny580k"])
def test_rows_of_the_large_data_sets_hold_each_precision_by_weighted_distances(dataset: str) -> None:
    """The weighted distances are not kept, so a metric that the row lacks is never known."""
    from hashbench.running.datasets.card import load_card
    from hashbench.running.runs.execute import OF_SORTED

    held = {*OF_SORTED, *load_card(dataset).protocol("structhash").metrics}
    assert {c.metric for c in cells("structhash_figure3") if c.evaluation == "weighted"} <= held
