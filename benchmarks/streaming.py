"""Time and memory of `hashbench eval` on databases of random codes, read piece by piece or held in memory.

Run `python benchmarks/streaming.py`, or choose a case with the options below, such as `--items 100000000 --bits 512
--queries 100 --packed`, which needs 6.5 GB of disk while it runs. Each case is one process, run once. Peak memory is
resident memory; for comparison, the peak of a process with very few codes is recorded too. Adds its cases to
results/benchmarks/streaming-MACHINE.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import _record
import h5py
import numpy as np

from hashbench.foundation import provenance
from hashbench.foundation.files import write_text

CLASSES = 10
WRITTEN = 1 << 24  # bytes at a time

# Started as a separate process, since the peak memory of a child begins at that of its parent.
LAUNCHER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(json.dumps([status, time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


@dataclass(frozen=True)
class Case:
    """Random codes in one file, one byte for each bit or for eight bits, and how they are scored."""

    queries: int
    items: int
    bits: int
    packed: bool = False
    suffix: str = ".h5"

    @property
    def name(self) -> str:
        """The fields that are written to the results."""
        kind = f"{self.bits} bits, {'packed ' if self.packed else ''}{self.suffix}"
        return f"{self.queries:,} x {self.items:,} x {kind}"

    @property
    def width(self) -> int:
        """The bytes of an item in the file."""
        return -(-self.bits // 8) if self.packed else self.bits

    def codes(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Random codes in the format of the file."""
        most = 256 if self.packed else 2
        return rng.integers(0, most, (n, self.width), np.uint8)

    def blocks(self, rng: np.random.Generator) -> Iterator[tuple[slice, np.ndarray]]:
        """The codes of the database, some rows at a time."""
        step = max(1, WRITTEN // self.width)
        for start in range(0, self.items, step):
            rows = slice(start, min(start + step, self.items))
            yield rows, self.codes(rng, rows.stop - start)

    def arrays(self, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """The arrays other than the codes of the database."""
        labels = {side: rng.integers(0, CLASSES, n, np.uint8) for side, n in self.sizes.items()}
        return {
            "query_codes": self.codes(rng, self.queries),
            "query_labels": labels["query"],
            "database_labels": labels["database"],
            "n_bits": np.array(self.bits),
        }

    @property
    def sizes(self) -> dict[str, int]:
        """The numbers of queries and items."""
        return {"query": self.queries, "database": self.items}

    def write(self, folder: Path) -> Path:
        """Writes the file; HDF5 is written block by block, since it may be larger than memory."""
        rng, path = np.random.default_rng(0), folder / f"codes{self.suffix}"
        if self.suffix == ".npz":
            np.savez(path, **self.arrays(rng), database_codes=np.vstack([block for _, block in self.blocks(rng)]))
            return path
        with h5py.File(path, "w") as file:
            file.update(self.arrays(rng))
            database = file.create_dataset("database_codes", (self.items, self.width), np.uint8)
            for rows, block in self.blocks(rng):
                database[rows] = block
        return path


@dataclass(frozen=True)
class Found:
    """The time and the peak memory of one process."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    imports_mib: float  # the peak of a process that scores very few codes
    packed_codes_mib: float
    file_mib: float

    def __str__(self) -> str:
        above = self.peak_mib - self.imports_mib
        return (
            f"{self.wall_s:.1f} s; {self.peak_mib:.0f} MiB at the peak, {above:.0f} above the imports; "
            f"{self.packed_codes_mib:.0f} MiB of packed codes, {self.file_mib:.0f} in the file"
        )


def scored(path: Path) -> tuple[float, float, float]:
    """The (wall-clock seconds, CPU seconds, peak MiB) of `hashbench eval`."""
    command = [sys.executable, "-m", "hashbench", "eval", str(path)]
    done = subprocess.run([sys.executable, "-c", LAUNCHER, *command], capture_output=True, check=True)  # noqa: S603
    status, wall_s, cpu_s, peak_mib = json.loads(done.stdout)
    if status:
        sys.exit(done.stderr.decode())
    return wall_s, cpu_s, peak_mib


def measured(case: Case, folder: Path | None) -> Found:
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        small = Case(2, 100, case.bits, case.packed, case.suffix).write(Path(temporary))
        scored(small)  # the kernels are cached from here on
        imports_mib = scored(small)[2]
        path = case.write(Path(temporary))
        packed_mib = (case.queries + case.items) * -(-case.bits // 64) * 8 / 2**20
        found = Found(*scored(path), imports_mib, packed_mib, path.stat().st_size / 2**20)
    print(f"{case.name}: {found}", flush=True)
    return found


def record(cases: dict[str, dict[str, Any]]) -> None:
    """Adds the cases to the file of this machine."""
    path = _record.path_of("streaming")
    before = json.loads(path.read_text())["cases"] if path.exists() else {}
    write_text(path, json.dumps({"machine": _record.machine(), "cases": before | cases}, indent=1) + "\n")
    print(path.relative_to(_record.REPOSITORY))


USUAL = (
    Case(100, 10_000_000, 64),
    Case(100, 10_000_000, 512, packed=True),
    Case(10_000, 1_000_000, 64, suffix=".npz"),
)


def main() -> None:
    options = argparse.ArgumentParser(description="One case of your own; without --items, the usual ones.")
    options.add_argument("--items", type=int)
    options.add_argument("--bits", type=int, default=64)
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--packed", action="store_true")
    options.add_argument("--folder", type=Path, help="folder for the temporary files of codes")
    said = options.parse_args()
    own = [Case(said.queries, said.items, said.bits, said.packed)] if said.items else []
    found = {}
    for case in own or USUAL:
        load = round(os.getloadavg()[0], 2)
        utc, versions = provenance.utc(), provenance.versions()
        found[case.name] = {
            "utc": utc,
            "load_average": load,
            "versions": versions,
            **asdict(measured(case, said.folder)),
        }
    record(found)


if __name__ == "__main__":
    main()
