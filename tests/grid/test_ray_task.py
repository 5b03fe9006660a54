"""What a node does, without Ray: it fetches what it lacks, by checksum, and leaves its own data and results alone."""

import os
import platform
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from support.limits import file_size_limit

from hashbench.foundation import paths, provenance
from hashbench.grid import node as node_files
from hashbench.grid import ray_task
from hashbench.grid.files_of_run import NeededFile, needed_files
from hashbench.grid.node import DriverFile
from hashbench.grid.ray_task import Task, do
from hashbench.runs.guard import row_of
from hashbench.runs.options import Options
from hashbench.runs.run import Run
from hashbench.runs.store import Store

LSH = ("lsh", {"bits": 8})
HERE = f"on {platform.node()}: "
SKEW_S = 5 * 3600
SKEWED = f"""
import time
from datetime import datetime
from hashbench.foundation import provenance
real = time.time
class Later(datetime):
    @classmethod
    def now(cls, zone=None):
        return datetime.fromtimestamp(time.time(), zone)
provenance.datetime, time.time = Later, lambda: real() + {SKEW_S}
"""


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the node's own work."""
    folder = tmp_path / "node"
    folder.mkdir()
    monkeypatch.setattr(node_files.tempfile, "gettempdir", lambda: str(folder))
    return folder / f"hashbench-{os.getuid()}"


def read(path: Path, start: int, n_bytes: int) -> bytes:
    return path.read_bytes()[start : start + n_bytes]


def task(spec: Run, *files: NeededFile, timeout_s: float | None = None) -> Task:
    return Task(spec, files, Options(device="cpu"), 1, timeout_s, provenance.code())


def needed(path: Path, name: str = "toy/toy.h5") -> NeededFile:
    return NeededFile("data", name, DriverFile.at(path))


def elsewhere(needed: NeededFile, path: Path) -> NeededFile:
    """The same file of a machine whose disk this one does not share."""
    return replace(needed, file=replace(needed.file, path=path))


def test_a_node_returns_the_row_and_the_files_and_keeps_neither(node: Path, tmp_path: Path) -> None:
    spec = Run.resolve("digits", "s1", "lsh", {"bits": 8})
    result = do(task(spec), read, cores=1)
    here = row_of(spec, Store(tmp_path / "here"), Options(device="cpu"))
    row = result.outcome.row
    assert row is not None and row.metrics == here.metrics and row.histogram_sha256 == here.histogram_sha256
    folder = Store(tmp_path / "here").run_folder(spec.run)
    assert sorted(result.files) == ["codes.npz", "config.json", "fitted.json", "hasher.npz", "histogram.npz"]
    for name in ("codes.npz", "hasher.npz", "histogram.npz"):
        (tmp_path / name).write_bytes(result.files[name])
        ours, theirs = np.load(folder / name), np.load(tmp_path / name)
        assert all(np.array_equal(ours[key], theirs[key]) for key in ours)
    assert not list(node.glob("results/r*/*/*")) and not list(node.glob("results/runs/*"))


def test_a_file_that_the_node_lacks_is_sent_in_pieces(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_files, "PIECE", 7)
    source, spec = tmp_path / "toy.h5", Run.resolve("digits", "s1", *LSH)
    source.write_bytes(os.urandom(50))
    file = elsewhere(needed(source), tmp_path / "elsewhere.h5")  # no disk is shared
    pieces = []

    def sent(path: Path, start: int, n_bytes: int) -> bytes:
        assert path == tmp_path / "elsewhere.h5"
        pieces.append((start, n_bytes))
        return read(source, start, n_bytes)

    assert do(task(spec, file), sent, 1).outcome.failure is None
    place = node / "data" / "toy" / "toy.h5"
    assert place.read_bytes() == source.read_bytes() and not place.is_symlink()
    assert pieces == [(start, min(7, 50 - start)) for start in range(0, 50, 7)]
    pieces.clear()
    assert do(task(spec, file), sent, 1).outcome.failure is None
    assert pieces == []  # it is there now


def test_the_node_uses_its_own_file_if_that_has_the_same_content(node: Path, tmp_path: Path) -> None:
    source, own = tmp_path / "toy.h5", paths.data() / "toy" / "toy.h5"
    own.parent.mkdir(parents=True)
    for path in (source, own):
        path.write_bytes(b"the same")
    file = elsewhere(needed(source), tmp_path / "elsewhere.h5")
    assert do(task(Run.resolve("digits", "s1", *LSH), file), read, 1).outcome.failure is None
    assert (node / "data" / "toy" / "toy.h5").resolve() == own.resolve()


def test_a_file_that_changes_on_the_way_is_refused(node: Path, tmp_path: Path) -> None:
    source = tmp_path / "toy.h5"
    source.write_bytes(b"as it was")
    file = elsewhere(needed(source), tmp_path / "elsewhere.h5")
    result = do(task(Run.resolve("digits", "s1", *LSH), file), lambda *_: b"not so!!!", 1)
    assert result.outcome.error == (f"{HERE}{file.file.path}: changed while the command ran: start it again")
    assert not (node / "data" / "toy" / "toy.h5").exists()


def test_other_code_is_refused(node: Path) -> None:
    spec = Run.resolve("digits", "s1", *LSH)
    other = provenance.code().model_copy(update={"version": "9.9", "commit": "c0ffee", "dirty": False})
    result = do(replace(task(spec), code=other), read, 1)
    assert result.outcome.row is None
    assert str(result.outcome.error).startswith(f"{HERE}this node has hashbench ")
    assert str(result.outcome.error).endswith("the command is of 9.9 (c0ffee): install the same")
    assert not node.exists()


