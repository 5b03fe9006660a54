"""The folders that hashbench reads and writes: data set cards, experiment files, results, downloaded data."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import platformdirs

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import canonical

PACKAGE = Path(__file__).resolve().parent.parent  # hashbench/
P = ParamSpec("P")
T = TypeVar("T")
_read: dict[tuple[Any, ...], Any] = {}
_folders: ContextVar[tuple[str | None, ...] | None] = ContextVar("_folders", default=None)  # of a command


def read_once(function: Callable[P, T]) -> Callable[P, T]:
    """``function``, whose files are read once for each arguments and folders, until :func:`read_again` is called."""

    @wraps(function)
    def once(*args: P.args, **kwargs: P.kwargs) -> T:
        key = (function, _folders.get() or _folders_now(), args, tuple(sorted(kwargs.items())))
        if key not in _read:
            _read[key] = function(*args, **kwargs)
        result: T = _read[key]
        return result

    return once


def _folders_now() -> tuple[str | None, ...]:
    return os.environ.get("HASHBENCH_ROOT"), os.environ.get("HASHBENCH_DATA"), os.getcwd()  # noqa: PTH109  (called often: Path.cwd() is ten times slower)


@contextmanager
def same_folders() -> Iterator[None]:
    """During the block no folder changes: asking for them took a tenth of the time of ``hashbench status``."""
    token = _folders.set(_folders_now())
    try:
        yield
    finally:
        _folders.reset(token)


def read_again() -> None:
    """Makes the functions marked with :func:`read_once` read their files again."""
    _read.clear()


def root() -> Path:
    """The first of the :func:`roots`."""
    return roots()[0]


def roots() -> list[Path]:
    """The folders with ``datasets/`` and ``experiments/``: that of HASHBENCH_ROOT (``--root``), and the shipped one.

    If none is named, the current folder is one where it holds ``experiments/tables/``.
    """
    named = os.environ.get("HASHBENCH_ROOT")
    if not named:
        if (Path.cwd() / "experiments" / "tables").is_dir() and clone() is None:
            return [Path.cwd(), shipped()]
        return [shipped()]
    if not any((Path(named) / part).is_dir() for part in ("datasets", "experiments")):
        raise HashbenchError(f"{named}: not a root: a folder that holds datasets/ and experiments/ is")
    return list(dict.fromkeys([Path(named), shipped()]))


def own_root() -> Path:
    """The root of the user, which may be empty: HASHBENCH_ROOT, the clone that one is in, or the current folder."""
    named = os.environ.get("HASHBENCH_ROOT")
    if named:
        return Path(named)
    return clone() or Path.cwd()


def shipped() -> Path:
    """The root that comes with hashbench: the clone one is in, or the package's own clone, or the wheel's copy."""
    if (folder := clone()) is not None:
        return folder
    if _is_clone(PACKAGE.parent):
        return PACKAGE.parent
    return PACKAGE / "_data"


def clone() -> Path | None:
    """The clone of hashbench, by the project's name, that the current folder is in; None if it is in none."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if _is_clone(folder)), None)


def _is_clone(folder: Path) -> bool:
    pyproject = folder / "pyproject.toml"
    if not (folder / "datasets").is_dir() or not (folder / "experiments" / "methods").is_dir():
        return False
    return pyproject.is_file() and b'[project]\nname = "hashbench"\n' in pyproject.read_bytes()


@read_once
def entries(*folder: str) -> dict[str, Path]:
    """The TOML files in this folder of all :func:`roots`, by name: ``entries("experiments", "tables")``."""
    return toml_files(root.joinpath(*folder) for root in roots())


def toml_files(folders: Iterable[Path]) -> dict[str, Path]:
    """The TOML files in ``folders`` by name, sorted; the first of several files with one name is taken."""
    by_name: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("[!.]*.toml")):
            by_name.setdefault(canonical(path.stem), path)
    return dict(sorted(by_name.items()))


def results() -> Path:
    """The folder of rows, runs and tables: HASHBENCH_RESULTS (``--results``), or in the clone or current folder."""
    if named := os.environ.get("HASHBENCH_RESULTS"):
        return Path(named)
    return (clone() or Path.cwd()) / "results"


def data() -> Path:
    """The folder of downloaded data: ``HASHBENCH_DATA``, or the user's cache folder."""
    if named := os.environ.get("HASHBENCH_DATA"):
        return Path(named)
    return Path(platformdirs.user_cache_dir("hashbench", appauthor=False))


def custom_cards() -> Path:
    """The folder of the cards that ``hashbench dataset add`` writes, inside the data folder."""
    return data() / "cards"


def weights() -> Path:
    """The folder of the weights of pretrained networks, inside the data folder."""
    return data() / "weights"


def weight_files(pattern: str) -> list[Path]:
    """The files of weights that match: of the data folder, then those committed beside rows that start from them."""
    folders = weights(), shipped() / "results" / "weights"  # a wheel has none of the latter
    return [path for folder in folders for path in sorted(folder.glob(pattern))]


def shown(path: Path) -> str:
    """``path`` for messages: relative to the current folder if it is inside it, unchanged otherwise."""
    if path.is_relative_to(Path.cwd()):
        path = path.relative_to(Path.cwd())
    return str(path)
