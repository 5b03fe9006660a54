"""Where a path leads: symbolic links, and the descriptors and devices that cannot be replaced by a file."""

import os
from pathlib import Path

from hashbench.foundation.errors import HashbenchError

MOST_LINKS = 40  # as Linux follows them


def followed(path: Path) -> Path:
    """The end of a chain of symbolic links; a descriptor is an end, because its link may lead to no path at all."""
    place = path
    for _ in range(MOST_LINKS):
        if descriptor(place) is not None or not place.is_symlink():
            return place
        place = place.parent / place.readlink()
    raise HashbenchError(f"{path}: its symbolic links lead in a circle: remove them or name another file")


def descriptor(path: Path) -> int | None:
    """The number of the open descriptor that ``path`` names, as /dev/fd/1 and /proc/self/fd/1 do; None for others."""
    if not (path.name.isdecimal() and path.parent.name == "fd"):
        return None
    own = {Path("/dev/fd"), Path("/proc/self/fd"), Path(f"/proc/{os.getpid()}/fd")}
    return int(path.name) if path.parent in own else None


def is_stream(path: Path) -> bool:
    """Whether ``path`` is a device, a pipe or a descriptor: it is written to, and cannot be replaced by a file."""
    place = followed(path)
    return descriptor(place) is not None or (place.exists() and not (place.is_file() or place.is_dir()))


def resolved(path: Path) -> Path:
    """The absolute path without symbolic links; links in a circle stay, and whatever opens the path refuses them."""
    return Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle
