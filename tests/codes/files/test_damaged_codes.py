"""Damaged files end in one line: in process all of them, as processes under limits some, and the bombs."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest
from support import damaged_codes
from support.together import together

from hashbench.codes import files
from hashbench.codes.files import _hdf5, h5
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import count_blocks

MOST_SECONDS = 5
MOST_BYTES = 500 << 20
MOST_ADDRESSES = 8 << 30  # threads reserve much that they never touch; what is touched is measured


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """The files of one kind of damage, which are written once."""
    folder = tmp_path_factory.mktemp("corpus")
    return cache(lambda kind: damaged_codes.write(kind, folder / kind))


def verdict(path: Path, held_bytes: int) -> str:
    """Nothing, or what is wrong with how ``path`` ended."""
    try:
        saved = files.opened(path, held_bytes=held_bytes)
        counted = count_blocks(saved.query, saved.pieces())
    except HashbenchError as error:
        return "" if len(str(error).replace(str(path), "").splitlines()) == 1 else f"lines: {error}"
    except Exception as error:  # what the test is about
        return f"{type(error).__name__}: {error}"
    return f"counted as {counted.counts.shape} of {saved.n_database}"


@together("kind", damaged_codes.KINDS)
def test_every_damaged_file_ends_in_one_line(kind: str, corpus: Callable[[str], list[Path]]) -> None:
    """Held in memory or streamed: no histogram, and one line."""
    paths = corpus(kind)
    for held_bytes in (1 << 40, 0):
        wrong = {path.name: verdict(path, held_bytes) for path in paths}
        assert {name: words for name, words in wrong.items() if words} == {}
    assert not (paths[0].parent / "HARM").exists()


# In a process of its own, because a child's peak begins at that of its parent, and pytest may have loaded torch.
LAUNCHER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout, done.stderr, used.ru_utime + used.ru_stime, used.ru_maxrss << 10]))
"""


# hashbench eval with another limit of what is held in memory
EVAL = """
import sys
from hashbench.cli._app import main
from hashbench.codes import files
files.HELD_BYTES = int(sys.argv[1])
main(["eval", *sys.argv[2:]])
"""


