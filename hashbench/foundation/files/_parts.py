"""Temporary files: their names say which process writes them, so that those of killed processes can be removed."""

import glob
import hashlib
import os
import platform
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

LEFT_AFTER_S = 24 * 3600  # without a change, a temporary file of another machine is one that was left there


def part_prefix(name: str) -> str:
    """How the temporary file for the file ``name`` begins; it names this process, so that others can tell if it lives.

    Eight characters and ``.part`` follow.
    """
    return f".{name[:100]}.hashbench-{_machine()}-{os.getpid()}-"


def remove_parts(folder: Path, name: str | None = None) -> None:
    """Removes all temporary files in ``folder``, or those for the file ``name``.

    The caller holds the lock under which they are written, so that no process writes one at the moment.
    """
    for left in folder.glob(".*.part" if name is None else f".{glob.escape(name)}.*.part"):
        left.unlink()


def sweep_parts(folder: Path, now: float) -> None:
    """Removes the temporary files that killed processes have left in ``folder``, and no file of a process that lives.

    Whether a process lives can be seen on its own machine only; elsewhere a file is left alone for a day. ``now`` is
    the time of a file that was made just now in the folder: the clocks of machines that share a disk may differ.
    """
    with suppress(OSError), os.scandir(folder) as entries:  # what cannot be read or removed stays
        for entry in entries:
            found = _PART.fullmatch(entry.name)
            if found and _is_left(entry, found["machine"], int(found["process"]), now):
                Path(entry.path).unlink(missing_ok=True)


_PART = re.compile(r"\..*\.hashbench-(?P<machine>[0-9a-f]{8})-(?P<process>\d{1,9})-\w{8}\.part", re.DOTALL)


def _is_left(entry: "os.DirEntry[str]", machine: str, process: int, now: float) -> bool:
    if machine != _machine():
        return now - entry.stat(follow_symlinks=False).st_mtime > LEFT_AFTER_S
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:  # of another user
        return False
    return False


@cache
def _machine() -> str:
    """A digest of what makes the number of a process unique: the machine and, in a container, its namespace."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return hashlib.sha256(f"{platform.node()} {namespace}".encode()).hexdigest()[:8]
