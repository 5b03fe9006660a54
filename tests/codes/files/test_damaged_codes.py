"""Damaged files end in one line: in process all of them, as processes under limits some, and the bombs."""

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support import damaged_codes
from support.python import python

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes import files
from hashbench.scoring.histogram import count

MOST_SECONDS = 5
MOST_BYTES = 500 << 20
MOST_ADDRESSES = 8 << 30  # threads reserve much that they never touch; what is touched is measured


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Path]]:
    """The files of one kind of damage, which are written once."""
    folder = tmp_path_factory.mktemp("corpus")
    return cache(lambda kind: damaged_codes.write(kind, folder / kind))


def verdict(path: Path) -> str:
    """Nothing, or what is wrong with how ``path`` ended."""
    try:
        saved = files.load(path)
        counted = count(saved.query, saved.database, saved.relevance)
    except HashbenchError:
        return ""
    except Exception as error:  # what the test is about
        return f"{type(error).__name__}: {error}"
    return f"counted as {counted.counts.shape} of {saved.n_database}"


@pytest.mark.parametrize("kind", damaged_codes.KINDS)
def test_every_damaged_file_ends_in_one_line(kind: str, corpus: Callable[[str], list[Path]]) -> None:
    paths = corpus(kind)
    wrong = {path.name: verdict(path) for path in paths}
    assert {name: words for name, words in wrong.items() if words} == {}
    assert not (paths[0].parent / "HARM").exists()


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


def test_some_as_processes_under_limits(corpus: Callable[[str], list[Path]]) -> None:
    corpora = {kind: corpus(kind) for kind in (*list(damaged_codes.KINDS)[::4], "zip_bombs", "other_bombs")}
    chosen = [paths[len(paths) // 2] for paths in corpora.values()]
    chosen += [corpora["zip_bombs"][0], corpora["other_bombs"][-1]]
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
        "import sys; from pathlib import Path; from hashbench.scoring.codes import files;"
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
        extra, n_read = map(int, python(code, path).split())
        assert n_read == n_items
        assert 0 < extra < 60 << 20, write.__name__
