"""Runs of every kind in a bundle: sparse codes, a search without codes, learned weights, relevance by distances."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bundles import changed, content, names, row_changed
from support.command_line import CommandLine
from support.on_digits import on_digits
from support.stored_toy import parts, store_toy
from support.toy_root import toy_root

from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import method_file
from hashbench.running.runs.store import Store

ROWS = "results/rows/digits-s1.jsonl"
SAME = "no difference; 1 of 1 run scored again"
OF_CODES = "{} metrics computed again, codes of 1 run counted"
TABLE = """
title = "Mine"
paper = "hashbench"
source = "tests"
[defaults]
dataset = "{dataset}"
protocol = "s1"
metric = "{metric}"
budget = "{budget}"
[[groups]]
columns = [{{ label = "a" }}]
rows = [{{ label = "b", method = "{method}", settings = {settings} }}]
"""
SMALL = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 10, "classes_per_batch": 5, "augment": "none"}
SPARSE = {"d": 8, "k": 2, "model": "mlp"} | {
    f"base.{key}": value for key, value in (SMALL | {"augment_per": "item", "model": "mlp"}).items()
}


def declare(root: Path, method: str, settings: dict[str, object], metric: str, dataset: str = "digits") -> None:
    """Writes the table ``mine`` of one cell."""
    inline = "{ " + ", ".join(f'"{key}" = {json.dumps(value)}' for key, value in settings.items()) + " }"
    folder = root / "experiments" / "tables"
    folder.mkdir(parents=True, exist_ok=True)
    budget = method_file(method).budget(None)
    text = TABLE.format(dataset=dataset, metric=metric, budget=budget, method=method, settings=inline)
    (folder / "mine.toml").write_text(text)


def trained(tmp_path: Path, method: str, settings: dict[str, object], dataset: str = "digits") -> Row:
    return row_of(Run.resolve(dataset, "s1", method, settings), Store(tmp_path / "results"))


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return toy_root(tmp_path, monkeypatch, "methods", "recipes", "papers.toml", alone=True)


def assert_scored_again(hashbench: CommandLine, path: Path, what: str) -> None:
    assert hashbench.done("verify", path).lines[2:] == [what, SAME]


def with_difference(hashbench: CommandLine, path: Path, changes: dict[str, Any]) -> str:
    """The last difference that verify finds where files of the bundle are changed."""
    answer = hashbench("verify", changed(path, path.with_name("changed.zip"), changes, listed=True))
    assert answer.code == 1
    return answer.lines[-2]


def test_sparse_codes(hashbench: CommandLine, root: Path, tmp_path: Path) -> None:
    declare(root, "sparse_th", SPARSE, "suf")
    row = trained(tmp_path, "sparse_th", SPARSE)
    path = tmp_path / "b.zip"
    out = hashbench.printed("bundle mine -o", path)
    assert "1 row, 2 with counts, 1 with codes, 1 id list: " in out
    files = ("codes", "histogram", "histogram_of_test", "retrieval", "retrieval_of_test")
    runs = [name for name in names(path) if name.startswith("results/runs/")]
    assert runs == [f"results/runs/{row.run}/{name}.npz" for name in files]
    n_values = len(row.metrics) + len(row.searches["test"])
    assert_scored_again(hashbench, path, OF_CODES.format(n_values))
    edit = row_changed(lambda found: found["searches"]["test"]["suf@4"].update(mean=2.5), row.run)
    stated = f"difference: {row.run}: test.suf@4.mean is 2.5, retrieval_of_test.npz gives "
    assert with_difference(hashbench, path, {ROWS: edit}) == f"{stated}{row.searches['test']['suf@4'].mean:.10g}"
    swapped = {runs[3]: content(path, runs[4]), runs[4]: content(path, runs[3])}
    out = hashbench("verify", changed(path, tmp_path / "swapped.zip", swapped, listed=True)).out
    lines = [line.partition(" is not")[0] for line in out.splitlines() if line.startswith("difference")]
    assert lines == [f"difference: {row.run}: retrieval{end}.npz" for end in ("", "_of_test")]


def test_queries_that_are_no_codes(hashbench: CommandLine, root: Path, tmp_path: Path) -> None:
    settings: dict[str, object] = {"bits": 8, "kmeans_iterations": 1}
    declare(root, "pq", settings, "ap")
    row = trained(tmp_path, "pq", settings)
    path = tmp_path / "b.zip"
    assert "1 row, 0 with counts, 1 with codes" in hashbench.printed("bundle mine -o", path)
    code, out, error = hashbench("verify", path)
    assert f"not checked: {row.run}: its queries are no codes: they are not ranked again" in out.splitlines()
    assert out.splitlines()[-1].startswith("no difference; 0 of 1 run scored again")
    assert code == 1 and error.startswith(f"error: {path}: no run was scored again")
    code, out, error = hashbench("--results", tmp_path / "into", "results merge", path)
    assert code == 0 and "its queries are no codes: they are not ranked again" in error


def test_learned_weights(hashbench: CommandLine, root: Path, tmp_path: Path) -> None:
    settings: dict[str, object] = {"bits": 4, "n_relevant": 5, "n_irrelevant": 5, "rounds": 2}
    declare(root, "structhash", settings, "ap")
    row = trained(tmp_path, "structhash", settings)
    assert row.searches["weighted"]
    path = tmp_path / "b.zip"
    hashbench.done("bundle mine -o", path)
    n_values = len(row.metrics) + len(row.searches["weighted"])
    assert_scored_again(hashbench, path, OF_CODES.format(n_values))
    hashbench.done("bundle mine --no-codes -o", tmp_path / "small.zip")
    code, out, _ = hashbench("verify", tmp_path / "small.zip")
    assert code == 0
    assert out.count(": nothing that gives it is in the bundle\n") == len(row.searches["weighted"]) == 3
    edit = row_changed(lambda found: found["searches"]["weighted"]["ap"].update(mean=0.25), row.run)
    stated = f"difference: {row.run}: weighted.ap.mean is 0.25, codes.npz gives "
    assert with_difference(hashbench, path, {ROWS: edit}) == f"{stated}{row.searches['weighted']['ap'].mean:.10g}"


def test_activations_of_queries(hashbench: CommandLine, root: Path, tmp_path: Path) -> None:
    declare(root, "lsh", {"bits": 8}, "ap")
    row = row_of(on_digits("lsh", {"bits": 8}).with_asymmetric(), Store(tmp_path / "results"))
    path = tmp_path / "b.zip"
    codes = f"results/runs/{row.run}/codes.npz"
    hashbench.done("bundle mine -o", path)
    assert_scored_again(hashbench, path, OF_CODES.format(len(row.metrics) + len(row.searches["asymmetric"])))
    edit = row_changed(lambda found: found["searches"]["asymmetric"]["ap"].update(mean=0.25), row.run)
    ap = row.searches["asymmetric"]["ap"].mean
    of_arrays = {
        "holds no activations of the queries": lambda arrays: arrays.pop("query_activations"),
        "the signs of the activations are not the codes": lambda arrays: arrays.update(
            query_activations=-arrays["query_activations"]
        ),
        "float32 (500, 8) is expected": lambda arrays: arrays.update(query_activations=np.ones((3, 8), np.float32)),
        f"asymmetric.ap.mean is {ap:.10g}, codes.npz gives": lambda arrays: arrays.update(
            query_activations=np.sign(arrays["query_activations"])
        ),
    }
    faults = {f"asymmetric.ap.mean is 0.25, codes.npz gives {ap:.10g}": {ROWS: edit}}
    for fault, change in of_arrays.items():
        arrays = dict(np.load(io.BytesIO(content(path, codes))))
        change(arrays)
        np.savez(written := io.BytesIO(), **arrays)
        faults[fault] = {codes: written.getvalue()}
    for fault, changes in faults.items():
        code, out, _ = hashbench("verify", changed(path, tmp_path / "worse.zip", changes, listed=True))
        said = [line for line in out.splitlines() if line.startswith(f"difference: {row.run}: ")]
        assert (code, any(fault in line for line in said), len(said) < 10) == (1, True, True), (fault, out)


def test_relevance_by_distances(hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    items = rng.normal(size=(60, 5)).astype(np.float32)
    labels = np.zeros((60, 0), np.uint8)
    protocol = parts(10, 20, 60).rstrip() + '\nrelevance = { kind = "nearest", percent = 20.0 }\n'
    root = tmp_path / "own"
    store_toy(root, items, labels, protocol)
    (root / "experiments").unlink()
    declare(root, "lsh", {"bits": 8}, "ap", "toy")
    row = trained(tmp_path, "lsh", {"bits": 8}, "toy")
    path = tmp_path / "b.zip"
    hashbench.done("bundle mine -o", path)
    assert content(path, "root/datasets/toy.toml") == (root / "datasets" / "toy.toml").read_bytes()
    n_values = len(row.metrics)
    assert_scored_again(hashbench, path, OF_CODES.format(n_values))

    codes = f"results/runs/{row.run}/codes.npz"
    with np.load(io.BytesIO(content(path, codes))) as archive:
        found = dict(archive)
    found["query_ids"] = found["query_ids"][::-1]
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **found)
    other_ids = f"difference: {row.run}: codes.npz: query_ids are not those of the id lists"
    assert with_difference(hashbench, path, {codes: buffer.getvalue()}) == other_ids

    monkeypatch.setenv("HASHBENCH_DATA", str(tmp_path / "nothing"))  # a reader without the data set
    missing = "toy is not downloaded: run hashbench download toy (or --from-dir DIR)"
    assert hashbench.done("verify", path).lines[2:] == [
        f"{n_values} metrics computed again, codes of 0 runs counted",
        f"not checked: {row.run}: codes.npz: not counted again: {missing}",
        SAME,
    ]
