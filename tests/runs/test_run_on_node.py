"""A run on a node, without Ray: its row and its files come back, and the node keeps neither."""

import os
import platform
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.dying import Doomed
from support.fake_rows import row_of_run
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation import paths, provenance
from hashbench.foundation.execution import Execution
from hashbench.running.jobs import node as node_files
from hashbench.running.jobs.node import Sent, run_on_this_node
from hashbench.running.jobs.task import TookTooLong
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.run_all import Made, RunTask
from hashbench.running.runs.store import Store

LSH = ("lsh", {"bits": 8})
HERE = f"on {platform.node()}: "


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the node's own work."""
    folder = tmp_path / "node"
    folder.mkdir()
    monkeypatch.setattr(node_files.tempfile, "gettempdir", lambda: str(folder))
    return folder / f"hashbench-{os.getuid()}"


def unread(path: Path, start: int, n_bytes: int) -> bytes:
    pytest.fail(f"{path} is sent")


def made(spec: Run, timeout_s: float | None = None) -> Any:
    """What the node makes of the run."""
    task = RunTask(spec, Store(Path("driver")), Execution(device="cpu"), timeout_s=timeout_s)
    return run_on_this_node(Sent(task, [], provenance.code()), unread)


def row_in(ends: Any) -> Row:
    assert isinstance(ends, Made)
    return ends.row


def test_a_node_returns_the_row_and_the_files_and_keeps_neither(node: Path, tmp_path: Path) -> None:
    spec = on_digits("lsh", {"bits": 8})
    result = made(spec)
    here = row_of(spec, Store(tmp_path / "here"), Execution(device="cpu"))
    row = row_in(result)
    assert row.metrics == here.metrics and row.artefacts["histogram"] == here.artefacts["histogram"]
    folder = Store(tmp_path / "here").run_folder(str(spec.name))
    assert sorted(result.files) == [
        "codes.npz",
        "config.json",
        "fitted.json",
        "hasher.npz",
        "histogram.npz",
        "run.json",
    ]
    for name in ("codes.npz", "hasher.npz", "histogram.npz"):
        (tmp_path / name).write_bytes(result.files[name])
        ours = np.load(folder / name)
        theirs = np.load(tmp_path / name)
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert not list(node.glob("results/r*/*/*")) and not list(node.glob("results/runs/*"))


def test_a_run_that_takes_too_long_or_cannot_be_made_has_no_row(node: Path) -> None:
    (node / "results").mkdir(parents=True, mode=0o700)
    (node / "results" / "deaths-0").write_text("endless")
    task = Doomed(on_digits(*LSH), Store(Path("driver")), Execution(device="cpu"), timeout_s=3)
    ends = run_on_this_node(Sent(task, [], provenance.code()), unread)
    assert isinstance(ends, TookTooLong) and str(ends) == "it took longer than 0.05 minutes (--timeout)"
    with one_line() as error:
        made(on_digits("itq", {"bits": 96}))
    assert re.fullmatch(f"{HERE}96 bits from 64 features: at most 64 bits", str(error.value))


def test_a_run_needs_its_data_its_features_and_its_base(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    for name in ("cifar10/cifar10.h5", "cifar10/features/gist.h5", "cifar10/features/other.h5", "cards/other.toml"):
        path = paths.data() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    spec = Run.resolve("cifar10", "s1", "lsh", {"bits": 8, "features": "gist"})
    ends = RunTask(spec, store, Execution()).inputs()
    assert [entry.place for entry in ends] == ["data/cifar10/cifar10.h5", "data/cifar10/features/gist.h5"]
    assert [f"data/{entry.file.path.read_text()}" for entry in ends] == [entry.place for entry in ends]
    assert RunTask(on_digits(*LSH), store, Execution()).inputs() == []  # it comes with scikit-learn


def test_the_base_of_a_run_is_sent_with_its_row(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    spec = Run.resolve("cifar100", "sparse_hash", "sparse_th", {"k": 1}, budget="smoke")
    assert spec.base is not None
    task = RunTask(spec, store, Execution())
    assert task.inputs() == [] and task.for_node().base_row is None
    row = row_of_run(spec.base, nmi=0.5)
    store.write(row)
    folder = store.run_folder(str(spec.base.name))
    for name in ("hasher.safetensors", "lock", "checkpoint.safetensors"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    assert [entry.place for entry in task.inputs()] == [f"results/runs/{spec.base.name}/hasher.safetensors"]
    assert task.for_node().base_row == row
