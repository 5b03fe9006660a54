"""Outputs: regular files are written whole; a device, a pipe or a descriptor is written to; a link is followed."""

import lzma
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile

import h5py
import numpy as np
import pytest
from support.limits import file_size_limit
from support.together import together

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import (
    all_or_none,
    atomic,
    open_arrays,
    part_prefix,
    require_output,
    sweep_parts,
    write_arrays,
    write_text,
)


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def killed_while_it_writes(path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom hashbench.foundation.files import atomic\n"
        "with atomic(Path(sys.argv[1])) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == -signal.SIGKILL


def test_what_a_killed_process_left_is_removed_by_the_next_that_writes_there(tmp_path: Path) -> None:
    killed_while_it_writes(tmp_path / "index.h5")
    (name,) = left(tmp_path)
    assert re.fullmatch(r"\.index\.h5\.hashbench-[0-9a-f]{8}-\d+-\w{8}\.part", name)
    write_text(tmp_path / "table.md", "whole")
    assert left(tmp_path) == ["table.md"]


def test_a_temporary_file_of_a_process_that_lives_stays(tmp_path: Path) -> None:
    with atomic(tmp_path / "first") as temporary:
        write_text(tmp_path / "second", "whole")
        assert temporary.exists()
    part = f"{part_prefix('x')}abcdefgh.part"
    elsewhere = re.sub(r"hashbench-\w{8}-\d+", "hashbench-00000000-1", part)
    foreign = [".x.abcdefgh.part", ".syncthing.x.part", "x.h5.part"]  # of other programs, or to be continued
    for name in (part, elsewhere, *foreign):
        (tmp_path / name).write_text("half")
    sweep_parts(tmp_path, time.time())
    assert left(tmp_path) == sorted([part, elsewhere, *foreign, "first", "second"])
    os.utime(tmp_path / elsewhere, (0, 0))  # a machine that cannot be asked: old enough
    os.utime(tmp_path / part, (0, 0))
    sweep_parts(tmp_path, time.time())
    assert left(tmp_path) == sorted([part, *foreign, "first", "second"])


def test_a_clock_that_is_days_ahead_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the disk says how old the temporary file of another machine is."""
    elsewhere = re.sub(r"hashbench-\w{8}-\d+", "hashbench-00000000-1", f"{part_prefix('x')}abcdefgh.part")
    (tmp_path / elsewhere).write_text("half")
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 5 * 24 * 3600)
    write_text(tmp_path / "whole", "whole")
    assert left(tmp_path) == sorted([elsewhere, "whole"])
    os.utime(tmp_path / elsewhere, (0, 0))
    write_text(tmp_path / "whole", "whole")
    assert left(tmp_path) == ["whole"]


def test_a_probe_that_was_killed_is_removed_too(tmp_path: Path) -> None:
    probe = re.sub(r"-\d+-$", "-999999999-12345678.part", part_prefix("write-test"))
    (tmp_path / probe).touch()
    sweep_parts(tmp_path, time.time())
    assert probe not in left(tmp_path)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "fifo")
    return tmp_path / "fifo"


@pytest.fixture
def device(tmp_path: Path) -> Callable[[str], Path]:
    """Gives /dev/NAME, or for root, who could destroy it, the same device in the test's own folder."""

    def made(name: str) -> Path:
        if os.getuid():
            return Path("/dev") / name
        try:
            os.mknod(tmp_path / name, stat.S_IFCHR | 0o666, Path("/dev", name).stat().st_rdev)
            with (tmp_path / name).open("rb"):
                return tmp_path / name
        except OSError as error:
            pytest.skip(f"no device can be made here: {error}")

    return made


def read_of(fifo: Path, write: Callable[[Path], None]) -> bytes:
    """What a reader gets from ``fifo`` while ``write`` writes to it."""
    pieces: list[bytes] = []
    reader = threading.Thread(target=lambda: pieces.append(fifo.read_bytes()), daemon=True)
    reader.start()
    write(fifo)
    reader.join(20)
    assert pieces, "the reader still waits"
    return pieces[0]


def test_a_pipe_gets_the_text_and_stays_a_pipe(fifo: Path) -> None:
    assert read_of(fifo, lambda path: write_text(path, "a,b\n")) == b"a,b\n"
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert [path.name for path in fifo.parent.iterdir()] == ["fifo"]


def test_libraries_that_seek_write_to_a_pipe(fifo: Path, tmp_path: Path) -> None:
    def save(path: Path) -> None:
        with atomic(path) as temporary, h5py.File(temporary, "w") as file:
            file["numbers"] = np.arange(1000)

    (tmp_path / "copy.h5").write_bytes(read_of(fifo, save))
    with h5py.File(tmp_path / "copy.h5") as file:
        np.testing.assert_array_equal(file["numbers"][:], np.arange(1000))


def test_nothing_reaches_a_pipe_if_the_block_fails(fifo: Path) -> None:
    with pytest.raises(RuntimeError), atomic(fifo) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_full_device_is_one_line_and_stays_a_device(device: Callable[[str], Path]) -> None:
    full = device("full")
    with pytest.raises(HashbenchError) as caught:
        write_text(full, "text")
    assert str(caught.value) == f"{full}: cannot be written (No space left on device): make room or write elsewhere"
    assert stat.S_ISCHR(full.stat().st_mode)


def test_the_null_device_takes_everything_and_stays_a_device(device: Callable[[str], Path]) -> None:
    null = device("null")
    write_text(null, "text")
    assert stat.S_ISCHR(null.stat().st_mode)


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


def test_a_dangling_link_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "none" / "file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "none" / "file").read_text() == "new"


def test_links_in_a_circle_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(HashbenchError) as caught:
        write_text(tmp_path / "a", "text")
    assert str(caught.value) == (
        f"{tmp_path / 'a'}: its symbolic links lead in a circle: remove them or name another file"
    )
    with pytest.raises(
        HashbenchError, match=r"cannot be written \(Too many levels of symbolic links\): write elsewhere"
    ):
        write_text(tmp_path / "a" / "file", "text")


def test_a_link_to_a_folder_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for path in (tmp_path / "folder", tmp_path / "link"):
        with pytest.raises(HashbenchError, match=f"^{path}: a folder; the file to be written is expected$"):
            write_text(path, "text")
    with pytest.raises(HashbenchError, match=r"link: a folder; name the file to be written with --out$"):
        require_output(tmp_path / "link")


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root may give files away")
def test_the_owner_of_a_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid, path.read_text()) == (1234, 5678, "new")


