"""Tasks that end their own process, for workers: these import them by name."""

import os
import signal
import time
from pathlib import Path

from hashbench.running.jobs.shards import CountTask
from hashbench.running.jobs.task import Postponed, Stopped
from hashbench.running.runs.row import Row
from hashbench.running.runs.run_all import RunTask
from hashbench.scoring.evaluation.shard_total import Total


def dies_once(mark: Path) -> str:
    """Ends the process by SIGKILL where there is no file ``mark``, which it leaves."""
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def sleeps(folder: Path, seconds: float = 600) -> None:
    """Leaves a file named by the process, and sleeps."""
    (folder / str(os.getpid())).touch()
    time.sleep(seconds)


class Hangs(CountTask):
    """The task that counts a shard, which does not end for db-10 and later ones."""

    def run(self) -> Total:
        if self.shard.codes.path.stem.startswith("db-1"):
            time.sleep(600)
        return super().run()


class Doomed(RunTask):
    """A run that dies as often as the file ``deaths-SEED`` of the results says, or never ends where it says so."""

    def run(self) -> Row | Postponed | Stopped:
        deaths = self.store.folder / f"deaths-{self.spec.name.seed}"
        left = deaths.read_text() if deaths.exists() else "0"
        if left == "endless" and self.failure is None:
            sleeps(self.store.folder)
        if left.isdecimal() and int(left):
            deaths.write_text(str(int(left) - 1))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().run()
