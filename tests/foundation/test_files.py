"""Outputs: regular files are written whole; a device, a pipe or a descriptor is written to; a link is followed."""

import lzma
import os
import stat
from pathlib import Path
from zipfile import BadZipFile

import h5py
import numpy as np
import pytest
from support.limits import file_size_limit
from support.one_line import one_line

from hashbench.foundation.arrays import open_arrays, write_arrays
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import all_or_none, atomic, require_output, write_text


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("kind", ["fifo", "device", "folder", "link"])
def test_what_is_no_file_is_refused_and_stays(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/null")
    else:
        (tmp_path / "folder").mkdir()
    if kind == "link":
        path.symlink_to("folder")
    before = path.stat()
    for write in (require_output, lambda place: write_text(place, "text")):
        with one_line() as caught:
            write(path)
        assert str(caught.value).startswith(f"{path}: a folder, a device or a pipe; the file to be written is expected")
    assert path.stat().st_ino == before.st_ino


@pytest.mark.parametrize("stream", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_stream_is_no_file_wherever_it_leads(stream: str) -> None:
    with one_line("the file to be written is expected"):
        require_output(Path(stream))


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "far" / "file"
    link = tmp_path / "link"
    other = tmp_path / "link2"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(Path("far") / "file")
    other.symlink_to(link)
    write_text(other, "new")
    assert target.read_text() == "new"
    assert link.is_symlink() and other.is_symlink()
    with pytest.raises(RuntimeError), atomic(other) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("library", ["text", "h5py", "h5py that closes", "safetensors"])
def test_a_limit_on_the_size_of_files_is_one_line(tmp_path: Path, library: str) -> None:
    path = tmp_path / "file"
    numbers = np.arange(10_000.0)

    def write() -> None:
        with atomic(path) as temporary:
            if library == "text":
                temporary.write_text("x" * 100_000)
            elif library == "h5py":
                with h5py.File(temporary, "w") as file:
                    file["numbers"] = numbers
            elif library == "h5py that closes":
                raise RuntimeError(
                    "Can't decrement id ref count (unable to extend file properly, errno = 27, error ...)"
                )
            else:
                pytest.importorskip("safetensors.numpy").save_file({"numbers": numbers}, temporary)

    with file_size_limit(4096), one_line() as caught:
        write()
    assert str(caught.value) == f"{path}: cannot be written (File too large): make room or write elsewhere"
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_block_that_is_not_about_the_disk_stays_itself(tmp_path: Path) -> None:
    for error in (FileNotFoundError(2, "No such file", "input"), RuntimeError("a bug"), HashbenchError("errno = 28")):
        with pytest.raises(type(error)) as caught, atomic(tmp_path / "file"):
            raise error
        assert caught.value is error
    assert list(tmp_path.iterdir()) == []


def write_three(folder: Path, last: Path) -> None:
    with all_or_none():
        write_text(folder / "first", "new")
        with all_or_none():  # the outer block decides
            write_text(folder / "second", "new")
        assert not (folder / "second").exists()
        write_text(last, "new")


def test_several_files_are_written_together(tmp_path: Path) -> None:
    write_three(tmp_path, tmp_path / "third")
    assert left(tmp_path) == ["first", "second", "third"]
    assert {path.read_text() for path in tmp_path.iterdir()} == {"new"}


@pytest.mark.parametrize("fault", ["folder", "interrupt"])
def test_of_several_files_none_is_written_where_one_cannot_be(tmp_path: Path, fault: str) -> None:
    (tmp_path / "first").write_text("old")
    (tmp_path / "folder").mkdir()
    last = {"folder": tmp_path / "folder"}.get(fault, tmp_path / "third")
    before = left(tmp_path)
    with pytest.raises((HashbenchError, KeyboardInterrupt)), all_or_none():
        write_three(tmp_path, last)
        raise KeyboardInterrupt
    assert left(tmp_path) == before and (tmp_path / "first").read_text() == "old"
    write_text(tmp_path / "first", "alone")  # the block has ended: a file is written at once again
    assert (tmp_path / "first").read_text() == "alone"


@pytest.mark.parametrize("suffix", [".npz", ".npz.xz"])
def test_a_file_that_is_no_npz_is_refused_without_advice_to_trust_it(tmp_path: Path, suffix: str) -> None:
    sound = tmp_path / f"sound{suffix}"
    other = tmp_path / f"other{suffix}"
    write_arrays(sound, {"x": np.arange(3)})
    with open_arrays(sound) as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    other.write_bytes(lzma.compress(b"\x80\x04K\x01.") if suffix.endswith("xz") else b"\x80\x04K\x01.")
    with pytest.raises(BadZipFile, match=r"^File is not a zip file$"), open_arrays(other):
        pass
