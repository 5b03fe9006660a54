"""Where things live: the cards and experiment files, the results, the downloaded data."""

import os
from pathlib import Path

import platformdirs

from hashbench.errors import HashbenchError

PACKAGE = Path(__file__).resolve().parent


def _holds_the_data(folder: Path) -> bool:
    return (folder / "datasets").is_dir() and (folder / "experiments" / "methods").is_dir()


def root() -> Path:
    """The folder that holds ``datasets/`` and ``experiments/``.

    ``HASHBENCH_ROOT`` (which ``--root`` sets), else the nearest parent of the current folder that holds
    both, else the checkout the package runs from, else the copy inside the wheel.
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
    """The folder of rows, runs and rendered tables: ``HASHBENCH_RESULTS`` (``--results``), else results/.

    In an installed package without a checkout that is results/ of the current folder.
    """
    if named := os.environ.get("HASHBENCH_RESULTS"):
        return Path(named)
    home = root()
    return (Path.cwd() if home == PACKAGE / "_data" else home) / "results"


def data() -> Path:
    """The folder of downloaded data: ``HASHBENCH_DATA``, else the user's cache folder."""
    if named := os.environ.get("HASHBENCH_DATA"):
        return Path(named)
    return Path(platformdirs.user_cache_dir("hashbench", appauthor=False))


def weights() -> Path:
    """The folder of pretrained networks' weights."""
    return data() / "weights"


def shown(path: Path) -> str:
    """``path`` as people read it: from the current folder, where it lies inside that.

    >>> shown(Path.cwd() / "results" / "a.csv"), shown(Path("/elsewhere/a.csv"))
    ('results/a.csv', '/elsewhere/a.csv')
    """
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
