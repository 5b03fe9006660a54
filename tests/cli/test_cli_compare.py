"""``hashbench compare``: codes and runs, the same queries or not, rows of a table over all their splits."""

import csv
import re
import shutil
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.toy_root import declare_table, table_of, toy_root

from hashbench.running.runs import query_scores
from hashbench.running.runs.store import Store
from hashbench.scoring.evaluation.paired import compare_paired, holm
from hashbench.scoring.histogram import Histogram
from hashbench.showing.tables.difference import claim

LABELS = np.repeat(np.arange(4), 10)
OF_ONE_SPLIT = "of one split only: another split, or another training, may give another sign"


def arrays_of(seed: int = 0, n_bits: int = 8, **changes: np.ndarray) -> dict[str, np.ndarray]:
    """Random codes of 40 queries and 200 items in four classes."""
    random = np.random.default_rng(seed)
    arrays = {
        "query_codes": random.integers(0, 2, (40, n_bits)),
        "database_codes": random.integers(0, 2, (200, n_bits)),
    }
    return {**arrays, "query_labels": LABELS, "database_labels": np.arange(200) % 4} | changes


@pytest.fixture(autouse=True)
def files(here: Path) -> None:
    """a.npz, b.npz and c.npz: codes of 8, 16 and 12 bits."""
    for seed, (name, n_bits) in enumerate({"a": 8, "b": 16, "c": 12}.items()):
        np.savez(f"{name}.npz", **arrays_of(seed, n_bits))


def train(hashbench: CommandLine, method: str, options: str = "") -> str:
    return str(hashbench.json(f"train {method} digits --bits 8", options)["run"])


