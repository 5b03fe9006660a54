"""``hashbench eval``: what it prints and writes; the scores themselves are tested in tests/evaluation."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.small_pieces import small_pieces

TIED = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], np.uint8)  # of a query 000


def save(path: str, database: np.ndarray, query_classes: list[int], **more: np.ndarray) -> None:
    """Queries whose codes are 0, and a database whose items have the classes 0, 1, 1."""
    query = np.zeros((len(query_classes), 3), np.uint8)
    labels = {"query_labels": np.array(query_classes), "database_labels": np.array([0, 1, 1])}
    np.savez(path, query_codes=query, database_codes=database, **labels, **more)


@pytest.fixture
def codes(here: Path) -> None:
    """codes.npz: one query of class 0 whose only relevant item ties with another at distance 0: AP 3/4, in [1/2, 1].

    two.npz has a query more, of a class that the database lacks.
    """
    save("codes.npz", TIED, [0])
    save("two.npz", TIED, [0, 9])


codes_here = pytest.mark.usefixtures("codes")


@codes_here
def test_json_is_one_object_with_the_default_metrics(hashbench: CommandLine) -> None:
    printed = hashbench.json("eval codes.npz")
    sizes = {"file": "codes.npz", "n_queries": 1, "n_database": 3, "n_bits": 3, "ties": "expected", "empty": "skip"}
    assert {key: printed[key] for key in sizes} == sizes
    assert list(printed["metrics"]) == ["ap", "ndcg", "precision@r2"]
    assert printed["metrics"]["ap"] == pytest.approx(
        {"mean": 0.75, "std": 0.0, "n_queries": 1, "n_empty": 0, "worst": 0.5, "best": 1.0}
    )
    assert printed["queries"] == {"without_relevant": 0, "empty_balls": 0, "radius": 2}
    shares = pytest.approx({"min": 1 / 3, "mean": 1 / 3, "max": 1 / 3})
    bits = {"dead_bits": [], "share_of_ones": shares}
    assert printed["database_codes"] == {"n_items": 3, "n_distinct": 2, **bits}
    assert printed["leak"]["ids_in_database"] is None
    assert printed["leak"]["twins_in_database"] == 1


@codes_here
def test_the_report_says_all_there_is_to_know(hashbench: CommandLine) -> None:
    assert hashbench.done("eval codes.npz --metric ap,ndcg").lines == [
        "codes.npz: 1 queries, 3 items, 3 bits",
        "",
        "metric    mean     std  [worst, best]",
        "ap      0.7500  0.0000  [0.5000, 1.0000]",
        "ndcg    0.8155  0.0000  [0.6309, 1.0000]",
        "",
        "queries  0 have no relevant item; 0 find nothing within Hamming radius 2",
        "codes    2 distinct among 3 items, 1 distinct among 1 queries",
        "bits     dead: none; share of ones: 0.33 to 0.33, 0.33 on average",
        "leak     no ids to compare",
        "         1 queries have the code and a label of a database item",
        "         (equal codes are a hint, not a proof: different items can have them)",
    ]


def test_long_lists_of_bits_are_cut(here: Path, hashbench: CommandLine) -> None:
    labels = {"query_labels": np.zeros(1, int), "database_labels": np.zeros(2, int)}
    np.savez("dead.npz", query_codes=np.zeros((1, 12)), database_codes=np.zeros((2, 12)), **labels)
    assert "dead: 0, 1, 2, 3, 4, 5, 6, 7 and 4 more; share of ones" in hashbench.done("eval dead.npz").out


@codes_here
def test_an_empty_query_is_left_out_or_scores_0(hashbench: CommandLine) -> None:
    skipped = hashbench.json("eval two.npz --metric ap")["metrics"]["ap"]
    zero = hashbench.json("eval two.npz --metric ap --empty zero")["metrics"]["ap"]
    assert skipped["mean"] == 0.75
    assert skipped["n_empty"] == 1
    assert zero["mean"] == 0.375
    assert zero["n_empty"] == 1
    assert zero["worst"] == 0.25
    assert "1 have no relevant item (left out)" in hashbench.done("eval two.npz --per-query q.csv --metric ap").out
    assert Path("q.csv").read_text() == "query,n_relevant,ap\n0,1,0.75\n1,0,\n"
    shown = hashbench.done("eval two.npz --per-query q.csv --metric ap --empty zero").out
    assert "1 have no relevant item (score 0)" in shown
    assert Path("q.csv").read_text() == "query,n_relevant,ap\n0,1,0.75\n1,0,0.0\n"


def rows(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(path).read_text().splitlines()))


@codes_here
def test_curves_and_pairs_are_written_as_csv_and_png(hashbench: CommandLine) -> None:
    """The relevant pair and another lie at distance 0, the third at 3: of two pairs one is right."""
    printed = hashbench.done("eval codes.npz --pairs 0.5 --curves curves").lines
    names = ("precision_recall", "precision_at_n", "recall_by_radius", "pairs")
    assert {path.name for path in Path("curves").iterdir()} == {
        f"{name}.{end}" for name in names for end in ("csv", "png")
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("curves").glob("*.png"))
    assert [float(row["recall"]) for row in rows("curves/recall_by_radius.csv")] == [1.0] * 4
    precisions = [float(row["precision"]) for row in rows("curves/precision_at_n.csv")]
    assert precisions == pytest.approx([1 / 2, 1 / 2, 1 / 3])
    assert [float(row["precision"]) for row in rows("curves/pairs.csv")] == pytest.approx([0.5, 0.5, 0.5, 1 / 3])
    start = printed.index("pairs within radius  found  precision  recall      F1  false positive rate")
    assert printed[start + 1].split() == ["0", "2", "0.5000", "1.0000", "0.6667", "0.5"]
    assert printed[start + 4].split() == ["3", "3", "0.3333", "1.0000", "0.5000", "1"]
    assert printed[start + 6] == "- precision 0.5: radius 2, recall 1.0000; best F1: radius 0"
    pairs = hashbench.json("eval codes.npz --pairs 0.9")["pairs"]
    assert pairs["wished_precision"] == 0.9
    assert pairs["radius"] is None
    assert pairs["by_radius"]["found"] == [2, 2, 2, 3]


@codes_here
def test_as_prints_what_other_code_would(hashbench: CommandLine) -> None:
    printed = hashbench.json("eval codes.npz --metric ap@2 --as deephash --as TREC")["as"]
    assert list(printed) == ["deephash", "trec"]
    assert printed["deephash"]["figures"]["mAP@2"]["of_this_machine"]
    assert printed["deephash"]["figures"]["mAP@2"]["value"] in (0.5, 1.0)
    assert "as deephash: swuxyj/DeepHash-pytorch" in hashbench.done("eval codes.npz --as deephash").text


@codes_here
def test_queries_among_the_items_are_counted(hashbench: CommandLine) -> None:
    save("ids.npz", TIED, [0, 9], query_ids=np.array([5, 6]), database_ids=np.array([6, 7, 8]))
    assert hashbench.json("eval ids.npz")["leak"]["ids_in_database"] == 1
    assert "1 queries are in the database, by their ids" in hashbench.done("eval ids.npz").out


@pytest.fixture
def streamable(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """codes.npz with ids, shared labels and odd values, in many pieces."""
    small_pieces(monkeypatch, slab_bytes=200, items=16)
    rng = np.random.default_rng(0)
    np.savez(
        "codes.npz",
        query_codes=rng.normal(size=(20, 12)),
        database_codes=rng.normal(size=(300, 12)) * rng.integers(0, 2, (300, 12)),
        query_labels=rng.integers(-1, 2, (20, 5)),
        database_labels=rng.integers(0, 2, (300, 5)),
        query_ids=np.arange(20),
        database_ids=np.arange(17, 317),
        ones=np.ones(12),
    )


streamed = pytest.mark.usefixtures("streamable")


@streamed
def test_a_fault_at_the_end_leaves_no_number(hashbench: CommandLine) -> None:
    content = dict(np.load("codes.npz"))
    content["database_codes"][-1, -1] = np.inf
    np.savez("codes.npz", **content)
    assert "database_codes: not finite" in hashbench.refused("eval codes.npz --per-query scores.csv")
    assert not Path("scores.csv").exists()


@streamed
def test_more_different_codes_than_are_counted(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.scoring.evaluation.diagnostics.DISTINCT_LIMIT", 25)
    shown = hashbench.done("eval codes.npz").out
    assert "over 25 distinct among 300 items, 20 distinct among 20 queries" in shown
    assert hashbench.json("eval codes.npz")["database_codes"]["n_distinct"] is None


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"torch", "sklearn", "scipy", "pandas", "matplotlib"}:
            raise ImportError(f"{name} must not be imported to score a file")

sys.meta_path.insert(0, Blocker())
from hashbench.cli._app import main

main(["eval", *sys.argv[1:]])
"""


