"""Tasks that end their own process, for workers: these import them by name."""

import os
import signal
import time
from pathlib import Path

from hashbench.shards._task import Count, Counts


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


class Hangs(Count):
    """The task that counts a shard, which does not end for db-10 and later ones."""

    def __call__(self) -> Counts:
        if self.shard.codes.path.stem.startswith("db-1"):
            time.sleep(600)
        return super().__call__()
