"""The sparse index in one file and in shards: seconds and peak memory of `hashbench index build` and `index query`.

Run `python benchmarks/index_shards.py`: 1,000,000 items in 4,096 clusters, k = 2 of d = 4,096 buckets (that of the
cluster and a random one), embeddings of width 64, in one file and in 8 files; 1,000 queries for the nearest 10, and 100
for the nearest 2,000, which open further buckets. Each command is a process of its own, imports included; figures are
medians of 5, and the cases alternate. Peak memory is resident memory, with the pages of the index file that are mapped.
The answers must be equal. The files are temporary and take 1.7 GB. Writes results/benchmarks/index-shards-MACHINE.json.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import _record
import numpy as np
from streaming import LAUNCHER

from hashbench.foundation.parallel import slices

D, K, WIDTH = 4096, 2, 64
SHARDS = (1, 8)
BATCHES = {"queries-many.npz": (1_000, 10), "queries-far.npz": (100, 2_000)}  # (queries, --top) by file

rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Found:
    """The medians of one command with one number of shards."""

    command: str
    shards: int
    wall_s: float
    cpu_s: float
    peak_mib: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """``embeddings`` float32[n, m] around those of clusters, and the number of the ``cluster`` [n]."""

    embeddings: np.ndarray
    cluster: np.ndarray

    @classmethod
    def of(cls, n: int, centres: np.ndarray) -> "Drawn":
        """``n`` random items or queries."""
        cluster = rng.integers(0, D, n)
        return cls(centres[cluster] + 0.7 * rng.standard_normal((n, WIDTH), np.float32), cluster)

    def activations(self) -> np.ndarray:
        """float32[n, d], of which the largest is that of the cluster."""
        found = rng.random((len(self.cluster), D), np.float32)
        found[np.arange(len(found)), self.cluster] += 1
        return found

    def buckets(self) -> np.ndarray:
        """int32[n, 2]: the bucket of the cluster, and another one."""
        other = (self.cluster + rng.integers(1, D, len(self.cluster))) % D
        return np.stack([self.cluster, other], axis=1).astype(np.int32)


def write_inputs(folder: Path, n_items: int) -> None:
    """The items in as many files as there are shards, SHARDS-items-PART.npz; the queries."""
    centres = rng.standard_normal((D, WIDTH), np.float32)
    items = Drawn.of(n_items, centres)
    buckets = items.buckets()
    for n_shards in SHARDS:
        for part, rows in enumerate(slices(n_items, -(-n_items // n_shards))):
            path = folder / f"{n_shards}-items-{part}.npz"
            np.savez(path, buckets=buckets[rows], d=D, embeddings=items.embeddings[rows])
    for file, (n_queries, _) in BATCHES.items():
        queries = Drawn.of(n_queries, centres)
        np.savez(folder / file, activations=queries.activations(), embeddings=queries.embeddings)


def commands(n_shards: int) -> dict[str, list[str]]:
    """The arguments of each command, by its name."""
    items = f"{n_shards}-items-{'*' if n_shards > 1 else 0}.npz"
    out = f"{n_shards}-index" if n_shards > 1 else "1-index.h5"
    found = {"build": ["build", items, "--embeddings", items, "--out", out]}
    for file, (n_queries, top) in BATCHES.items():
        answers = f"{n_shards}-{file}"
        found[f"query, {n_queries:,} queries, nearest {top:,}"] = [
            "query", out, file, "--top", str(top), "--out", answers,
        ]  # fmt: skip
    return found


def run(folder: Path, arguments: list[str]) -> tuple[float, float, float]:
    """(wall-clock seconds, CPU seconds, peak MiB) of a command; a build writes an index that is not there."""
    if arguments[0] == "build":
        for path in (folder / arguments[-1]).glob("*.h5"):
            path.unlink()
    command = [sys.executable, "-m", "hashbench", "--quiet", "index", *arguments]
    done = subprocess.run([sys.executable, "-c", LAUNCHER, *command], cwd=folder, capture_output=True, check=True)  # noqa: S603
    status, *figures = json.loads(done.stdout)
    if status:
        sys.exit(done.stderr.decode())
    return tuple(figures)


def measured(folder: Path, repetitions: int) -> list[Found]:
    cases = [(name, n, arguments) for n in SHARDS for name, arguments in commands(n).items()]
    cases.sort(key=lambda case: case[0])  # the same command with 1 and with 8 shards alternates
    figures: dict[tuple[str, int], list[tuple[float, float, float]]] = {(name, n): [] for name, n, _ in cases}
    for turn in range(repetitions + 1):
        for name, n_shards, arguments in cases:
            found = run(folder, arguments)
            if turn:  # the first is for compiling and for the pages of the files
                figures[name, n_shards].append(found)
    medians = []
    for (name, n_shards), times in figures.items():
        wall_s, cpu_s, peak_mib = (statistics.median(values) for values in zip(*times, strict=True))
        medians.append(Found(name, n_shards, round(wall_s, 2), round(cpu_s, 2), round(peak_mib, 1)))
        print(f"{name:<42} {n_shards} shards: {wall_s:6.2f} s, {peak_mib:6.0f} MiB", flush=True)
    return medians


def check_equal(folder: Path) -> None:
    for file in BATCHES:
        with np.load(folder / f"{SHARDS[0]}-{file}") as one, np.load(folder / f"{SHARDS[1]}-{file}") as other:
            assert all(np.array_equal(one[name], other[name]) for name in one.files), f"{file}: other answers"


def main() -> None:
    options = argparse.ArgumentParser(description="The sparse index in one file and in shards.")
    options.add_argument("--items", type=int, default=1_000_000)
    options.add_argument("--repetitions", type=int, default=5)
    options.add_argument("--folder", type=Path, help="folder for the temporary files")
    said = options.parse_args()
    with tempfile.TemporaryDirectory(dir=said.folder) as name:
        folder = Path(name)
        write_inputs(folder, said.items)
        found = measured(folder, said.repetitions)
        check_equal(folder)
    sizes = {"repetitions": said.repetitions, "items": said.items, "d": D, "k": K, "width": WIDTH}
    _record.write("index-shards", {**sizes, "cases": [asdict(case) for case in found]})


if __name__ == "__main__":
    main()
