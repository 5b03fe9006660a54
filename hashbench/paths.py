"""The folders that hashbench reads and writes: data set cards, experiment files, results, downloaded data."""

import os
from pathlib import Path

import platformdirs

from hashbench.errors import HashbenchError

PACKAGE = Path(__file__).resolve().parent


def _holds_the_data(folder: Path) -> bool:
    return (folder / "datasets").is_dir() and (folder / "experiments" / "methods").is_dir()


def root() -> Path:
    """The folder that holds ``datasets/`` and ``experiments/``.

    It is the first of these that exists:

    1. ``HASHBENCH_ROOT``, which the option ``--root`` sets;
    2. the current folder or its nearest parent that holds both;
    3. the source tree that the package runs from;
    4. the copy inside the installed wheel.
    """
    if named := os.environ.get("HASHBENCH_ROOT"):
        if not any((Path(named) / part).is_dir() for part in ("datasets", "experiments")):
            raise HashbenchError(f"{named}: not a root: a folder that holds datasets/ and experiments/ is")
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents, PACKAGE.parent):
        if _holds_the_data(folder):
            return folder
    return PACKAGE / "_data"


def results() -> Path:
    """The folder of rows, runs and rendered tables: ``HASHBENCH_RESULTS`` (``--results``), or ``root()/results``.

    If the root is the copy inside the wheel, it is ``results`` in the current folder.
    """
    if named := os.environ.get("HASHBENCH_RESULTS"):
        return Path(named)
    home = root()
    return (Path.cwd() if home == PACKAGE / "_data" else home) / "results"


def data() -> Path:
    """The folder of downloaded data: ``HASHBENCH_DATA``, or the user's cache folder."""
    if named := os.environ.get("HASHBENCH_DATA"):
        return Path(named)
    return Path(platformdirs.user_cache_dir("hashbench", appauthor=False))


def weights() -> Path:
    """The folder of the weights of pretrained networks, inside the data folder."""
    return data() / "weights"


def shown(path: Path) -> str:
    """``path`` for messages: relative to the current folder if it is inside it, unchanged otherwise.

    >>> shown(Path.cwd() / "results" / "a.csv"), shown(Path("/elsewhere/a.csv"))
    ('results/a.csv', '/elsewhere/a.csv')
    """
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