def by_metric(compared: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The differences of one pair by their metrics."""
    return {line["metric"]: line for line in compared["differences"]}


def test_two_files_are_compared_as_eval_scores_them(hashbench: CommandLine) -> None:
    compared = hashbench.json("compare a.npz b.npz --metric ap,precision@10")
    differences = by_metric(compared)
    per_query = []
    for side in "ab":
        scores = hashbench.json(f"eval {side}.npz --metric ap,precision@10 --per-query {side}.csv")["metrics"]
        for name, line in differences.items():
            assert line[f"mean_{side}"] == pytest.approx(scores[name]["mean"], abs=1e-15)
        per_query.append(np.genfromtxt(f"{side}.csv", delimiter=",", names=True)["ap"])
    ap = differences["ap"]
    assert ap["difference"] == pytest.approx(ap["mean_a"] - ap["mean_b"], abs=1e-12)
    assert ap["low"] < ap["difference"] < ap["high"] and 0 < ap["p"] == ap["p_holm"] <= 1
    order = np.argsort(-np.abs(per_query[0] - per_query[1]), kind="stable")[:5]
    assert compared["most_different"]["ap"] == [
        {"query": int(q), "id": None, "a": per_query[0][q], "b": per_query[1][q]} for q in order
    ]
    facts = {"n_queries": 40, "n_empty": 0, "n_database": 200, "same_queries_by": "their labels", "over": "queries"}
    facts |= {"interval": 0.95}
    assert {key: compared[key] for key in facts} == facts
    assert ap["n_splits"] == 1


def test_the_csv_has_a_line_for_each_metric_and_pair_as_json_has_them(hashbench: CommandLine) -> None:
    command = "compare a.npz b.npz c.npz --metric ap,precision@10"
    lines = [*csv.DictReader(hashbench.done(command, "--format csv").lines)]
    assert len(lines) == 6
    assert lines == [
        {key: str(value) for key, value in line.items()} for line in hashbench.json(command)["differences"]
    ]


def test_the_report_says_what_the_test_is_and_is_not(hashbench: CommandLine) -> None:
    sizes, sides, means, different, notes = hashbench.done("compare a.npz b.npz").out.split("\n\n")
    assert sizes == "40 queries, 200 items; the same queries by their labels"
    assert sides == "A  a.npz: 8 bits\nB  b.npz: 16 bits"
    heading, *rows = means.splitlines()
    assert heading.split() == ["metric", "first", "second", "difference", "interval", "p"]
    assert [row.split()[0] for row in rows] == ["ap", "ndcg", "precision@r2"]
    title, heading, *rows = different.splitlines()
    assert title == "largest differences in ap, queries numbered from 0"
    assert heading.split() == ["query", "first", "second", "difference"]
    assert len(rows) == 5
    assert all(re.fullmatch(r"  \d+ +0\.\d{4}  0\.\d{4} +[+-]0\.\d{4}", row) for row in rows)
    how = "- interval (95%) and p: paired t-test over the queries; p is two-sided"
    assert " ".join(notes.split()) == f"{how} - {OF_ONE_SPLIT}"


def test_queries_in_another_order_are_matched_by_their_ids(hashbench: CommandLine) -> None:
    order = np.random.default_rng(5).permutation(40)
    names = np.array([f"photo {n}" for n in range(40)])
    ids = {"query_ids": names, "database_ids": np.array([f"item {n}" for n in range(200)])}
    np.savez("a.npz", **arrays_of(0, **ids))
    b = arrays_of(1, 16, **ids)
    np.savez("b.npz", **b)
    in_order = hashbench.json("compare a.npz b.npz")
    shuffled = {key: b[key][order] for key in ("query_codes", "query_labels")}
    np.savez("b.npz", **{**b, **shuffled, "query_ids": names[order].astype("S")})
    assert hashbench.json("compare a.npz b.npz") == in_order
    assert in_order["same_queries_by"] == "their ids"
    first = in_order["most_different"]["ap"][0]
    assert first["id"] == f"photo {first['query']}"
    assert f"  photo {first['query']}\n" in hashbench.done("compare a.npz b.npz").out


def test_queries_without_a_relevant_item_are_left_out_of_both(hashbench: CommandLine) -> None:
    for seed, name in enumerate("ab"):
        np.savez(f"{name}.npz", **arrays_of(seed, query_labels=np.where(np.arange(40) < 3, 9, LABELS)))
    start = "40 queries, 3 of them without a relevant item (left out), 200 items; "
    assert hashbench.done("compare a.npz b.npz").text.startswith(start)


def test_a_set_against_itself_leaves_each_query_out(hashbench: CommandLine) -> None:
    for seed, name in enumerate("ab"):
        codes = np.random.default_rng(seed).integers(0, 2, (40, 8))
        np.savez(f"{name}.npz", **arrays_of(query_codes=codes, database_codes=codes, database_labels=LABELS))
    compared = hashbench.json("compare a.npz b.npz --exclude-self")
    scores = hashbench.json("eval a.npz --exclude-self")
    assert compared["n_database"] == 39
    assert by_metric(compared)["ap"]["mean_a"] == pytest.approx(scores["metrics"]["ap"]["mean"])


def test_two_runs_are_compared_by_their_histograms(hashbench: CommandLine) -> None:
    runs = {"a": train(hashbench, "itq", "--seed 1"), "b": train(hashbench, "lsh")}
    compared = hashbench.json(f"compare {runs['a']} digits-s1-lsh-8b")  # the start of the name is enough
    assert compared["same_queries_by"] == "the ids of their split"
    for side, run in runs.items():
        ap = Store.default().named(run).metrics["ap"].mean
        assert by_metric(compared)["ap"][side] == runs[side]
        assert by_metric(compared)["ap"][f"mean_{side}"] == pytest.approx(ap, abs=1e-12)
    codes = Store.default().run_folder(runs["b"]) / "codes.npz"
    with_codes = hashbench.json(f"compare {runs['a']} {codes}")
    assert with_codes["differences"] == [{**line, "b": str(codes)} for line in compared["differences"]]
    assert with_codes["same_queries_by"] == "their labels"
    assert hashbench.done(f"compare {runs['a']} {runs['b']}").out.endswith(f"\n- {OF_ONE_SPLIT}\n")
    split = train(hashbench, "lsh", "--split 1")
    reason = "not the same queries (the ids of their splits differ): "
    assert f"{runs['b']}, {split}: {reason}" in hashbench.refused(f"compare {runs['b']} {split}")


def test_a_run_without_its_histogram_names_the_command(hashbench: CommandLine) -> None:
    command = f"compare {train(hashbench, 'itq')} {(run := train(hashbench, 'lsh'))}"
    kept = Store.default().run_folder(run) / "histogram.npz"
    Histogram(np.zeros((1, 2, 2), np.int64), np.array([0, 1])).save(kept)
    code, out, err = hashbench(command)
    assert code == 1
    assert out == ""
    assert err == f"error: {kept}: not the histogram that the row was scored from (SHA-256 differs)\n"
    kept.write_bytes(kept.read_bytes()[:40])
    assert hashbench(command).err.startswith(f"error: {kept}: not a readable histogram: ")
    shutil.rmtree(kept.parent)
    again = "train lsh digits --protocol s1 --bits 8 --again"
    assert hashbench.refused(command) == f"{kept}: no such file: this makes it: hashbench {again}"
    hashbench.done(again)
    hashbench.done(command)


def test_of_three_each_is_compared_with_each_and_p_is_corrected(hashbench: CommandLine) -> None:
    names = ["a.npz", "b.npz", "c.npz"]
    options = "--metric ap,precision@10"
    compared = hashbench.json("compare", *names, options)["differences"]
    for metric in ("ap", "precision@10"):
        alone = [by_metric(hashbench.json("compare", *two, options))[metric] for two in combinations(names, 2)]
        corrected = holm([line["p"] for line in alone])
        expected = [{**line, "p_holm": p} for line, p in zip(alone, corrected, strict=True)]
        assert [line for line in compared if line["metric"] == metric] == expected
    lines = hashbench.done("compare", *names, options).lines
    assert {"A  a.npz: 8 bits", "B  b.npz: 16 bits", "C  c.npz: 12 bits"} <= set(lines)
    assert re.findall(" ([ABC], [ABC]) ", "\n".join(lines)) == 2 * ["A, B", "A, C", "B, C"]
    assert "- p (Holm): corrected for the 3 comparisons of each metric" in lines
    np.savez("c.npz", **arrays_of(query_codes=np.eye(39, 8), query_labels=LABELS[:39]))
    assert "not the same queries" in hashbench.refused("compare", *names)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine) -> dict[str, np.ndarray]:
    """The AP of each query of two methods on two splits, which the table "two" keeps."""
    toy_root(tmp_path, monkeypatch, "methods", "papers.toml", "recipes", "tables")
    text = table_of({"itq": [], "lsh": [], "pca_sign": []}, [8, 16], head='repeats = "splits"')
    text = text.replace('"ITQ"', '"ITQ, ours"').replace("[[groups]]", '[[groups]]\nsection = "first"')
    second = table_of({"lsh": [], "pca_sign": []}, [8]).partition("[[groups]]")[2]
    declare_table(f'{text}\n[[groups]]\nsection = "second"{second}', "two")
    hashbench.done("run two --seeds 2 --only method=itq --only method=lsh --only bits=8")
    scores = {row.run: query_scores.load(row.run) for row in Store.default().rows()}
    return {run: values for run, values in scores.items() if values is not None}


def test_rows_of_a_table_are_compared_over_all_their_splits(
    kept: dict[str, np.ndarray], hashbench: CommandLine
) -> None:
    command = "compare 'ITQ, ours' lsh --table two --bits 8"
    itq, lsh = ([scores for run, scores in kept.items() if method in run] for method in ("itq", "lsh"))
    paired = compare_paired(itq, lsh)
    where, sides, means, notes = hashbench.done(command).out.split("\n\n")
    assert where == "two, first, 8 bits"
    assert sides == "A  ITQ, ours\nB  LSH"
    row = means.splitlines()[1].split()
    assert row[:4] == ["ap", f"{paired.a:.4f}", f"{paired.b:.4f}", f"{paired.difference:+.4f}"]
    how = "- interval (95%) and p: paired t-test over the splits; p is two-sided"
    claimed = claim("ITQ, ours", "LSH", paired, paired.p)
    assert " ".join(notes.split()) == f"{how} - {claimed}" and "2 splits, 1,000 queries" in claimed
    values = hashbench.json(command)
    (difference,) = values["differences"]
    assert difference.items() >= {"p": paired.p, "p_holm": paired.p, "low": paired.low, "n_queries": 1000}.items()
    assert values["table"] == "two"
    assert values["section"] == "first"
    assert values["column"] == "8 bits"
    (line,) = csv.DictReader(hashbench.done(command, "--format csv").lines)
    assert line["a"] == "ITQ, ours"
    assert line["b"] == "LSH"
    assert line["n_splits"] == "2"
    assert line["n_queries"] == "1000"
    for words, complaint in {
        "itq sdh --table two": "has no AP or recall of itq, sdh in one section: its rows are ITQ, ours, LSH",
        "itq lsh --table two": "table two has several AP or recall of itq, lsh in one section: name one, --table",
        "lsh pca_sign --table two --bits 8": "several AP or recall of lsh, pca_sign in one section at 8 bits",
        "lsh pca_sign --table two/second": "no split has the ap of each query of both: ",
        "itq lsh --table tow": "unknown table 'tow': did you mean two",
    }.items():
        assert complaint in hashbench.refused(f"compare {words}")


def test_the_first_table_that_is_written_is_tested_by_the_scores_that_it_keeps(
    kept: dict[str, np.ndarray], hashbench: CommandLine
) -> None:
    (Store.default().folder / "queries" / "two.npz.xz").unlink()
    out = hashbench.done("table two --write").out
    assert len(kept) == 4
    assert "not significantly below it (paired t-test over 2 splits" in out
