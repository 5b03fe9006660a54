"""``hashbench compare`` through main(): codes and runs, the same queries or not, what it says of seeds."""

import csv
import json
import re
import shutil
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.toy_root import REPOSITORY

from hashbench.evaluation.paired import compare_paired, holm
from hashbench.histogram import Histogram
from hashbench.runs import query_scores
from hashbench.runs.store import Store
from hashbench.tables.difference import claim

LABELS = np.repeat(np.arange(4), 10)
OF_ONE_SPLIT = "of one split only: another split, or another training, may give another sign"


def codes(path: Path, seed: int = 0, n_bits: int = 8, **changes: np.ndarray) -> Path:
    """A file of random codes of 40 queries and 200 items in four classes."""
    random = np.random.default_rng(seed)
    arrays = {
        "query_codes": random.integers(0, 2, (40, n_bits)),
        "database_codes": random.integers(0, 2, (200, n_bits)),
        "query_labels": LABELS,
        "database_labels": np.arange(200) % 4,
    }
    np.savez(path, **{**arrays, **changes})
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return codes(tmp_path / "a.npz"), codes(tmp_path / "b.npz", 1, 16)


def train(hashbench: CommandLine, method: str, seed: int = 0) -> str:
    code, out, err = hashbench(f"train {method} digits --bits 8 --seed {seed} --json")
    assert code == 0, err
    return str(json.loads(out)["run"])


def test_two_files_are_compared_as_eval_scores_them(
    pair: tuple[Path, Path], hashbench: CommandLine, tmp_path: Path
) -> None:
    code, out, err = hashbench("compare", *pair, "--metric ap,precision@10 --json --top 2")
    assert (code, err) == (0, "")
    found = json.loads(out)
    per_query = []
    for path, side in zip(pair, "ab", strict=True):
        code, out, _ = hashbench(
            f"eval {path} --metric ap,precision@10 --per-query", tmp_path / f"{side}.csv", "--json"
        )
        scores = json.loads(out)["metrics"]
        for name, each in found["metrics"].items():
            assert each[side] == pytest.approx(scores[name]["mean"], abs=1e-15)
        per_query.append(np.genfromtxt(tmp_path / f"{side}.csv", delimiter=",", names=True)["ap"])
    ap = found["metrics"]["ap"]
    assert ap["difference"] == pytest.approx(ap["a"] - ap["b"], abs=1e-12)
    assert ap["low"] < ap["difference"] < ap["high"] and 0 < ap["p"] <= 1
    order = np.argsort(-np.abs(per_query[0] - per_query[1]), kind="stable")[:5]
    expected = [{"query": int(q), "id": None, "a": per_query[0][q], "b": per_query[1][q]} for q in order]
    assert found["most_different"]["ap"] == expected
    sizes = {key: found[key] for key in ("n_queries", "n_empty", "n_database", "same_queries_by", "over")}
    assert list(sizes.values()) == [40, 0, 200, "their labels", "queries"]
    assert (found["samples"], found["interval"], ap["n_splits"]) == (10_000, 0.95, 1)


@pytest.mark.parametrize("n", [2, 3])
def test_the_csv_has_a_line_for_each_metric_and_pair_as_json_has_them(
    n: int, hashbench: CommandLine, tmp_path: Path
) -> None:
    paths = [codes(tmp_path / f"{name}.npz", seed) for seed, name in enumerate("abc"[:n])]
    asked = "compare", *paths, "--metric", "ap,precision@10", "--samples", 500
    found = hashbench.json(*asked)
    lines = list(csv.DictReader(hashbench(*asked, "--format csv").lines))
    named = {letter.lower(): str(path) for letter, path in zip("ABC", paths, strict=False)}
    comparisons = found.get("comparisons") or [{"a": "A", "b": "B", "metrics": found["metrics"]}]
    expected = [
        {
            "metric": metric,
            "a": named[each["a"].lower()],
            "b": named[each["b"].lower()],
            "mean_a": of["a"],
            "mean_b": of["b"],
            **{key: of[key] for key in ("difference", "low", "high", "p")},
            "p_holm": of.get("p_holm", of["p"]),
            "n_splits": 1,
            "n_queries": 40,
        }
        for metric in ("ap", "precision@10")
        for each in comparisons
        for of in [each["metrics"][metric]]
    ]
    assert lines == [{key: str(value) for key, value in line.items()} for line in expected]
    assert len(lines) == 2 * n * (n - 1) // 2