WRITE = """
import sys
from pathlib import Path
from hashbench.foundation.files import write_text
print("before")
write_text(Path(sys.argv[1]), "written\\n")
print("after")
"""


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("name", ["stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_gets_its_bytes_in_order(tmp_path: Path, name: str) -> None:
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")  # as /dev/stdout is
    command = [sys.executable, "-c", WRITE, str(tmp_path / name)]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"before\nwritten\nafter\n"
    with (tmp_path / "file").open("wb") as file:  # a regular file, which must be neither replaced nor cut
        subprocess.run(command, stdout=file, check=True)
    assert (tmp_path / "file").read_bytes() == b"before\nwritten\nafter\n"


def test_a_reader_that_leaves_is_one_line(fifo: Path) -> None:
    reader = threading.Thread(target=lambda: fifo.open("rb").close(), daemon=True)
    reader.start()
    with pytest.raises(HashbenchError) as caught:
        write_text(fifo, "x" * (1 << 20))
    assert str(caught.value) == f"{fifo}: cannot be written (Broken pipe): write elsewhere"


def test_pipes_and_devices_are_not_probed(fifo: Path, device: Callable[[str], Path]) -> None:
    for path in (fifo, device("full"), Path("/dev/fd/1")):
        require_output(path)
    assert sorted(path.name for path in fifo.parent.iterdir() if path.name[0] == ".") == []


@together("library", ["text", "numpy", "h5py", "h5py that closes", "safetensors"])
def test_a_limit_on_the_size_of_files_is_one_line(tmp_path: Path, library: str) -> None:
    path = tmp_path / "file"
    numbers = np.arange(10_000.0)

    def write() -> None:
        with atomic(path) as temporary:
            if library == "text":
                temporary.write_text("x" * 100_000)
            elif library == "numpy":
                with temporary.open("wb") as file:
                    np.savez(file, numbers=numbers)
            elif library == "h5py":
                with h5py.File(temporary, "w") as file:
                    file["numbers"] = numbers
            elif library == "h5py that closes":
                raise RuntimeError(
                    "Can't decrement id ref count (unable to extend file properly, errno = 27, error ...)"
                )
            else:
                pytest.importorskip("safetensors.numpy").save_file({"numbers": numbers}, temporary)

    with file_size_limit(4096), pytest.raises(HashbenchError) as caught:
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


@pytest.mark.parametrize("fault", ["folder", "device", "interrupt"])
def test_of_several_files_none_is_written_where_one_cannot_be(
    tmp_path: Path, device: Callable[[str], Path], fault: str
) -> None:
    (tmp_path / "first").write_text("old")
    (tmp_path / "folder").mkdir()
    last = {"folder": tmp_path / "folder", "device": device("full")}.get(fault, tmp_path / "third")
    before = left(tmp_path)
    with pytest.raises((HashbenchError, KeyboardInterrupt)), all_or_none():
        write_three(tmp_path, last)
        raise KeyboardInterrupt
    assert left(tmp_path) == before and (tmp_path / "first").read_text() == "old"
    write_text(tmp_path / "first", "alone")  # the block has ended: a file is written at once again
    assert (tmp_path / "first").read_text() == "alone"


def test_a_file_that_is_written_twice_has_its_last_content(tmp_path: Path) -> None:
    with all_or_none():
        write_text(tmp_path / "file", "first")
        write_text(tmp_path / "file", "second")
    assert (left(tmp_path), (tmp_path / "file").read_text()) == (["file"], "second")


@pytest.mark.parametrize("suffix", [".npz", ".npz.xz"])
def test_a_file_that_is_no_npz_is_refused_without_advice_to_trust_it(tmp_path: Path, suffix: str) -> None:
    sound = tmp_path / f"sound{suffix}"
    other = tmp_path / f"other{suffix}"
    write_arrays(sound, x=np.arange(3))
    with open_arrays(sound) as arrays:
        assert arrays["x"].tolist() == [0, 1, 2]
    other.write_bytes(lzma.compress(b"\x80\x04K\x01.") if suffix.endswith("xz") else b"\x80\x04K\x01.")
    with pytest.raises(BadZipFile, match=r"^File is not a zip file$"), open_arrays(other):
        pass
