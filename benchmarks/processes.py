"""The time of `hashbench eval` and of `score()` as whole processes, with the kernel of NumPy and with that of Numba.

Run `python benchmarks/processes.py`; times are medians of 5 in seconds, in turns, from start to exit, with bytecode and
compiled kernels on disk. Writes results/benchmarks/processes-MACHINE.json.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import get_args

import _record
import numpy as np
from scoring import ITEMS, QUERIES, REPETITIONS, Case

from hashbench.scoring.histogram.counting import Kernel

EVAL = """
from hashbench.cli._app import main
main(["eval", sys.argv[2]])
"""
SCORE = """
from hashbench import score
saved = numpy.load(sys.argv[2])
print(score(*(saved[name] for name in ("query_codes", "database_codes", "query_labels", "database_labels"))))
"""
KERNEL = """
import numpy, sys
from hashbench.scoring.histogram import counting
counting._Numba.words_left = -1 if sys.argv[1] == "numba" else 1 << 60
"""


def measure(folder: Path) -> dict[str, float]:
    """The median seconds of each way, after a first run of each that fills the caches."""
    sizes = {items: f"1,000 x {items:,}" for items in (ITEMS, 2 * ITEMS, 4 * ITEMS)}
    asked = [(EVAL, f"hashbench eval {size}", items) for items, size in sizes.items()]
    ways = {
        f"{what}, {kernel}": [sys.executable, "-c", KERNEL + script, kernel, str(saved(folder, items))]
        for script, what, items in [*asked, (SCORE, f"score() {sizes[ITEMS]}", ITEMS)]
        for kernel in get_args(Kernel)
    }
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "pyc"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(1 + REPETITIONS):
        for way, command in ways.items():
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, capture_output=True)  # noqa: S603
            seconds[way].append(time.perf_counter() - started)
    median = {way: round(statistics.median(found[1:]), 3) for way, found in seconds.items()}
    for way, found in median.items():
        print(f"{way:<44} {found:.2f} s")
    return median


def saved(folder: Path, items: int) -> Path:
    """The file of a query set against ``items`` items, of 48 bits each, one byte for each bit."""
    case, path = Case.draw(48, (QUERIES, items)), folder / f"{items}.npz"
    names = ("query_codes", "database_codes", "query_labels", "database_labels")
    np.savez(path, **dict(zip(names, (*case.codes, *case.classes), strict=True)))
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _record.write("processes", {"repetitions": REPETITIONS, "bits": 48, "median_s": measure(Path(folder))})


if __name__ == "__main__":
    main()
