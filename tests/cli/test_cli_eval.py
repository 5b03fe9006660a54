"""``hashbench eval``, through its runner and as a process."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_pieces import small_pieces
from typer.testing import CliRunner

from hashbench.cli._app import app
from hashbench.codes import files, pack
from hashbench.codes.files import SavedCodes
from hashbench.foundation.errors import HashbenchError
from hashbench.relevance.labels import ClassRelevance


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """One query of class 0; its only relevant item ties with another at distance 0: AP 3/4, in [1/2, 1]."""
    database = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], np.uint8)
    return written(tmp_path / "codes.npz", database, query_class=0)


def written(path: Path, database: np.ndarray, query_class: int) -> Path:
    labels = ClassRelevance(np.array([query_class]), np.array([0, 1, 1]))
    files.save(path, SavedCodes(pack(np.zeros((1, 3), np.uint8)), pack(database), labels))
    return path


def run_json(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["eval", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_json_is_one_object_with_the_default_metrics(file: Path) -> None:
    printed = run_json(str(file))
    sizes = {"file": str(file), "n_queries": 1, "n_database": 3, "n_bits": 3, "ties": "expected", "empty": "skip"}
    assert {key: printed[key] for key in sizes} == sizes
    assert list(printed["metrics"]) == ["ap", "ndcg", "precision@r2"]
    approx = {"mean": 0.75, "std": 0.0, "n_queries": 1, "n_empty": 0, "worst": 0.5, "best": 1.0}
    assert printed["metrics"]["ap"] == pytest.approx(approx)
    assert printed["queries"] == {"without_relevant": 0, "empty_balls": 0, "radius": 2}
    assert printed["database_codes"] == {
        "n_items": 3,
        "n_distinct": 2,
        "dead_bits": [],
        "duplicate_bits": [[1, 0], [2, 0]],
        "share_of_ones": pytest.approx({"min": 1 / 3, "mean": 1 / 3, "max": 1 / 3}),
    }
    assert printed["leak"]["ids_in_database"] is None
    assert printed["leak"]["twins_in_database"] == 1


def test_json_keeps_the_order_asked_and_gives_canonical_names(file: Path) -> None:
    asked = ["ndcg@2", "ap(norm=all)@5", "ap(norm=retrieved)@1000", "ap-best"]
    printed = run_json(str(file), *(part for name in asked for part in ("--metric", name)))
    assert list(printed["metrics"]) == ["ndcg@2", "ap@5", "ap(norm=retrieved)@1000", "ap_best"]


def report(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["eval", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_the_report_says_all_there_is_to_know(file: Path) -> None:
    title, *lines = report(str(file), "--metric", "ap", "--metric", "ndcg").split("\n\n")
    assert title.split() == f"{file}: 1 queries, 3 items, 3 bits".split()
    assert "\n\n".join(lines).splitlines() == [
        "metric    mean     std  [worst, best]",
        "ap      0.7500  0.0000  [0.5000, 1.0000]",
        "ndcg    0.8155  0.0000  [0.6309, 1.0000]",
        "",
        "queries  0 have no relevant item; 0 find nothing within Hamming radius 2",
        "codes    2 distinct among 3 items, 1 distinct among 1 queries",
        "bits     dead: none; duplicate: 1 as 0, 2 as 0; share of ones: 0.33 to 0.33,",
        "         0.33 on average",
        "leak     no ids to compare",
        "         1 queries have the code and a label of a database item",
        "         (equal codes are a hint, not a proof: different items can have them)",
    ]


def test_long_lists_of_bits_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "dead.npz"
    np.savez(
        path,
        query_codes=np.zeros((1, 12), np.uint8),
        database_codes=np.zeros((2, 12), np.uint8),
        query_labels=np.zeros(1, int),
        database_labels=np.zeros(2, int),
    )
    assert "dead: 0, 1, 2, 3, 4, 5, 6, 7 and 4 more; duplicate: none" in report(str(path))


@pytest.mark.parametrize(("ties", "ap"), [("expected", 0.75), ("order", 1.0), ("best", 1.0), ("worst", 0.5)])
def test_a_tie_policy_is_that_of_the_mean(file: Path, ties: str, ap: float) -> None:
    printed = run_json(str(file), "--ties", ties, "--metric", "ap")
    assert printed["ties"] == ties
    assert printed["metrics"]["ap"]["mean"] == pytest.approx(ap)
    assert (printed["metrics"]["ap"]["worst"], printed["metrics"]["ap"]["best"]) == pytest.approx((0.5, 1.0))
    assert ("ties: " in report(str(file), "--ties", ties)) == (ties != "expected")


def two_queries(path: Path) -> Path:
    """The query of ``file``, and one of a class that the database does not have."""
    np.savez(
        path,
        query_codes=np.zeros((2, 3), np.uint8),
        database_codes=np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]], np.uint8),
        query_labels=np.array([0, 9]),
        database_labels=np.array([0, 1, 1]),
    )
    return path


def test_an_empty_query_is_left_out_or_scores_0(tmp_path: Path) -> None:
    path = two_queries(tmp_path / "two.npz")
    skipped = run_json(str(path), "--metric", "ap")["metrics"]["ap"]
    zero = run_json(str(path), "--metric", "ap", "--empty", "zero")["metrics"]["ap"]
    assert (skipped["mean"], skipped["n_empty"]) == (0.75, 1)
    assert (zero["mean"], zero["n_empty"], zero["worst"]) == (0.375, 1, 0.25)
    assert "1 have no relevant item (left out)" in report(str(path))
    assert "1 have no relevant item (score 0)" in report(str(path), "--empty", "zero")


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_a_line_a_metric(tmp_path: Path) -> None:
    path = two_queries(tmp_path / "two.npz")
    names = ["--metric", "ap,ap_best"]
    lines = list(csv.DictReader(report(str(path), *names, "--format", "csv").splitlines()))
    assert [line["metric"] for line in lines] == ["ap", "ap_best"]
    assert {line["ties"] for line in lines} == {"expected"}
    printed = run_json(str(path), *names)["metrics"]
    for line in lines:
        for key, value in printed[line["metric"]].items():
            assert (float(line[key]) if line[key] else None) == value


def test_per_query_has_a_line_a_query_blank_where_left_out(tmp_path: Path) -> None:
    path, out = two_queries(tmp_path / "two.npz"), tmp_path / "queries.csv"
    report(str(path), "--metric", "ap", "--per-query", str(out))
    assert out.read_text() == "query,n_relevant,ap\n0,1,0.75\n1,0,\n"
    report(str(path), "--metric", "ap", "--empty", "zero", "--per-query", str(out))
    assert out.read_text() == "query,n_relevant,ap\n0,1,0.75\n1,0,0.0\n"


def test_curves_are_written_as_csv_and_png(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "curves"
    report(str(file), "--curves", str(folder))
    names = ("precision_recall", "precision_at_n", "recall_by_radius")
    assert {path.name for path in folder.iterdir()} == {f"{name}.{end}" for name in names for end in ("csv", "png")}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in folder.glob("*.png"))
    recall = [float(row["recall"]) for row in rows(folder / "recall_by_radius.csv")]
    assert recall == [1.0] * 4
    assert [float(row["precision"]) for row in rows(folder / "precision_at_n.csv")] == pytest.approx(
        [1 / 2, 1 / 2, 1 / 3]
    )
    points = [(float(row["recall"]), float(row["precision"])) for row in rows(folder / "precision_recall.csv")]
    assert points[0] == (1.0, 0.5)
    assert points[3] == (1.0, pytest.approx(1 / 3))


def test_pairs_have_a_table_a_file_and_a_picture(file: Path, tmp_path: Path) -> None:
    """The relevant pair and another lie at distance 0, the third at 3: of two pairs one is right."""
    folder = tmp_path / "curves"
    printed = report(str(file), "--pairs", "0.5", "--curves", str(folder)).splitlines()
    at = printed.index("pairs within radius  found  precision  recall      F1  false positive rate")
    assert [line.split() for line in printed[at + 1 : at + 5]] == [
        ["0", "2", "0.5000", "1.0000", "0.6667", "0.5"],
        ["1", "2", "0.5000", "1.0000", "0.6667", "0.5"],
        ["2", "2", "0.5000", "1.0000", "0.6667", "0.5"],
        ["3", "3", "0.3333", "1.0000", "0.5000", "1"],
    ]
    assert printed[at + 6] == "- precision 0.5: radius 2, recall 1.0000; best F1: radius 0"
    found = rows(folder / "pairs.csv")
    assert [float(row["precision"]) for row in found] == pytest.approx([0.5, 0.5, 0.5, 1 / 3])
    assert (folder / "pairs.png").read_bytes().startswith(b"\x89PNG")
    of_pairs = run_json(str(file), "--pairs", "0.9")["pairs"]
    assert (of_pairs["wished_precision"], of_pairs["radius"], of_pairs["by_radius"]["found"]) == (
        0.9,
        None,
        [2, 2, 2, 3],
    )
    assert "precision 0.9: at no radius; best F1: radius 0" in report(str(file), "--pairs", "0.9")


def test_curves_of_nothing_are_refused_and_not_written(file: Path, tmp_path: Path) -> None:
    written(file, np.zeros((3, 3), np.uint8), query_class=9)
    outputs = [tmp_path / name for name in ("curves", "queries.csv")]
    result = CliRunner().invoke(app, ["eval", str(file), "--curves", str(outputs[0]), "--per-query", str(outputs[1])])
    assert isinstance(result.exception, HashbenchError)
    assert not any(path.exists() for path in outputs)


def test_trec_files_hold_the_ranking_and_the_relevance(file: Path, tmp_path: Path) -> None:
    report(str(file), "--trec", str(tmp_path / "trec"))
    lines = ["q0 Q0 d0 1 3 hashbench", "q0 Q0 d1 2 3 hashbench", "q0 Q0 d2 3 0 hashbench"]
    assert (tmp_path / "trec" / "run.txt").read_text().splitlines() == lines
    assert (tmp_path / "trec" / "qrels.txt").read_text() == "q0 0 d0 1\n"


def test_as_prints_what_other_code_would(file: Path) -> None:
    printed = run_json(str(file), "--metric", "ap@2", "--as", "deephash", "--as", "TREC")["as"]
    assert list(printed) == ["deephash", "trec"]
    assert printed["deephash"]["figures"]["mAP@2"]["of_this_machine"]
    assert printed["deephash"]["figures"]["mAP@2"]["value"] in (0.5, 1.0)
    assert not any(figure["of_this_machine"] for figure in printed["trec"]["figures"].values())
    text = " ".join(report(str(file), "--as", "deephash").split())
    assert "as deephash: swuxyj/DeepHash-pytorch" in text
    assert "its sort is not stable" in text


def test_arrays_can_be_named_one_by_one(tmp_path: Path) -> None:
    with np.load(two_queries(tmp_path / "two.npz")) as archive:
        options = []
        for key, array in archive.items():
            np.save(tmp_path / f"{key}.npy", array)
            options += ["--array", f"{key.replace('_', '-')}={tmp_path / f'{key}.npy'}"]
    assert run_json(*options, "--metric", "ap")["metrics"]["ap"]["mean"] == 0.75


@pytest.fixture
def streamable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Codes with ids, shared labels and odd values, in many pieces."""
    small_pieces(monkeypatch, slab_bytes=200, items=16)
    rng = np.random.default_rng(0)
    np.savez(
        tmp_path / "codes.npz",
        query_codes=rng.normal(size=(20, 12)),
        database_codes=rng.normal(size=(300, 12)) * rng.integers(0, 2, (300, 12)),
        query_labels=rng.integers(-1, 2, (20, 5)),
        database_labels=rng.integers(0, 2, (300, 5)),
        query_ids=np.arange(20),
        database_ids=np.arange(17, 317),
    )
    return tmp_path / "codes.npz"


