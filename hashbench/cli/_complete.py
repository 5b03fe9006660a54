"""What a shell offers for a name that is being typed: names of files, so that nothing heavy is imported."""

from collections.abc import Callable, Iterator
from pathlib import Path

from hashbench import paths
from hashbench.errors import HashbenchError


def _of_files(folder: Callable[[], Path], pattern: str) -> Callable[[str], list[str]]:
    """The stems of the files in ``folder`` that match ``pattern`` and begin as what is typed, with its - or _."""

    def complete(incomplete: str) -> list[str]:
        joint = "-" if "-" in incomplete else "_"
        names = (name.replace("_", joint) for name in _stems(folder, pattern))
        return sorted(name for name in names if name.startswith(incomplete))

    return complete


def _stems(folder: Callable[[], Path], pattern: str) -> Iterator[str]:
    try:
        yield from (path.stem for path in folder().glob(pattern))
    except (HashbenchError, OSError):  # a wrong --root is said by the command, not while one types
        return


methods = _of_files(lambda: paths.root() / "experiments" / "methods", "*.toml")
datasets = _of_files(lambda: paths.root() / "datasets", "*.toml")
tables = _of_files(lambda: paths.root() / "experiments" / "tables", "*.toml")


def runs(incomplete: str) -> list[str]:
    """The runs with a stored row whose names begin so."""
    found = _stems(lambda: paths.results() / "rows", "*/*.json")
    return sorted(name for name in found if name.startswith(incomplete))


def entries(incomplete: str) -> list[str]:
    """What ``hashbench show`` takes; runs only once something is typed, because there may be thousands."""
    kinds = (methods, datasets, tables, *([runs] if incomplete else []))
    return [name for names in kinds for name in names(incomplete)]
