"""Damaged files end in one line: in process all of them, as processes under limits twenty."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import damaged_codes
import numpy as np
import pytest

from hashbench import saved_codes
from hashbench.errors import HashbenchError

MOST_SECONDS, MOST_BYTES = 5, 500 << 20
MOST_ADDRESSES = 8 << 30  # threads reserve much that they never touch; what is touched is measured


def verdict(path: Path) -> str:
    """Nothing, or what is wrong with how ``path`` ended."""
    try:
        saved = saved_codes.load(path)
    except HashbenchError as error:
        return "" if len(str(error).replace(str(path), "").splitlines()) == 1 else f"lines: {error}"
    except Exception as error:  # what the test is about
        return f"{type(error).__name__}: {error}"
    return f"read as {len(saved.query)} x {len(saved.database)}"


@pytest.mark.parametrize("kind", damaged_codes.KINDS)
def test_every_damaged_file_ends_in_one_line(kind: str, tmp_path: Path) -> None:
    paths = damaged_codes.write(kind, tmp_path / "files")
    wrong = {path.name: said for path in paths if (said := verdict(path))}
    assert wrong == {}
    assert not (tmp_path / "files" / "HARM").exists()


def test_the_corpus_is_large_and_the_same_for_a_seed(tmp_path: Path) -> None:
    light = [kind for kind in damaged_codes.KINDS if not kind.endswith("bombs")]
    written = [
        [path for kind in light for path in damaged_codes.write(kind, tmp_path / name / kind, seed)]
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    ]
    assert len(written[0]) >= 300
    npz = [
        [path.read_bytes() for path in paths if path.name.startswith("npz_") and path.is_file()] for paths in written
    ]
    assert npz[0] == npz[1]
    assert npz[0] != npz[2]


# In a process of its own, because a child's peak begins at that of its parent, and pytest may have loaded torch.
LAUNCHER = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout, done.stderr, used.ru_utime + used.ru_stime, used.ru_maxrss << 10]))
"""


def run_limited(path: Path) -> tuple[int, str, str, float, int]:
    """(exit code, stdout, stderr, CPU seconds, peak bytes) of ``hashbench eval path`` under limits."""
    limits = f'ulimit -v {MOST_ADDRESSES >> 10} && ulimit -t {2 * MOST_SECONDS} && exec "$@"'
    command = ["sh", "-c", limits, "sh", sys.executable, "-m", "hashbench", "eval", str(path)]
    launch = [sys.executable, "-c", LAUNCHER, *command]
    done = subprocess.run(launch, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def test_twenty_as_processes_under_limits(tmp_path: Path) -> None:
    corpora = {kind: damaged_codes.write(kind, tmp_path / kind) for kind in damaged_codes.KINDS}
    chosen = [paths[len(paths) // 2] for paths in corpora.values()]
    chosen += [corpora["zip_bombs"][0], corpora["other_bombs"][-1]]
    assert len(chosen) >= 20
    with ThreadPoolExecutor(2) as pool:
        for path, (code, out, err, seconds, size) in zip(chosen, pool.map(run_limited, chosen), strict=True):
            assert (code, out) == (2, ""), (path, err)
            assert err.startswith("error: "), path
            assert err.count("\n") == 1, (path, err)
            assert seconds < MOST_SECONDS, path
            assert size < MOST_BYTES, path


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_peak_memory_is_that_of_the_packed_codes(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from hashbench import saved_codes;"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) << 10;"
        "import h5py; before = peak(); read = saved_codes.load(Path(sys.argv[1]));"
        "print(peak() - before - read.database.words.nbytes, len(read.database))"
    )
    rng = np.random.default_rng(0)
    arrays = damaged_codes.sound(rng)
    n_items, n_bits = 400_000, 64
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