def test_every_output_of_a_report(streamable: Path, tmp_path: Path) -> None:
    outputs = ["--per-query", str(tmp_path / "b.csv"), "--curves", str(tmp_path / "curves")]
    options = [*outputs, "--metric", "ap@50,ndcg,pr_area,recall@r2", "--ties", "worst"]
    result = CliRunner().invoke(app, ["eval", str(streamable), *options], catch_exceptions=False)
    assert "3 queries are in the database, by their ids" in result.stdout
    assert result.stderr.count("note: ") == 3
    assert len([*tmp_path.rglob("*.csv")]) == 4


def test_a_fault_at_the_end_leaves_no_number(streamable: Path, tmp_path: Path) -> None:
    with np.load(streamable) as archive:
        content = dict(archive)
    content["database_codes"][-1, -1] = np.inf
    np.savez(streamable, **content)
    with pytest.raises(HashbenchError, match="database_codes: not finite"):
        report(str(streamable), "--per-query", str(tmp_path / "scores.csv"))
    assert not (tmp_path / "scores.csv").exists()


def test_more_different_codes_than_are_counted(streamable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hashbench.evaluation.diagnostics.DISTINCT_LIMIT", 25)
    assert "over 25 distinct among 300 items, 20 distinct among 20 queries" in report(str(streamable))
    result = CliRunner().invoke(app, ["eval", str(streamable), "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["database_codes"]["n_distinct"] is None


def test_query_ids_in_the_database_are_counted(tmp_path: Path) -> None:
    with np.load(two_queries(tmp_path / "two.npz")) as archive:
        np.savez(tmp_path / "ids.npz", query_ids=np.array([5, 6]), database_ids=np.array([6, 7, 8]), **archive)
    assert run_json(str(tmp_path / "ids.npz"))["leak"]["ids_in_database"] == 1
    assert "1 queries are in the database, by their ids" in report(str(tmp_path / "ids.npz"))


def test_nothing_to_score_is_said() -> None:
    result = CliRunner().invoke(app, ["eval"])
    assert isinstance(result.exception, HashbenchError)
    assert "nothing to score" in str(result.exception)


def test_without_a_relevant_item_the_mean_is_null_with_a_warning(file: Path) -> None:
    written(file, np.zeros((3, 3), np.uint8), query_class=9)
    result = CliRunner().invoke(app, ["eval", str(file), "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "NaN" not in result.stdout
    nothing = {"mean": None, "std": None, "n_queries": 1, "n_empty": 1, "worst": None, "best": None}
    for value in json.loads(result.stdout)["metrics"].values():
        assert value == nothing
    table = CliRunner().invoke(app, ["eval", str(file)], catch_exceptions=False)
    assert "nan" not in table.stdout
    assert "1 have no relevant item (left out)" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metric", "nddcg"], "did you mean ndcg"),
        (["--metric", "ap@0"], "rank"),
        (["--metric", "precision"], "cutoff"),
        (["--as", "deephsh"], "did you mean deephash"),
    ],
)
def test_a_wrong_metric_is_said_before_anything_is_printed(file: Path, arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, ["eval", str(file), *arguments])
    assert isinstance(result.exception, HashbenchError)
    assert says in str(result.exception)
    assert result.stdout == ""


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


def test_scoring_needs_none_of_the_heavy_libraries(file: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, file, "--as", "sklearn", "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["metrics"]["ap"]["mean"] == pytest.approx(0.75)


def test_a_gpu_gives_the_same_report(streamable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from support.torch_on_cpu import stand_in_for_cuda

    options = [str(streamable), "--metric", "ap,ndcg@7", "--json"]
    on_cpu = CliRunner().invoke(app, ["eval", *options, "--device", "cpu"], catch_exceptions=False)
    counted_on = stand_in_for_cuda(monkeypatch)
    on_gpu = CliRunner().invoke(app, ["eval", *options, "--device", "cuda"], catch_exceptions=False)
    assert (on_gpu.stdout, on_gpu.stderr, on_gpu.exit_code) == (on_cpu.stdout, on_cpu.stderr, 0)
    assert counted_on == ["cuda:0"]


def test_auto_is_a_gpu_where_the_cpu_would_count_for_long(streamable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from support.torch_on_cpu import stand_in_for_cuda

    counted_on = stand_in_for_cuda(monkeypatch)
    monkeypatch.setattr("hashbench.histogram.device.has_cuda_driver", lambda: True)
    short = report(str(streamable))
    assert counted_on == []
    monkeypatch.setattr("hashbench.histogram.device.CPU_SECONDS", 1e-9)
    assert report(str(streamable)) == short
    assert report(str(streamable), "--device", "cpu") == short
    assert counted_on == ["cuda:0"]


@pytest.mark.parametrize("device", ["cuda", "gpu"])
def test_a_device_that_is_not_here_is_said_before_anything_is_read(
    tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    result = CliRunner().invoke(app, ["eval", str(tmp_path / "none.npz"), "--device", device])
    assert isinstance(result.exception, HashbenchError)
    assert result.exception.exit_code == 2
    assert str(result.exception).startswith("device")
    assert "cpu" in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.gpu
def test_a_real_gpu_gives_the_same_report(streamable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    options = [str(streamable), "--metric", "ap,ndcg@7", "--json"]
    assert report(*options, "--device", "cuda") == report(*options, "--device", "cpu")


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hashbench", "eval", *arguments], capture_output=True, text=True, check=False
    )


def test_the_program_says_what_is_wrong_in_one_line_and_exits_2(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])
    done = process(str(file), "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {file}: not a readable .npz file")
    assert done.stderr.count("\n") == 1


def test_an_output_never_replaces_the_codes(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(HashbenchError, match="named twice, as an input or an output"):
        report(str(file), "--per-query", str(file))
    assert file.read_bytes() == before


def test_several_files_are_scored_into_one_table(tmp_path: Path, file: Path) -> None:
    """Each with what it has alone; files that are parts of one set are one set as before."""
    other = written(tmp_path / "other.npz", np.array([[1, 1, 1], [0, 0, 0], [1, 1, 1]], np.uint8), query_class=0)
    alone = [run_json(str(path)) for path in (file, other)]
    assert run_json(str(file), str(other))["files"] == alone
    both = [str(file), str(other), "--metric", "ap,ap_best"]
    shown = report(*both)
    width = max(len(str(path)) for path in (file, other))
    assert shown.splitlines() == [
        f"{'file':<{width}}  bits  queries  items      ap  [worst, best]     ap_best",
        f"{file!s:<{width}}     3        1      3  0.7500  [0.5000, 1.0000]   1.0000",
        f"{other!s:<{width}}     3        1      3  0.4167  [0.3333, 0.5000]   0.5000",
    ]
    lines = csv.DictReader(report(*both, "--format", "csv").splitlines())
    rows = [(row["file"], row["metric"], row["mean"]) for row in lines]
    assert rows[0] == (str(file), "ap", "0.75")
    assert [row[:2] for row in rows] == [(str(path), name) for path in (file, other) for name in ("ap", "ap_best")]
    with np.load(file) as whole:
        parts = {"codes": ("query_codes", "database_codes"), "labels": ("query_labels", "database_labels")}
        for name, keys in parts.items():
            np.savez(tmp_path / f"only_{name}.npz", **{key: whole[key] for key in keys})
    parted = run_json(*(str(tmp_path / f"only_{name}.npz") for name in parts))
    assert parted["metrics"] == alone[0]["metrics"]
    for option in (["--curves", "out"], ["--pairs", "1"], ["--as", "trec"], ["--per-query", "q.csv"]):
        with pytest.raises(HashbenchError, match="cannot be combined with several files that are scored one by one"):
            report(*both, *option)