def run_limited(path: Path, held_bytes: int) -> tuple[int, str, str, float, int]:
    """(exit code, stdout, stderr, CPU seconds, peak bytes) of ``hashbench eval path`` under limits."""
    limits = f'ulimit -v {MOST_ADDRESSES >> 10} && ulimit -t {2 * MOST_SECONDS} && exec "$@"'
    command = ["sh", "-c", limits, "sh", sys.executable, "-c", EVAL, str(held_bytes), str(path)]
    launch = [sys.executable, "-c", LAUNCHER, *command]
    done = subprocess.run(launch, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_some_as_processes_under_limits(corpus: Callable[[str], list[Path]]) -> None:
    corpora = {kind: corpus(kind) for kind in (*list(damaged_codes.KINDS)[::4], "zip_bombs", "other_bombs")}
    chosen = [paths[len(paths) // 2] for paths in corpora.values()]
    chosen += [corpora["zip_bombs"][0], corpora["other_bombs"][-1]]
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(run_limited, chosen, [(n % 2) << 40 for n in range(len(chosen))])
        for path, (code, out, err, seconds, size) in zip(chosen, done, strict=True):
            assert (code, out) == (2, ""), (path, err)
            assert err.startswith("error: "), path
            assert err.count("\n") == 1, (path, err)
            assert seconds < MOST_SECONDS, path
            assert size < MOST_BYTES, path


def codes_with_names(path: Path) -> bytes:
    """The content of an HDF5 file whose labels are texts of any length."""
    arrays = damaged_codes.sound(np.random.default_rng(0))
    names = {
        f"{side}_labels": np.resize(np.array(["cat", "dog"], object), n) for side, n in (("query", 6), ("database", 40))
    }
    with h5py.File(path, "w") as file:
        file.update(arrays | names)
    return path.read_bytes()


@pytest.mark.parametrize("left_out", [16, 0])
def test_a_loop_of_the_hdf5_library_ends_in_one_line(
    left_out: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """16 bytes of the heap of texts zeroed, or 16 zeros inserted: h5py never returns from some of these files."""
    monkeypatch.setattr(_hdf5, "SECONDS", 0.5)
    monkeypatch.setattr(_hdf5, "_children", [])
    path = tmp_path / "codes.h5"
    content = codes_with_names(path)
    ends = []
    for at in range(content.index(b"GCOL") + 16, content.index(b"GCOL") + 96, 16):
        path.write_bytes(content[:at] + bytes(16) + content[at + left_out :])
        with pytest.raises(HashbenchError, match=r"^\S+codes.h5[^\n]+$") as error:
            files.load(path)
        ends.append(str(error.value))
    assert any(f"{path}: query_labels: cannot be read: the HDF5 library did not come to an end" in end for end in ends)
    path.write_bytes(content)
    assert files.load(path).class_names.tolist() == ["cat", "dog"]


def test_a_file_that_is_replaced_while_it_is_read_is_not_mixed_with_the_new_one(tmp_path: Path) -> None:
    first = tmp_path / "codes.h5"
    second = tmp_path / "other.h5"
    codes_with_names(second)
    codes_with_names(first)
    arrays = h5.arrays(first)
    assert arrays["query_codes"]().whole().size
    second.replace(first)
    with pytest.raises(ValueError, match="it was written anew while it was read: read it again"):
        arrays["database_codes"]()
    assert files.load(first).class_names.tolist() == ["cat", "dog"]


def test_a_crash_of_the_hdf5_library_is_one_line_and_ends_nothing_else(
    tmp_path: Path,
) -> None:
    path = tmp_path / "codes.h5"
    codes_with_names(path)
    files.load(path)
    with pytest.raises(ValueError, match=r"crashed \(SIGSEGV\): the file is damaged"):
        send_then_crash(_hdf5._children[0])
    assert files.load(path).n_database == 40


def send_then_crash(child: _hdf5._Child) -> None:
    child.process.send_signal(signal.SIGSEGV)
    child.process.wait()
    child.ask(["names", "codes.h5"])


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_peak_memory_is_that_of_the_packed_codes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hashbench.codes import files;"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) << 10;"
        "import h5py; before = peak(); read = files.load(Path(sys.argv[1]));"
        "print(peak() - before - read.database.words.nbytes, len(read.database))"
    )
    rng = np.random.default_rng(0)
    arrays = damaged_codes.sound(rng)
    n_items = 400_000
    n_bits = 64
    codes = np.tile(np.float32([-1, 1]), (n_items, n_bits // 2))  # 102 MB
    arrays |= {"query_codes": codes[:6], "database_codes": codes, "database_labels": np.arange(n_items) % 5}
    for write in (damaged_codes.npz, damaged_codes.npz_deflated, damaged_codes.h5):
        path = write(tmp_path / write.__name__, arrays)
        done = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=60
        )
        extra, n_read = map(int, done.stdout.split())
        assert n_read == n_items
        assert 0 < extra < 60 << 20, write.__name__


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited as Linux does it")
def test_a_stream_of_more_codes_than_there_is_memory_for(tmp_path: Path) -> None:
    """1.9 GB of packed codes, which no process of at most 1.2 GB of data holds."""
    rng = np.random.default_rng(0)
    path = tmp_path / "codes.h5"
    n_items = 30_000_000
    n_bytes = 64
    with h5py.File(path, "w") as file:
        file["n_bits"] = 8 * n_bytes
        file["query_codes"] = rng.integers(0, 256, (3, n_bytes), np.uint8)
        file["query_labels"], file["database_labels"] = np.arange(3), rng.integers(0, 9, n_items, np.uint8)
        database = file.create_dataset("database_codes", (n_items, n_bytes), "u1")
        block = rng.integers(0, 256, (1_000_000, n_bytes), np.uint8)
        for start in range(0, n_items, len(block)):
            database[start : start + len(block)] = block
    limits = 'ulimit -d 1200000 && exec "$@"'
    command = ["sh", "-c", limits, "sh", sys.executable, "-c", EVAL]
    streamed, held = (
        subprocess.run([*command, held_bytes, path, "--json"], capture_output=True, text=True, check=False, timeout=200)
        for held_bytes in ("0", str(1 << 40))
    )
    assert streamed.returncode == 0, streamed.stderr
    side = json.loads(streamed.stdout)["database_codes"]
    assert (side["n_items"], side["n_distinct"]) == (n_items, None)
    assert (held.returncode, held.stdout) != (0, streamed.stdout)  # the limit bites
