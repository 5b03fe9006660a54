"""A grid whose workers are killed every few seconds, and the same grid undisturbed: is a row lost, doubled or changed?

Run `python benchmarks/killed.py`: the 32 runs of the table `digits`, two at a time, once in peace, and once while
`kill -9` ends a worker every 5 seconds. A run that loses its worker twice is a failed row, so the grid is started again
with `--retry-failed` until no run fails. Takes a few minutes. Writes results/benchmarks/scale-killed-MACHINE.json.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import _record

COMMAND = [sys.executable, "-m", "hashbench", "run", "digits", "--jobs", "2"]
MOST_STARTS = 50


@dataclass
class Grid:
    """A grid with its results in a folder of its own."""

    results: Path
    killed: list[str] = field(default_factory=list)  # the run of each worker that was killed
    failures: int = 0  # failed rows, over all starts
    seconds: float = 0.0
    driver: int = 0  # the process of the grid

    def finish(self) -> int:
        """Starts the grid until no run fails; returns how often it was started."""
        began = time.perf_counter()
        for start in range(1, MOST_STARTS + 1):
            returned, said = self._start()
            self.seconds = round(time.perf_counter() - began, 1)
            failed = [row for row in self.rows() if row["status"] != "ok"]
            self.failures += len(failed)
            if returned == 0:
                return start
            if returned != 1 or not failed:
                sys.exit(said)
        sys.exit(f"some runs still fail after {MOST_STARTS} starts")

    def _start(self) -> tuple[int, str]:
        """The exit code of one start, and what it said."""
        environment = {**os.environ, "HASHBENCH_RESULTS": str(self.results)}
        command = [*COMMAND, "--retry-failed"]
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:  # noqa: S603
            self.driver = process.pid
            said = process.communicate()[1]
        return process.returncode, said.decode()

    def rows(self) -> list[dict[str, Any]]:
        """The stored rows, in the order of their files."""
        return [
            json.loads(line) for path in self.results.glob("rows/*.jsonl") for line in path.read_text().splitlines()
        ]

    def measured(self) -> dict[str, Any]:
        """What each run measured, by its name."""
        return {row["run"]: (row["searches"], row["artefacts"]) for row in self.rows()}

    @contextmanager
    def disturbed(self, every_s: float) -> Iterator[None]:
        """Kills a worker every so many seconds: the one whose run has been executed longest."""
        over = Event()
        thread = Thread(target=self._kill, args=(every_s, over))
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _kill(self, every_s: float, over: Event) -> None:
        while not over.wait(every_s):
            if at_work := self._at_work():
                process, run = next(iter(at_work.items()))
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                    self.killed.append(run)

    def _at_work(self) -> dict[int, str]:
        """The run of each worker of the grid, the one that began first in front."""
        latest: dict[int, str] = {}
        for holder in sorted(self.results.glob("runs/*/lock-holder.txt"), key=lambda path: path.stat().st_mtime):
            found = re.match(r"process (\d+) ", holder.read_text())
            if found is not None and _parent(process := int(found[1])) == self.driver:
                latest.pop(process, None)  # a worker executes one run after the other
                latest[process] = holder.parent.name
        return latest


def _parent(process: int) -> int | None:
    """The parent of a process (Linux); None if it has ended."""
    with suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def main() -> None:
    options = argparse.ArgumentParser(description="Kills the workers of a grid.")
    options.add_argument("--every", type=float, default=5.0, help="seconds between two kills")
    every_s = options.parse_args().every
    with tempfile.TemporaryDirectory() as folder:
        peace, war = Grid(Path(folder) / "peace"), Grid(Path(folder) / "war")
        peace.finish()
        with war.disturbed(every_s):
            starts = war.finish()
        same = war.measured() == peace.measured() and len(war.rows()) == len(peace.rows())
        found = {
            "runs": len(peace.rows()),
            "killed_every_s": every_s,
            "undisturbed_s": peace.seconds,
            "disturbed_s": war.seconds,
            "kills": len(war.killed),
            "runs_killed": len(set(war.killed)),
            "failed_rows_on_the_way": war.failures,
            "starts": starts,
            "rows_equal": same,
        }
    print(json.dumps(found))
    _record.write("scale-killed", found)


if __name__ == "__main__":
    main()
