"""Seconds that `hashbench.load` takes beyond the import of NumPy, and those of the first `encode` after it.

Run `python benchmarks/load.py`. ITQ on the digits is trained where it is not stored, and exported as NumPy; the run by
its name, among the rows of the repository, and the exported folder are loaded in processes of their own, in turn. The
median and the range of 11 processes are printed, as processor seconds, which other programs on the machine disturb
less, and as seconds of the clock. Writes results/benchmarks/load-MACHINE.json.
"""

import json
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import _record

import hashbench
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.store import Store
from hashbench.showing.export.write import export

PROCESSES = 11
STEPS = ("load", "first encode")
UNITS = ("processor_s", "clock_s")
PROGRAM = """
import json, sys, time
import numpy as np
items = np.zeros((10, 8, 8, 1), np.uint8)
def now():
    return np.array([time.process_time(), time.perf_counter()])
started = now()
import hashbench
run = hashbench.load(sys.argv[1])
loaded = now()
run.encode(items)
print(json.dumps([(loaded - started).tolist(), (now() - loaded).tolist()]))
"""


def measured(name: str) -> list[list[float]]:
    """The (processor, clock) seconds of a load, and of an encode, in a new process."""
    command = [sys.executable, "-c", PROGRAM, name]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  (our own program)
    seconds: list[list[float]] = json.loads(done.stdout)
    return seconds


def main() -> None:
    """Measures both and writes the file."""
    row = hashbench.train("itq", "digits", bits=48).row
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "itq"
        export(row, load_hasher(row, Store.default(), "cpu"), "numpy", folder)
        names = {"a run by its name": row.run, "an exported folder": str(folder)}
        seconds_of_kinds: dict[str, list[list[list[float]]]] = {kind: [] for kind in names}
        for _ in range(PROCESSES):
            for kind, name in names.items():
                seconds_of_kinds[kind].append(measured(name))
    figures = {kind: summary(kind, seconds) for kind, seconds in seconds_of_kinds.items()}
    _record.write("load", {"processes": PROCESSES, "seconds": figures})


def summary(kind: str, seconds: list[list[list[float]]]) -> dict[str, Any]:
    """The median and the range of each step on each clock, which are printed too; of the ``seconds`` of processes."""
    figures: dict[str, Any] = {}
    for (step, what), (clock, unit) in product(enumerate(STEPS), enumerate(UNITS)):
        values = sorted(of_process[step][clock] for of_process in seconds)
        figures[f"{what}, {unit}"] = {"median": median(values), "range": [values[0], values[-1]]}
        print(f"{kind:20} {what:12} {unit:12} {median(values):.3f} ({values[0]:.3f} to {values[-1]:.3f})")
    return figures


if __name__ == "__main__":
    main()
