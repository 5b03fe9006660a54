"""A run in slices on two machines, and one that is killed twenty times, beside the undisturbed run: equal to the bit?

Run `python benchmarks/killed.py`: two sparse hashes and their base network at the budget `smoke` on CIFAR-100, which
must be here (`hashbench download cifar100`). First in one call; then in slices of 20 seconds, after each of which the
packed state is carried to the other of two folders of results; then with `kill -9` at 20 moments: after any time,
while a checkpoint is written, while the state is packed, and while it is taken up. Words after the options name
another table, as for `hashbench run`. Takes ten minutes of an idle core. Writes results/benchmarks/killed-
MACHINE.json.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any

import _record
import numpy as np

HASHBENCH = [sys.executable, "-m", "hashbench"]
TABLE = ["sparse_hash_table2@smoke", "--only", "method=sparse_hash", "--only", "k=1", "--only", "k=2"]
UNFINISHED = 3  # the exit code of a slice
MOST_CALLS = 200
PACKED = "state"
# what is killed, the temporary file whose appearance is the moment (none: after a time), and the seconds after it
MOMENTS = {
    "training": (None, 0.002),
    "checkpoint": ("runs/*/.checkpoint.pt.*.part", 0.002),
    "packing": (f"{PACKED}/.part-*.part", 0.02),
    "taking up": ("tmp/hashbench-state-*", 0.4),
}


@dataclass(frozen=True)
class Machine:
    """A folder of results in place of a machine, and the table that it makes."""

    results: Path
    table: list[str]

    def started(self, *words: str) -> "subprocess.Popen[bytes]":
        """A command in a process group of its own."""
        command = [*HASHBENCH, "--results", str(self.results), *words]
        quiet = subprocess.DEVNULL
        scratch = self.results / "tmp"
        scratch.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "TMPDIR": str(scratch)}
        return subprocess.Popen(  # noqa: S603
            command, stdout=quiet, stderr=subprocess.PIPE, start_new_session=True, env=environment
        )

    def call(self, *words: str) -> int:
        """The exit code of a command; ends this script with what it said where that is a fault."""
        process = self.started(*words)
        said = process.communicate()[1].decode()
        if process.returncode not in (0, UNFINISHED):
            sys.exit(f"{' '.join(words)}: {said}")
        return process.returncode

    def run(self, *more: str) -> int:
        """Makes the table."""
        return self.call("run", *self.table, "--device", "cpu", *more)

    def pack(self) -> None:
        """Packs the state."""
        self.call("results", "pack-state", "--out", str(self.results / PACKED))

    def take_up(self, folder: Path) -> None:
        """Takes up the state that another machine packed."""
        self.call("results", "merge", str(folder))

    def measured(self) -> dict[str, Any]:
        """What each run measured: the numbers of its row, and its codes."""
        lines = [line for path in self.results.glob("rows/*.jsonl") for line in path.read_text().splitlines()]
        rows = {row["run"]: row for row in map(json.loads, lines)}
        return {run: (row["searches"], row["artefacts"], self._codes(run)) for run, row in rows.items()}

    def _codes(self, run: str) -> dict[str, bytes]:
        path = self.results / "runs" / run / "codes.npz"
        if not path.exists():
            return {}
        with np.load(path) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}

    def epochs(self) -> int:
        """The epochs that are logged, of all runs."""
        return sum(path.read_bytes().count(b"\n") for path in self.results.glob("runs/*/metrics.jsonl"))


def in_slices(machines: list[Machine], seconds: float) -> int:
    """Makes the table in slices, on one machine after the other; returns their number."""
    for n in range(MOST_CALLS):
        here, there = machines[n % 2], machines[(n + 1) % 2]
        returned = here.run("--minutes", str(seconds / 60))
        here.pack()
        there.take_up(here.results / PACKED)
        if returned == 0:
            return n + 1
    sys.exit(f"not done after {MOST_CALLS} slices")


def killed(
    machines: list[Machine], n: int, rng: random.Random, longest_s: float
) -> tuple[list[dict[str, Any]], Machine]:
    """Kills ``n`` commands, each at another moment; returns what was killed, and the machine with the state then."""
    here, there = machines
    kills: list[dict[str, Any]] = []
    for at in range(n):
        kind = [*MOMENTS][at % len(MOMENTS)]
        if kind == "taking up":
            here.pack()
            here, there = there, here
        before = here.epochs()
        process = here.started(*_words(kind, here, there))
        pattern, later_s = MOMENTS[kind]
        _wait_for_moment(process, pattern, here.results, longest_s * rng.random())
        time.sleep(later_s * rng.random())
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        kept = here.epochs()
        rmtree(here.results / "tmp")
        if kind == "taking up":
            here.take_up(there.results / PACKED)
        kills.append({"killed": kind, "status": process.returncode, "epochs_before": before, "epochs": kept})
        print(json.dumps(kills[-1]), flush=True)
    return kills, here


def _words(kind: str, here: Machine, there: Machine) -> list[str]:
    if kind == "packing":
        return ["results", "pack-state", "--out", str(here.results / PACKED), "--part-size", "0.1"]
    if kind == "taking up":
        return ["results", "merge", str(there.results / PACKED)]
    return ["run", *here.table, "--device", "cpu"]


def _wait_for_moment(process: "subprocess.Popen[bytes]", pattern: str | None, folder: Path, seconds: float) -> None:
    """Until a file of the pattern is there, or without one so many seconds; not beyond the end of the process."""
    end = time.monotonic() + seconds
    while process.poll() is None:
        if [*folder.glob(pattern)] if pattern else time.monotonic() > end:
            return
        time.sleep(0.0005)


def main() -> None:
    options = argparse.ArgumentParser(description="Slices and kills a run.")
    options.add_argument("--slice", type=float, default=20.0, help="seconds of a slice")
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--longest", type=float, default=20.0, help="seconds until a training is killed, at most")
    options.add_argument("table", nargs="*", default=TABLE)
    given, words = options.parse_known_args()
    table = [*given.table, *words] if given.table is not TABLE else TABLE
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: Machine(Path(scratch) / name, table) for name in ("alone", "a", "b", "c", "d")}
        began = time.monotonic()
        folders["alone"].run()
        found: dict[str, Any] = {"table": table, "undisturbed_s": round(time.monotonic() - began, 1)}
        expected = folders["alone"].measured()
        began = time.monotonic()
        found["slices"] = in_slices([folders["a"], folders["b"]], given.slice)
        found["slice_s"], found["sliced_s"] = given.slice, round(time.monotonic() - began, 1)
        found["equal_in_slices"] = folders["a"].measured() == expected == folders["b"].measured()
        print(json.dumps(found), flush=True)
        began = time.monotonic()
        rng = random.Random(0)  # noqa: S311
        found["kills"], last = killed([folders["c"], folders["d"]], given.kills, rng, given.longest)
        last.run()
        found["killed_s"] = round(time.monotonic() - began, 1)
        found["died"] = sum(kill["status"] == -signal.SIGKILL for kill in found["kills"])
        found["equal_after_kills"] = last.measured() == expected
    print(json.dumps({key: value for key, value in found.items() if key != "kills"}))
    _record.write("killed", found)


if __name__ == "__main__":
    main()