def test_a_run_that_takes_too_long_is_ended(node: Path) -> None:
    pytest.importorskip("torch")
    spec = Run.resolve("digits", "s1", "talr_ap", {"bits": 8, "epochs": 10**6})
    result = do(task(spec, timeout_s=12), read, 1)
    assert result.outcome.error == "it took longer than 0.2 minutes (--timeout)"


def test_a_run_needs_its_data_its_features_and_its_base(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    for name in ("cifar10/cifar10.h5", "cifar10/features/gist.h5", "cifar10/features/other.h5", "cards/other.toml"):
        path = paths.data() / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    spec = Run.resolve("cifar10", "s1", "lsh", {"bits": 8, "features": "gist"})
    found = needed_files(spec, store)
    assert [(file.folder, file.name) for file in found] == [
        ("data", "cifar10/cifar10.h5"),
        ("data", "cifar10/features/gist.h5"),
    ]
    assert [file.file.path.read_text() for file in found] == [file.name for file in found]
    assert needed_files(Run.resolve("digits", "s1", *LSH), store) == []  # it comes with scikit-learn


def test_the_base_of_a_run_is_sent_with_its_row(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    spec = Run.resolve("cifar100", "sparse_hash", "sparse_th", {"k": 1}, budget="smoke")
    assert spec.base is not None
    assert [file.folder for file in needed_files(spec, store)] == []
    row = store.row_path("cifar100", "sparse_hash", spec.base.run)
    folder = store.run_folder(spec.base.run)
    for path in (row, folder / "hasher.safetensors", folder / "lock", folder / "checkpoint.safetensors"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    assert [(file.folder, file.name) for file in needed_files(spec, store)] == [
        ("results", f"rows/cifar100-sparse_hash/{spec.base.run}.json"),
        ("results", f"runs/{spec.base.run}/hasher.safetensors"),
    ]


def test_a_node_s_own_file_is_never_written(node: Path, tmp_path: Path) -> None:
    """Neither through the link to it, when the driver has another file by now, nor are its rights changed."""
    source, own = tmp_path / "toy.h5", paths.data() / "toy" / "toy.h5"
    own.parent.mkdir(parents=True)
    for path in (source, own):
        path.write_bytes(b"the same")
    own.chmod(0o600)
    spec, place = Run.resolve("digits", "s1", *LSH), node / "data" / "toy" / "toy.h5"
    assert do(task(spec, elsewhere(needed(source), tmp_path / "elsewhere.h5")), read, 1).outcome.failure is None
    assert place.is_symlink() and own.stat().st_mode & 0o777 == 0o600
    source.write_bytes(b"another one")
    file = elsewhere(needed(source), tmp_path / "elsewhere.h5")
    assert do(task(spec, file), lambda _, start, n_bytes: read(source, start, n_bytes), 1).outcome.failure is None
    assert own.read_bytes() == b"the same"
    assert place.read_bytes() == b"another one" and not place.is_symlink()


def test_a_full_disk_of_a_node_is_one_line_and_leaves_nothing(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a file that is sent or a result does not fit; the same run is done when there is room."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # of the process that executes the run: it would be cut off
    spec = Run.resolve("digits", "s1", *LSH)
    here = row_of(spec, Store(tmp_path / "here"), Options(device="cpu"))
    source = tmp_path / "toy.h5"
    source.write_bytes(bytes(9000))
    file = elsewhere(needed(source), tmp_path / "elsewhere.h5")
    full = "cannot be written (File too large): make room or write elsewhere"
    with file_size_limit(4000):
        sent = do(task(spec, file), lambda _, start, n_bytes: bytes(n_bytes), 1)
        written = do(task(spec), read, 1)
    assert (sent.outcome.row, sent.files) == (None, {})
    assert sent.outcome.error == f"{HERE}{node}/data/toy/toy.h5: {full}"
    assert written.outcome.row is None
    assert str(written.outcome.error).startswith(f"{HERE}{node}/results/runs/{spec.run}")
    assert ": cannot be written (File too large): " in str(written.outcome.error)
    assert not list(node.rglob("toy.h5")) and not list(node.rglob("*.part")) and not list(node.rglob("rows/*/*"))
    again = do(task(spec), read, 1).outcome.row
    assert again is not None and again.histogram_sha256 == here.histogram_sha256


def test_the_clock_of_a_node_decides_nothing(node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run on a node whose clock is hours ahead is neither too old nor too long; the row says its own time."""
    (tmp_path / "skew").mkdir()
    (tmp_path / "skew" / "sitecustomize.py").write_text(SKEWED)
    search = [str(tmp_path / "skew"), str(Path(ray_task.__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(search))
    spec = Run.resolve("digits", "s1", *LSH)
    here = row_of(spec, Store(tmp_path / "here"), Options(device="cpu"))
    row = do(task(spec, timeout_s=200), read, 1).outcome.row
    assert row is not None and row.histogram_sha256 == here.histogram_sha256
    ahead = datetime.fromisoformat(row.utc) - datetime.fromisoformat(here.utc)
    assert ahead.total_seconds() > SKEW_S - 60
    assert row.seconds is not None and 0 <= row.seconds.train + row.seconds.encode + row.seconds.score < 200
    store = Store(tmp_path / "driver")
    store.write(row)
    assert row_of(spec, store, Options(device="cpu")) == row  # it is taken as it is
