"""What a node does with a shard, without Ray: the counts and the texts of one machine, and no shard is left."""

import os
from dataclasses import replace
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from hashbench.codes.files import Explicit
from hashbench.evaluation.shard_total import Total
from hashbench.evaluation.shards import CountTask, Shard, Source, folder_on_node, shards_of
from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import locked
from hashbench.jobs import node
from hashbench.jobs.node import Reader, Sent, lock_of, run_on_this_node


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the node; the current folder holds q.npz, and a shard in files of codes and of labels."""
    (tmp_path / "node").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(node.tempfile, "gettempdir", lambda: str(tmp_path / "node"))
    rng = np.random.default_rng(0)
    np.savez("q.npz", query_codes=rng.integers(0, 2, (9, 16), np.uint8), query_labels=rng.integers(0, 3, 9))
    Path("labels").mkdir()
    np.save("db.npy", rng.integers(0, 2, (700, 16), np.uint8))
    np.save("labels/db.npy", rng.integers(0, 3, 700))
    return tmp_path / "node" / f"hashbench-{os.getuid()}"


def source() -> Source:
    return Source((Path("q.npz"),), Explicit(layout="items-by-bits"))


def shard() -> Shard:
    return shards_of("db.npy", "labels/db.npy")[0]


def count(of: Source) -> CountTask:
    return CountTask(of, shard(), of.content_of(shard()))


def task(of: Source) -> Sent:
    found = count(of.in_files())
    return Sent(found, found.inputs(), provenance.code())


def elsewhere(task: Sent) -> tuple[Sent, Reader, list[str]]:
    """The task of a driver whose disk is not shared, how its files are read, and the names of those that were."""
    back = {Path("/elsewhere") / needed.path: needed.file.path for needed in task.inputs}
    names: list[str] = []
    away = [replace(each, file=replace(each.file, path=Path("/elsewhere") / each.path)) for each in task.inputs]

    def read(path: Path, start: int, n_bytes: int) -> bytes:
        names.append(str(path.relative_to("/elsewhere")))
        return back[path].read_bytes()[start : start + n_bytes]

    return replace(task, inputs=away), read, names


def unread(path: Path, start: int, n_bytes: int) -> bytes:
    pytest.fail(f"{path} is sent")


def assert_equal(found: Total, expected: Total) -> None:
    assert found.evidence.histogram.sha256() == expected.evidence.histogram.sha256()
    assert (found.query_sha256, found.entries) == (expected.query_sha256, expected.entries)
    for name, array in expected.evidence.tally.arrays().items():
        np.testing.assert_array_equal(found.evidence.tally.arrays()[name], array)


def test_files_on_a_shared_disk_are_read_where_they_are(kept: Path) -> None:
    assert_equal(run_on_this_node(task(source()), unread), count(source()).run())
    assert not list(kept.glob("shards/*/"))
    (queries,) = kept.glob("queries/*/q.npz")
    assert queries.resolve() == Path("q.npz").resolve()


def test_files_that_the_node_lacks_are_sent_and_the_shard_is_removed(kept: Path) -> None:
    away, read, names = elsewhere(task(source()))
    expected = count(source()).run()
    assert_equal(run_on_this_node(away, read), expected)
    assert names == ["q.npz", "db.npy", "labels/db.npy"]
    assert [path.suffix for path in kept.glob("shards/*")] == [".lock"]
    names.clear()
    assert_equal(run_on_this_node(away, read), expected)
    assert names == ["db.npy", "labels/db.npy"]  # the queries are kept


def test_queries_are_found_however_they_are_named(kept: Path) -> None:
    """In a folder, and by FILE:KEY, where the name of the file may have a colon too."""
    arrays = dict(np.load("q.npz"))
    Path("folder").mkdir()
    Path("folder/codes.npz").write_bytes(Path("q.npz").read_bytes())
    np.savez("a:b.npz", x=arrays["query_codes"], y=arrays["query_labels"])
    by_key = Explicit({"query_codes": "./a:b.npz:x", "query_labels": "a:b.npz:y"}, layout="items-by-bits")
    for of in (Source((Path("folder"),), source().explicit), Source((), by_key)):
        away, read, names = elsewhere(task(of))
        assert_equal(run_on_this_node(away, read), count(of).run())
        assert names[0] in ("folder/codes.npz", "a:b.npz")


def test_a_wrong_shard_is_the_line_of_one_machine(kept: Path) -> None:
    np.save("db.npy", 7 * np.load("db.npy"))
    away, read, _ = elsewhere(task(source()))
    lines = []
    for work in (count(source()).run, lambda: run_on_this_node(away, read)):
        with pytest.raises(HashbenchError) as error:
            work()
        lines.append(str(error.value))
    assert lines[0] == lines[1] and lines[0].startswith("db.npy: ") and "7 is no bit" in lines[0]
    assert [path.suffix for path in kept.glob("shards/*")] == [".lock"]


def test_notes_have_the_names_of_the_driver(kept: Path) -> None:
    np.save("db.npy", np.where(np.load("db.npy") > 0, 0.5, -0.5))
    away, read, _ = elsewhere(task(source()))
    found = run_on_this_node(away, read)
    assert found.notes == count(source()).run().notes
    assert any(note.startswith("db.npy: ") for note in found.notes)


def test_who_counts_the_same_shard_on_the_same_node_waits(kept: Path) -> None:
    """Else the first would remove the file under the second."""
    found = task(source())
    done: list[Total] = []
    with locked(lock_of(kept / folder_on_node(count(source()).content.sha256)), wait=False):
        second = Thread(target=lambda: done.append(run_on_this_node(found, unread)))
        second.start()
        second.join(0.5)
        assert not done
    second.join()
    assert len(done) == 1