def test_the_report_says_what_the_test_is_and_is_not(pair: tuple[Path, Path], hashbench: CommandLine) -> None:
    code, out, err = hashbench("compare", *pair, "--top 1 --samples 500")
    assert (code, err) == (0, "")
    sizes, sides, means, different, notes = out.split("\n\n")
    assert sizes == "40 queries, 200 items; the same queries by their labels"
    assert sides.split() == f"A {pair[0]}: 8 bits B {pair[1]}: 16 bits".split()
    heading, *rows = means.splitlines()
    assert heading.split() == ["metric", "A", "B", "A", "-", "B", "95%", "interval", "p"]
    assert [row.split()[0] for row in rows] == ["ap", "ndcg", "precision@r2"]
    title, heading, *rows = different.splitlines()
    assert title == "largest differences in ap, queries numbered from 0"
    assert heading.split() == ["query", "A", "B", "A", "-", "B"]
    assert len(rows) == 5
    for row in rows:
        assert re.fullmatch(r"  \d+ +0\.\d{4}  0\.\d{4}  [+-]0\.\d{4}", row)
    how = "- interval (95%) and p: paired bootstrap over the queries, 10,000 samples; p is two-sided"
    assert " ".join(notes.split()) == f"{how} - {OF_ONE_SPLIT}"


def test_queries_in_another_order_are_matched_by_their_ids(
    pair: tuple[Path, Path], tmp_path: Path, hashbench: CommandLine
) -> None:
    order, names = np.random.default_rng(5).permutation(40), np.array([f"photo {n}" for n in range(40)])
    ids = {"query_ids": names, "database_ids": np.array([f"item {n}" for n in range(200)])}
    with np.load(pair[1]) as b:
        arrays = dict(b)
    codes(tmp_path / "a.npz", **ids)
    shuffled = {key: arrays[key][order] for key in ("query_codes", "query_labels")}
    np.savez(tmp_path / "b.npz", **{**arrays, **ids, **shuffled, "query_ids": names[order].astype("S")})
    code, out, err = hashbench("compare", *pair, "--json --top 1")
    assert (code, err) == (0, "")
    found = json.loads(out)
    np.savez(tmp_path / "b.npz", **arrays, **ids)
    assert found == hashbench.json("compare", *pair, "--top 1")
    assert found["same_queries_by"] == "their ids"
    first = found["most_different"]["ap"][0]
    assert first["id"] == f"photo {first['query']}"
    assert f"  photo {first['query']}\n" in hashbench("compare", *pair, "--top 1").out


def test_classes_may_be_numbered_otherwise(pair: tuple[Path, Path], hashbench: CommandLine) -> None:
    with np.load(pair[1]) as b:
        arrays = dict(b)
    for side in ("query", "database"):
        arrays[f"{side}_labels"] = np.array([7, 3, 5, 1])[arrays[f"{side}_labels"]]
    np.savez(pair[1], **arrays)
    assert hashbench("compare", *pair).code == 0


def test_queries_without_a_relevant_item_are_left_out_of_both(tmp_path: Path, hashbench: CommandLine) -> None:
    labels = np.where(np.arange(40) < 3, 9, LABELS)
    pair = [codes(tmp_path / f"{n}.npz", n, query_labels=labels) for n in range(2)]
    code, out, _ = hashbench("compare", *pair)
    assert code == 0
    assert " ".join(out.split()).startswith("40 queries, 3 of them without a relevant item (left out), 200 items; ")
    for n in range(2):
        codes(tmp_path / f"{n}.npz", n, query_labels=np.full(40, 9))
    assert hashbench("compare", *pair) == (
        2,
        "",
        f"error: {pair[0]}: no query has a relevant item: there is nothing to compare\n",
    )


def test_a_set_against_itself_leaves_each_query_out(tmp_path: Path, hashbench: CommandLine) -> None:
    paths = []
    for n in range(2):
        own = np.random.default_rng(n).integers(0, 2, (40, 8))
        same = {"query_codes": own, "database_codes": own, "database_labels": LABELS}
        paths.append(codes(tmp_path / f"{n}.npz", **same))
    found = hashbench.json("compare", *paths, "--exclude-self")
    scores = hashbench.json(f"eval {paths[0]} --exclude-self")
    assert found["n_database"] == 39
    assert found["metrics"]["ap"]["a"] == pytest.approx(scores["metrics"]["ap"]["mean"])
    codes(paths[1], 1)
    code, _, err = hashbench("compare", *paths, "--exclude-self")
    assert code == 2 and err.startswith("error: --exclude-self: nothing says which database item a query is")


