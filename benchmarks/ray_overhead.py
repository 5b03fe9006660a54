"""The overhead of a task: many tiny shards counted by one process, by two workers, and by two local nodes of Ray.

Run `python benchmarks/ray_overhead.py`; it needs the extra `ray`. 1,000 queries are scored against shards of 1,000
codes of 64 bits, whose counting takes about a millisecond. The overhead of a shard is the slope between few and many
shards; what a command takes to start (imports, connecting to the cluster) stands beside it. Each command is run three
times; the fastest one counts. Writes results/benchmarks/scale-ray-MACHINE.json.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import _record
import numpy as np
from shards import BITS, CLASSES, Planted

QUERIES, ITEMS, REPEATS, FEW = 1_000, 1_000, 3, 8


@dataclass(frozen=True)
class Found:
    """The seconds of a command for few and for many shards, and what follows: those of a shard, and to start."""

    by: str
    few: int
    many: int
    few_s: float
    many_s: float
    shard_ms: float
    start_s: float


def measured(by: str, options: list[str], many: int, folder: Path) -> Found:
    few_s, many_s = (fastest(folder / str(n), options) for n in (FEW, many))
    a_shard_s = (many_s - few_s) / (many - FEW)
    found = Found(
        by, FEW, many, round(few_s, 2), round(many_s, 2), round(1e3 * a_shard_s, 2), round(few_s - FEW * a_shard_s, 2)
    )
    print(f"{by}: {found.shard_ms} ms a shard, {found.start_s} s to start", flush=True)
    return found


def fastest(folder: Path, options: list[str]) -> float:
    """The seconds of the fastest of the equal commands; each begins a file of counts."""
    seconds = []
    for _ in range(REPEATS):
        (folder / "sum.npz").unlink(missing_ok=True)
        seconds.append(scored(folder, options))
    return min(seconds)


def scored(folder: Path, options: list[str]) -> float:
    """The wall-clock seconds of `hashbench eval-shards`."""
    patterns = ["--shards", str(folder / "codes-*.npy"), "--shard-labels", str(folder / "labels-*.npy")]
    command = [sys.executable, "-m", "hashbench", "eval-shards", str(folder / "queries.npz"), *patterns, *options]
    started = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [*command, "--counts", str(folder / "sum.npz")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    if done.returncode:
        sys.exit(done.stderr.decode())
    return time.perf_counter() - started


def write(folder: Path, n: int) -> None:
    """Queries and ``n`` shards, with the names that ``scored`` reads."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    planted = Planted(rng.integers(0, 1 << 64, CLASSES, np.uint64), rng)
    codes, classes = planted.draw(QUERIES)
    np.savez(folder / "queries.npz", query_codes=codes, query_labels=classes, n_bits=BITS)
    for number in range(n):
        codes, classes = planted.draw(ITEMS)
        np.save(folder / f"codes-{number}.npy", codes)
        np.save(folder / f"labels-{number}.npy", classes)


@contextmanager
def two_nodes() -> Iterator[str]:
    """The address of a cluster of two nodes with a core each, which are processes of this machine."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # before Ray is imported: its token lies in the user's home
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster  # noqa: PLC0415  (the variables come first)

    cluster = Cluster()
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=1, include_dashboard=False)
        yield cluster.address
    finally:
        cluster.shutdown()


def main() -> None:
    options = argparse.ArgumentParser(description="Measures the overhead of a task.")
    options.add_argument("--shards", type=int, default=64, help=f"more than {FEW}")
    options.add_argument("--folder", type=Path, help="folder for the temporary files of codes")
    said = options.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as name:
        folder = Path(name)
        for n in (FEW, said.shards):
            write(folder / str(n), n)
        scored(folder / str(FEW), [])  # Numba's kernels are cached from here on
        cases = [
            measured("one process", [], said.shards, folder),
            measured("--jobs 2", ["--jobs", "2"], said.shards, folder),
        ]
        with two_nodes() as address:
            cases.append(measured("--ray, two local nodes of one core", ["--ray", address], said.shards, folder))
    sizes = {"queries": QUERIES, "bits": BITS, "items_a_shard": ITEMS}
    _record.write("scale-ray", {**sizes, "cases": [asdict(case) for case in cases]})


if __name__ == "__main__":
    main()
