"""Scoring a database in shards: seconds, items a second and peak memory, and what a billion items would take.

Run `python benchmarks/shards.py`: 1,000 queries against 1 million and 10 million codes of 64 bits with planted classes,
written to a temporary folder as packed .npy pieces of a million items. `--items 10000000 100000000` takes others: the
projection is a line through the first and the last. A hundred million items need 0.9 GB on the disk. A child process
scores, as `hashbench eval-shards` does; its peak memory is recorded beside that of a child that scores one small
piece. Writes results/benchmarks/scale-shards-MACHINE.json.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import _record
import numpy as np
from _record import LAUNCHER

BITS, CLASSES, PIECE = 64, 100, 1_000_000
BILLION = 1_000_000_000


@dataclass(frozen=True)
class Found:
    """The time and the peak memory of one process; with several jobs, the memory of the largest one."""

    items: int
    shards: int
    wall_s: float
    cpu_s: float
    items_a_second: float
    ns_a_pair: float
    peak_mib: float


@dataclass(frozen=True)
class Planted:
    """Codes around a code for each class: a bit is another one than that of its class with probability 1/4."""

    centres: np.ndarray
    rng: np.random.Generator

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Packed codes, uint8[n, 8], and class ids, uint8[n]."""
        classes = self.rng.integers(0, CLASSES, n, np.uint8)
        flips = self._words(n) & self._words(n)
        return (self.centres[classes] ^ flips)[:, None].view(np.uint8), classes

    def _words(self, n: int) -> np.ndarray:
        return self.rng.integers(0, 1 << 64, n, np.uint64, endpoint=False)


def measured(items: int, queries: int, jobs: int, folder: Path | None) -> Found:
    """Writes the pieces, scores them, and removes them."""
    rng = np.random.default_rng(0)
    planted = Planted(rng.integers(0, 1 << 64, CLASSES, np.uint64), rng)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        at = Path(name)
        codes, classes = planted.draw(queries)
        np.savez(at / "queries.npz", query_codes=codes, query_labels=classes, n_bits=BITS)
        starts = range(0, items, PIECE)
        for number, start in enumerate(starts):
            codes, classes = planted.draw(min(PIECE, items - start))
            np.save(at / f"codes-{number}.npy", codes)
            np.save(at / f"labels-{number}.npy", classes)
        wall_s, cpu_s, peak_mib = scored(at, jobs)
    found = Found(
        items,
        len(starts),
        round(wall_s, 2),
        round(cpu_s, 2),
        round(items / wall_s),
        round(1e9 * wall_s / items / queries, 4),
        round(peak_mib, 1),
    )
    print(f"{items:,} items in {found.shards} shards: {wall_s:.1f} s, {peak_mib:.0f} MiB", flush=True)
    return found


def scored(folder: Path, jobs: int) -> tuple[float, float, float]:
    """The (wall-clock seconds, CPU seconds, peak MiB) of `hashbench eval-shards`, imports and digests included."""
    patterns = ["--shards", str(folder / "codes-*.npy"), "--shard-labels", str(folder / "labels-*.npy")]
    command = [
        sys.executable,
        "-m",
        "hashbench",
        "eval-shards",
        str(folder / "queries.npz"),
        *patterns,
        "--jobs",
        str(jobs),
    ]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LAUNCHER, *command, "--counts", str(folder / "sum.npz")], capture_output=True, check=True
    )
    status, wall_s, cpu_s, peak_mib = json.loads(done.stdout)
    if status:
        sys.exit(done.stderr.decode())
    return wall_s, cpu_s, peak_mib


def projection(cases: Sequence[Found]) -> dict[str, float | str]:
    """What a billion items would take, by the line through the smallest and the largest case."""
    small, large = cases[0], cases[-1]
    slope = (large.wall_s - small.wall_s) / (large.items - small.items)
    start_s = small.wall_s - slope * small.items
    total_s = start_s + slope * BILLION
    line = (
        f"({large.wall_s} s - {small.wall_s} s) / ({large.items:,} - {small.items:,} items) = {slope * 1e6:.4f} s a "
        f"million; {start_s:.2f} s + 1,000 x {slope * 1e6:.4f} s = {total_s:.0f} s = {total_s / 3600:.2f} hours"
    )
    return {"items": BILLION, "wall_s": round(total_s), "arithmetic": line}


def main() -> None:
    options = argparse.ArgumentParser(description="Scores a database in shards.")
    options.add_argument("--items", type=int, nargs="+", default=[1_000_000, 10_000_000])
    options.add_argument("--queries", type=int, default=1_000)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--folder", type=Path, help="folder for the temporary files of codes")
    said = options.parse_args()
    measured(1_000, said.queries, said.jobs, said.folder)  # Numba's kernels are cached from here on
    imports_mib = measured(200_000, said.queries, said.jobs, said.folder).peak_mib
    cases = [measured(items, said.queries, said.jobs, said.folder) for items in sorted(set(said.items))]
    sizes = {
        "queries": said.queries,
        "bits": BITS,
        "classes": CLASSES,
        "jobs": said.jobs,
        "small_peak_mib": imports_mib,
    }
    found = {**sizes, "cases": [asdict(case) for case in cases]}
    if len(cases) > 1:
        found["projection"] = projection(cases)
        print(found["projection"]["arithmetic"])
    _record.write("scale-shards", found)


if __name__ == "__main__":
    main()