def test_two_runs_are_compared_by_their_histograms(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, b = train(capsys, "itq"), train(capsys, "lsh")
    code, out, err = hashbench(f"compare {a} digits-s1-lsh-8b --json")  # the start of the name is enough
    assert (code, err) == (0, "")
    found, store = json.loads(out), Store.default()
    assert found["b"] == {"name": b, "n_bits": 8, "seed": 0}
    assert found["same_queries_by"] == "the ids of their split"
    for side, run in (("a", a), ("b", b)):
        assert found["metrics"]["ap"][side] == pytest.approx(store.named(run).metrics["ap"].mean, abs=1e-12)
    file = tmp_path / "results" / "runs" / b / "codes.npz"
    other = hashbench.json(f"compare {a} {file}")
    assert (other["metrics"], other["same_queries_by"]) == (found["metrics"], "their labels")
    assert hashbench(f"compare {a} {b}").out.endswith(f"\n- {OF_ONE_SPLIT}\n")
    assert hashbench(f"compare {a} {file} --exclude-self") == (
        2,
        "",
        f"error: --exclude-self can be used with saved codes only: {a} is a run\n",
    )


def test_several_seeds_are_never_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    a, other = train(capsys, "itq"), train(capsys, "itq", 1)
    b = train(capsys, "lsh")
    assert hashbench.json(f"compare {other} {b}")["a"] == {"name": other, "n_bits": 8, "seed": 1}
    assert hashbench(f"compare digits-s1-itq {b}") == (
        2,
        "",
        (
            "error: digits-s1-itq: a cell with 2 seeds (0, 1): name one run, for the test is over the queries of one "
            f"run, such as {min(a, other)}; with --table all splits of a row are compared\n"
        ),
    )


def test_a_run_without_its_histogram_names_the_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, b = train(capsys, "itq"), train(capsys, "lsh")
    folder = tmp_path / "results" / "runs" / b
    kept = folder / "histogram.npz"
    Histogram(np.zeros((1, 2, 2), np.int64), np.array([0, 1])).save(kept)
    assert hashbench(f"compare {a} {b}") == (
        1,
        "",
        f"error: {kept}: not the histogram that the row was scored from (SHA-256 differs)\n",
    )
    kept.write_bytes(kept.read_bytes()[:40])
    assert hashbench(f"compare {a} {b}").err.startswith(f"error: {kept}: not a readable histogram: ")
    shutil.rmtree(folder)
    command = "hashbench train lsh digits --protocol s1 --bits 8 --again"
    assert hashbench(f"compare {a} {b}") == (2, "", f"error: {kept}: no such file: this makes it: {command}\n")
    assert hashbench(*command.split()[1:]).code == 0
    assert hashbench(f"compare {a} {b}").code == 0


def test_runs_of_other_splits_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    a = train(capsys, "lsh")
    _, out, _ = hashbench("train lsh digits --bits 8 --split 1 --json")
    b = json.loads(out)["run"]
    assert hashbench(f"compare {a} {b}").err.startswith(
        f"error: {a}, {b}: not the same queries (the ids of their splits differ): "
    )


def test_of_three_each_is_compared_with_each_and_p_is_corrected(
    pair: tuple[Path, Path], hashbench: CommandLine, tmp_path: Path
) -> None:
    three = [*pair, codes(tmp_path / "c.npz", 2, 12)]
    options = ("--metric", "ap,precision@10", "--samples", 500)
    code, out, err = hashbench("compare", *three, *options, "--json")
    assert (code, err) == (0, "")
    found, p = json.loads(out), {"ap": list[float](), "precision@10": list[float]()}
    assert [each["name"] for each in found["sides"].values()] == [str(path) for path in three]
    assert [(each["a"], each["b"]) for each in found["comparisons"]] == [("A", "B"), ("A", "C"), ("B", "C")]
    for each, (first, second) in zip(found["comparisons"], combinations(three, 2), strict=True):
        alone = hashbench.json(f"compare {first} {second}", *options)["metrics"]
        for name, of in each["metrics"].items():
            p[name].append(of["p"])
            assert {key: value for key, value in of.items() if key != "p_holm"} == alone[name]
    for name, values in p.items():
        corrected = [each["metrics"][name]["p_holm"] for each in found["comparisons"]]
        assert corrected == holm(values)
        assert all(one >= other for one, other in zip(corrected, values, strict=True))
    lines = hashbench("compare", *three, *options).lines
    text = " ".join(" ".join(lines).split())
    assert all(f"{'ABC'[n]} {path}: {(8, 16, 12)[n]} bits" in text for n, path in enumerate(three))
    assert [line[:4] for line in lines if re.match("[ABC], ", line)] == 2 * ["A, B", "A, C", "B, C"]
    assert "- p (Holm): corrected for the 3 comparisons of each metric" in lines
    other = codes(tmp_path / "d.npz", query_codes=np.eye(39, 8), query_labels=LABELS[:39])
    code, out, err = hashbench("compare", *pair, other)
    assert (code, out, "not the same queries" in err) == (2, "", True)
    assert hashbench(f"compare {pair[0]}").err == "error: 1 to compare: 2 to 26 codes, runs or rows are expected\n"


TABLE = """
title = "two splits"
repeats = "splits"
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
[[groups]]
section = "first"
columns = [{ label = "8 bits", settings = { bits = 8 } }, { label = "16 bits", settings = { bits = 16 } }]
rows = [
  { label = "ITQ, ours", method = "itq" },
  { label = "LSH", method = "lsh" },
  { label = "PCAH", method = "pca_sign" },
]
[[groups]]
section = "second"
columns = [{ label = "8 bits", settings = { bits = 8 } }]
rows = [{ label = "LSH", method = "lsh" }, { label = "PCAH", method = "pca_sign" }]
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine) -> dict[str, np.ndarray]:
    """The AP of each query of two methods on two splits, which the table "two" keeps."""
    root = tmp_path / "root"
    for name in ("datasets", "experiments"):
        shutil.copytree(REPOSITORY / name, root / name)
    (root / "experiments" / "tables" / "two.toml").write_text(TABLE)
    monkeypatch.setenv("HASHBENCH_ROOT", str(root))
    asked = "run", "two", "--seeds", 2, "--only", "method=itq", "--only", "method=lsh", "--only", "bits=8"
    code, _, err = hashbench(*asked)
    assert code == 0, err
    kept = {row.run: query_scores.load(row.run) for row in Store.default().rows()}
    return {run: scores for run, scores in kept.items() if scores is not None}


def test_rows_of_a_table_are_compared_over_all_their_splits(
    kept: dict[str, np.ndarray], hashbench: CommandLine, tmp_path: Path
) -> None:
    asked = "compare", "ITQ, ours", "lsh", "--table", "two", "--bits", 8
    code, out, err = hashbench(*asked)
    assert (code, err) == (0, "")
    itq, lsh = ([scores for run, scores in kept.items() if method in run] for method in ("itq", "lsh"))
    found = compare_paired(itq, lsh)
    where, sides, means, notes = out.split("\n\n")
    assert (where, sides) == ("two, first, 8 bits", "A  ITQ, ours\nB  LSH")
    row = means.splitlines()[1].split()
    assert row[:5] == ["A,", "B", f"{found.a:.4f}", f"{found.b:.4f}", f"{found.difference:+.4f}"]
    how = "- interval (95%) and p: paired bootstrap over splits and their queries, 10,000 samples; p is two-sided"
    claimed = claim("ITQ, ours", "LSH", found, found.p)
    assert " ".join(notes.split()) == f"{how} - {claimed}" and "2 splits, 1,000 queries" in claimed
    values = hashbench.json(*asked)
    (comparison,) = values["comparisons"]
    assert comparison["metrics"]["ap"] == {**vars(found), "p_holm": found.p}
    assert (values["table"], values["section"], values["column"]) == ("two", "first", "8 bits")
    (line,) = csv.DictReader(hashbench(*asked, "--format csv").lines)
    assert (line["a"], line["b"], line["n_splits"], line["n_queries"]) == ("ITQ, ours", "LSH", "2", "1000")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            ["itq", "sdh", "--table", "two"],
            "table two has no AP or recall of itq, sdh in one section: its rows are ITQ, ours, LSH",
        ),
        (
            ["itq", "lsh", "--table", "two"],
            "table two has several AP or recall of itq, lsh in one section: name one, --table",
        ),
        (
            ["lsh", "pcah", "--table", "two", "--bits", "8"],
            "table two has several AP or recall of lsh, pcah in one section at 8 bits",
        ),
        (
            ["lsh", "pcah", "--table", "two/second"],
            "table two, lsh and pcah: no split has the ap of each query of both: ",
        ),
        (["itq", "lsh", "--table", "tow"], "unknown table 'tow': did you mean two"),
    ],
)
def test_rows_that_cannot_be_compared_are_one_line(
    arguments: list[str], complaint: str, kept: dict[str, np.ndarray], hashbench: CommandLine
) -> None:
    code, out, err = hashbench("compare", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"error: {complaint}")


def test_the_first_table_that_is_written_is_tested_by_the_scores_that_it_keeps(
    kept: dict[str, np.ndarray], hashbench: CommandLine
) -> None:
    (Store.default().folder / "queries" / "two.npz.xz").unlink()
    code, out, _ = hashbench("table two --write")
    assert len(kept) == 4 and code == 0
    assert "not significantly below it (the paired bootstrap over 2 splits and their queries" in out
