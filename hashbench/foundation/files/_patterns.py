"""The files that names, patterns and folders stand for."""

import glob
import re
from collections.abc import Sequence
from pathlib import Path

from hashbench.foundation.errors import HashbenchError


def files_named(names: Sequence[Path], suffix: str | None = None) -> list[Path]:
    """The files that ``names`` are or match, in the order of their names, db-2 before db-10.

    With ``suffix`` a folder stands for its files that end so. Raises HashbenchError for a name without a file.
    """
    return sorted((path for name in names for path in _files(name, suffix)), key=natural)


def _files(name: Path, suffix: str | None) -> list[Path]:
    if name.is_file():
        return [name]
    of_folder = suffix is not None and name.is_dir()
    found = matching(f"{glob.escape(str(name))}/*{suffix}" if of_folder else str(name.expanduser()))
    if not found:
        what = f"no {suffix} file in this folder" if of_folder else "no such file"
        raise HashbenchError(f"{name}: {what}: files or a quoted pattern are expected, such as 'items-*.npz'")
    return found


def matching(pattern: str) -> list[Path]:
    """The files that a pattern matches, in no order; ``**`` stands for any folders."""
    return [path for path in map(Path, glob.glob(pattern, recursive=True)) if path.is_file()]  # noqa: PTH207


def natural(path: Path) -> list[tuple[int, str]]:
    """The key that sorts names as people do: db-2 before db-10.

    >>> [path.name for path in sorted(map(Path, ["db-10", "db-2", "db-a"]), key=natural)]
    ['db-2', 'db-10', 'db-a']
    """
    parts = re.split(r"([0-9]+)", str(path))
    return [(int(part), part) if at % 2 else (-1, part) for at, part in enumerate(parts)]
