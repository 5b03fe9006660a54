"""Waiting for what other processes do."""

import time
from collections.abc import Callable
from pathlib import Path


def until(holds: Callable[[], object], seconds: float = 60) -> bool:
    """Whether ``holds()`` becomes true within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def lives(process: int) -> bool:
    """Whether the process is there; one that has ended and is not waited for is not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
