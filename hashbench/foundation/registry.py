"""Catalogues: each file in a folder is an entry, named by its file name; other packages add entries by entry points."""

import pkgutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from hashbench.foundation.errors import HashbenchError, one_line, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS = "hashbench."  # the prefix of the entry point groups that other packages may declare

K = TypeVar("K")
T = TypeVar("T")
Broken = Callable[[HashbenchError], object]  # called with the error of an entry that cannot be loaded


@lru_cache(maxsize=10_000)
def canonical(name: str) -> str:
    """The name as it is spelled in files and rows: lower case, ``_`` for ``-``."""
    return name.strip().lower().replace("-", "_")


def refuse(error: HashbenchError) -> NoReturn:
    """Raises the error: for callers that need every entry."""
    raise error


def each_usable(names: Iterable[K], load: Callable[[K], T], broken: Broken) -> Iterator[tuple[K, T]]:
    """Each name with its loaded entry; one that cannot be loaded is left out, and its error is given to ``broken``."""
    for name in names:
        try:
            entry = load(name)
        except HashbenchError as error:
            broken(error)
        else:
            yield name, entry


class OutsideError(HashbenchError):
    """An entry of another package that cannot be used; the message names the package."""


@dataclass(frozen=True)
class OutsideEntry:
    """An entry point and the package that declares it (``package`` holds its name and version)."""

    package: str
    point: "EntryPoint"

    def __str__(self) -> str:
        """The entry point as the package's pyproject.toml declares it."""
        return f"{self.package}: {self.point.group}: {self.point.name} = {self.point.value!r}"

    def load(self, expected: type[T]) -> T:
        """The imported object; raises OutsideError if it cannot be imported or is not an instance of ``expected``."""
        entry = self._tried(self.point.load)
        if not isinstance(entry, expected):
            raise OutsideError(f"{self}: a {type(entry).__name__}; a {expected.__name__} is expected")
        return entry

    def folder(self) -> Path:
        """The folder of its module, which is not imported; raises OutsideError if there is no such module."""
        spec = self._tried(lambda: find_spec(self.point.module))  # it imports the package that contains the module
        if spec is None or spec.origin is None:
            raise OutsideError(f"{self}: there is no such module")
        return Path(spec.origin).parent

    def _tried(self, imports: Callable[[], T]) -> T:
        try:
            return imports()
        except (Exception, SystemExit) as error:  # another package's code may raise anything
            reason = f"{type(error).__name__}: {one_line(error)}"
            raise OutsideError(f"{self}: cannot be imported ({reason})") from None


@dataclass(frozen=True)
class Catalogue(Generic[T]):
    """All entries of one kind, by name; listing the names imports nothing."""

    kind: str
    package: str  # an entry is a public module of it
    attribute: str  # that it exports
    entry_type: type[T]
    group: str | None = None  # of the entry points with which other packages add entries; None: they cannot

    @cached_property
    def names(self) -> list[str]:
        """The names of all entries, sorted. Modules whose names start with an underscore are not entries."""
        return sorted({*self._own, *self.outside})

    @cached_property
    def _own(self) -> set[str]:
        spec = find_spec(self.package)
        assert spec is not None and spec.submodule_search_locations is not None
        modules = pkgutil.iter_modules(spec.submodule_search_locations)
        return {module.name for module in modules if not module.name.startswith("_")}

    @cached_property
    def outside(self) -> dict[str, list[OutsideEntry]]:
        """The entries of other packages by name; a list, because several packages may declare the same name."""
        if self.group is None:
            return {}
        return entry_points().get(self.group, {})

    def __contains__(self, name: str) -> bool:
        return canonical(name) in self.names

    def get(self, name: str) -> T:
        """The entry called ``name``; HashbenchError if there is none, OutsideError if it cannot be used."""
        stem = canonical(name)
        if stem not in self.names:
            raise unknown(self.kind, name, self.names)
        outside = self._only(stem)
        if outside is not None:
            return outside.load(self.entry_type)
        try:
            entry = getattr(import_module(f"{self.package}.{stem}"), self.attribute)
        except (HashbenchError, ImportError):
            raise
        except Exception as error:  # whatever the file of a new entry does when it is imported
            raise HashbenchError(f"{self.kind} {stem}: {_place_of(error)}: {one_line(error)}") from error
        assert isinstance(entry, self.entry_type)
        return entry

    def usable(self) -> Iterator[tuple[str, T]]:
        """All entries with their names, except those of other packages that cannot be loaded."""
        return each_usable(self.names, self.get, lambda _: None)

    def provider(self, name: str) -> str | None:
        """The name and version of the package that declares the entry ``name``; None for an entry of hashbench."""
        if (outside := self._only(canonical(name))) is None:
            return None
        return outside.package

    def folder(self, name: str) -> Path | None:
        """The folder of the module in which another package defines the entry; None for an entry of hashbench."""
        if (outside := self._only(canonical(name))) is None:
            return None
        return outside.folder()

    def _only(self, stem: str) -> OutsideEntry | None:
        """The one entry point of that name; None for an entry of hashbench; OutsideError if several declare it."""
        declared = self.outside.get(stem, [])
        if declared and not (stem.isascii() and stem.isidentifier()):  # the name becomes part of file names
            raise OutsideError(f"{declared[0]}: a name of letters, digits and _ is expected, a letter first")
        if len(declared) + (stem in self._own) < 2:
            return next(iter(declared), None)
        packages = [outside.package for outside in declared]
        advice = f"uninstall {' or '.join(packages)}"
        if stem in self._own:
            packages.insert(0, "hashbench")
        raise OutsideError(f"{self.kind} {stem}: {' and '.join(packages)} each have one of this name: {advice}")


def _place_of(error: Exception) -> str:
    """The file and the line of an error while a module was imported."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{last.filename}:{last.lineno}"


@cache
def entry_points() -> dict[str, dict[str, list[OutsideEntry]]]:
    """The entry points that installed packages declare for hashbench, by group and name; no package is imported."""
    from importlib.metadata import distributions

    by_group: dict[str, dict[str, list[OutsideEntry]]] = {}
    seen: set[str] = set()
    for distribution in distributions():
        try:  # most packages declare none; then the file is not even parsed
            if f"[{GROUPS}" not in (distribution.read_text("entry_points.txt") or ""):
                continue
            points = [point for point in distribution.entry_points if point.group.startswith(GROUPS)]
            name = str(distribution.name)
            package = f"{name} {distribution.version}"
        except Exception:  # noqa: S112  (a damaged package that has nothing to do with hashbench must not stop it)
            continue
        if canonical(name) in seen:  # the first on sys.path hides others, as in imports
            continue
        seen.add(canonical(name))
        for point in points:
            entries = by_group.setdefault(point.group, {}).setdefault(canonical(point.name), [])
            entries.append(OutsideEntry(package, point))
    return by_group
