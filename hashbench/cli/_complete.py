"""What a shell offers for a name that is being typed: names of files, so that nothing heavy is imported."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError


def _of(names_of: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """The names that begin as what is typed, with its - or _."""

    def complete(incomplete: str) -> list[str]:
        joint = "-" if "-" in incomplete else "_"
        with suppress(HashbenchError, OSError):  # a wrong --root is said by the command, not while one types
            names = (name.replace("_", joint) for name in names_of())
            return sorted(name for name in names if name.startswith(incomplete))
        return []

    return complete


methods = _of(lambda: paths.entries("experiments", "methods"))
datasets = _of(lambda: {**paths.entries("datasets"), **paths.toml_files([paths.own_cards()])})
tables = _of(lambda: paths.entries("experiments", "tables"))
figures = _of(lambda: paths.entries("experiments", "figures"))
tables_and_figures = _of(lambda: paths.entries("experiments", "tables") | paths.entries("experiments", "figures"))


def runs(incomplete: str) -> list[str]:
    """The runs with a stored row whose names begin so."""
    found = (path.stem for path in (paths.results() / "rows").glob("*/*.json"))
    return sorted(name for name in found if name.startswith(incomplete))


def entries(incomplete: str) -> list[str]:
    """What ``hashbench show`` takes; runs only once something is typed, because there may be thousands."""
    kinds = (methods, datasets, tables, figures, *([runs] if incomplete else []))
    return sorted({name for names in kinds for name in names(incomplete)})
