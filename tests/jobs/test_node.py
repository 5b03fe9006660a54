"""What a node gets, without Ray: the files that it lacks, by checksum; its own are never written."""

import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest
from support.limits import file_size_limit

from hashbench.foundation import paths, provenance
from hashbench.running.jobs import node as node_files
from hashbench.running.jobs.node import Reader, Sent, run_on_this_node
from hashbench.running.jobs.task import Call, DriverFile, Input, NodeError

HERE = f"on {platform.node()}: "


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the node's own work; the driver has the file toy.h5."""
    folder = tmp_path / "node"
    folder.mkdir()
    monkeypatch.setattr(node_files.tempfile, "gettempdir", lambda: str(folder))
    (tmp_path / "toy.h5").write_bytes(bytes(range(50)))
    return folder / f"hashbench-{os.getuid()}"


def sent(path: Path, place: str = "data/toy/toy.h5", *, shared: bool = False) -> Sent:
    """A task that needs the file at ``path``, of a machine whose disk this one shares or does not share."""
    file = DriverFile.at(path)
    file = file if shared else replace(file, path=path.with_name("elsewhere.h5"))
    return Sent(Call(len_of_nothing), [Input(path, file, place)], provenance.code())


def len_of_nothing() -> int:
    return 0


def reader(path: Path, pieces: list[tuple[int, int]]) -> Reader:
    """Reads ``path`` in place of the file elsewhere, and notes the pieces."""

    def read(elsewhere: Path, start: int, n_bytes: int) -> bytes:
        assert elsewhere == path.with_name("elsewhere.h5")
        pieces.append((start, n_bytes))
        return path.read_bytes()[start : start + n_bytes]

    return read


def test_a_file_that_the_node_lacks_is_sent_in_pieces_once(
    node: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_files, "PIECE", 7)
    source = tmp_path / "toy.h5"
    pieces = list[tuple[int, int]]()
    assert run_on_this_node(sent(source), reader(source, pieces)) == 0
    place = node / "data" / "toy" / "toy.h5"
    assert place.read_bytes() == source.read_bytes() and not place.is_symlink()
    assert pieces == [(start, min(7, 50 - start)) for start in range(0, 50, 7)]
    pieces.clear()
    assert run_on_this_node(sent(source), reader(source, pieces)) == 0
    assert pieces == []  # it is there now


def test_a_file_with_that_content_on_the_node_is_used_but_never_written(node: Path, tmp_path: Path) -> None:
    """Neither through the link to it, when the driver has another file by now, nor are its rights changed."""
    source = tmp_path / "toy.h5"
    local = paths.data() / "toy" / "toy.h5"
    place = node / "data" / "toy" / "toy.h5"
    local.parent.mkdir(parents=True)
    local.write_bytes(source.read_bytes())
    local.chmod(0o600)
    assert run_on_this_node(sent(source), reader(source, [])) == 0
    assert place.resolve() == local.resolve() and local.stat().st_mode & 0o777 == 0o600
    source.write_bytes(b"another one")
    assert run_on_this_node(sent(source), reader(source, [])) == 0
    assert local.read_bytes() == bytes(range(50))
    assert place.read_bytes() == b"another one" and not place.is_symlink()


def test_a_shared_disk_is_read_where_it_is_but_results_are_copied(node: Path, tmp_path: Path) -> None:
    source = tmp_path / "toy.h5"
    pieces = list[tuple[int, int]]()
    assert run_on_this_node(sent(source, shared=True), reader(source, pieces)) == 0
    assert (node / "data" / "toy" / "toy.h5").resolve() == source.resolve() and not pieces
    result = replace(sent(source, "results/runs/a/toy.h5"), inputs=sent(source, "results/runs/a/toy.h5").inputs)
    assert run_on_this_node(result, reader(source, pieces)) == 0
    assert not (node / "results" / "runs" / "a" / "toy.h5").is_symlink() and pieces


def test_what_a_node_cannot_begin_is_one_line_that_names_it(node: Path, tmp_path: Path) -> None:
    """A file that changes on the way, a full disk, other code."""
    source = tmp_path / "toy.h5"
    code = provenance.code().model_copy(update={"version": "9.9", "commit": "c0ffee", "dirty": False})
    with pytest.raises(NodeError) as other:
        run_on_this_node(replace(sent(source), code=code), reader(source, []))
    assert str(other.value).startswith(f"{HERE}this node has hashbench ")
    assert str(other.value).endswith("the command has 9.9 (c0ffee): install the same on all machines")
    assert not node.exists()
    with pytest.raises(NodeError) as changed:
        run_on_this_node(sent(source), lambda *_: bytes(50))
    assert str(changed.value) == f"{HERE}{tmp_path}/elsewhere.h5: changed while the command ran: start it again"
    source.write_bytes(bytes(9000))
    with file_size_limit(4000), pytest.raises(NodeError) as full:
        run_on_this_node(sent(source), reader(source, []))
    line = f"{HERE}{node}/data/toy/toy.h5: cannot be written (File too large): make room or write elsewhere"
    assert str(full.value) == line
    assert not list(node.rglob("toy.h5")) and not list(node.rglob("*.part"))