@codes_here
def test_scoring_needs_none_of_the_heavy_libraries() -> None:
    command = [sys.executable, "-c", BLOCKED, "codes.npz", "--as", "sklearn", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["ap"]["mean"] == pytest.approx(0.75)


@streamed
def test_auto_is_a_gpu_where_the_cpu_would_count_for_long(
    hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from support.torch_on_cpu import stand_in_for_cuda

    counted_on = stand_in_for_cuda(monkeypatch)
    monkeypatch.setattr("hashbench.scoring.histogram.device.has_cuda_driver", lambda: True)
    short = hashbench.done("eval codes.npz")
    assert counted_on == []
    monkeypatch.setattr("hashbench.scoring.histogram.device.CPU_SECONDS", 1e-9)
    assert hashbench("eval codes.npz") == hashbench("eval codes.npz --device cpu") == short
    assert counted_on == ["cuda:0"]


@codes_here
def test_several_files_are_scored_into_one_table(hashbench: CommandLine) -> None:
    """Each with what it has alone; files that are parts of one set are one set as before."""
    save("other.npz", np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]], np.uint8), [0])
    alone = [hashbench.json(f"eval {name}") for name in ("codes.npz", "other.npz")]
    assert hashbench.json("eval codes.npz other.npz")["files"] == alone
    both = "eval codes.npz other.npz --metric ap,ap_best"
    assert hashbench.done(both).lines == [
        "file       bits  queries  items      ap  [worst, best]     ap_best",
        "codes.npz     3        1      3  0.7500  [0.5000, 1.0000]   1.0000",
        "other.npz     3        1      3  0.4167  [0.3333, 0.5000]   0.5000",
    ]
    lines = csv.DictReader(hashbench.done(both, "--format csv").lines)
    cells = [(row["file"], row["metric"]) for row in lines if row["mean"]]
    assert cells == [(name, metric) for name in ("codes.npz", "other.npz") for metric in ("ap", "ap_best")]
    whole = np.load("codes.npz")
    for part in ("codes", "labels"):
        np.savez(f"only_{part}.npz", **{key: whole[key] for key in (f"query_{part}", f"database_{part}")})
    assert hashbench.json("eval only_codes.npz only_labels.npz")["metrics"] == alone[0]["metrics"]
