"""Catalogues: folders in which a file is an entry and its stem the entry's name; and the entries of other packages."""

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from hashbench.errors import HashbenchError, one_line, unknown

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

GROUPS = "hashbench."  # how the groups of entry points begin that other packages may declare

T = TypeVar("T")


def canonical(name: str) -> str:
    """The name as files and rows spell it: on the command line ``-`` and ``_`` are one.

    >>> canonical("TALR-AP")
    'talr_ap'
    """
    return name.strip().lower().replace("-", "_")


class OutsideError(HashbenchError):
    """An entry of another package that cannot be used; the message names the package."""


@dataclass(frozen=True)
class OutsideEntry:
    """An entry point, and the package that declares it, with its version."""

    package: str
    point: "EntryPoint"

    def __str__(self) -> str:
        """As the package's pyproject.toml has it."""
        return f"{self.package}: {self.point.group}: {self.point.name} = {self.point.value!r}"

    def load(self, expected: type[T]) -> T:
        """What it points to; raises OutsideError where that cannot be imported or is of another type."""
        try:
            entry = self.point.load()
        except (Exception, SystemExit) as error:  # somebody else's code may raise anything
            raise self._unimportable(error) from None
        if not isinstance(entry, expected):
            raise OutsideError(f"{self}: a {type(entry).__name__}; a {expected.__name__} is expected")
        return entry

    def folder(self) -> Path:
        """The folder that its module is in, without importing the module; OutsideError where there is none."""
        try:
            spec = find_spec(self.point.module)
        except (Exception, SystemExit) as error:  # the package that the module is in is imported
            raise self._unimportable(error) from None
        if spec is None or spec.origin is None:
            raise OutsideError(f"{self}: there is no such module")
        return Path(spec.origin).parent

    def _unimportable(self, error: BaseException) -> OutsideError:
        return OutsideError(f"{self}: cannot be imported ({type(error).__name__}: {one_line(error)})")


@dataclass(frozen=True)
class Catalogue(Generic[T]):
    """The entries of one package, each public module exporting ``attribute``; and those that other packages bring.

    Another package declares its entries as entry points of ``group``, each under its name; without a group none may.
    Listing imports nothing; an entry's module is imported when it is asked for. Adding an entry is adding a file.
    """

    kind: str
    package: str
    attribute: str
    entry_type: type[T]
    group: str | None = None

    @cached_property
    def names(self) -> list[str]:
        """All entries, sorted; modules with a leading underscore are machinery."""
        return sorted({*self._own, *self.outside})

    @cached_property
    def _own(self) -> set[str]:
        spec = find_spec(self.package)
        assert spec is not None and spec.submodule_search_locations is not None
        found = pkgutil.iter_modules(spec.submodule_search_locations)
        return {module.name for module in found if not module.name.startswith("_")}

    @cached_property
    def outside(self) -> dict[str, list[OutsideEntry]]:
        """The entries of other packages by name; more than one where packages chose the same."""
        return {} if self.group is None else entry_points().get(self.group, {})

    def __contains__(self, name: str) -> bool:
        return canonical(name) in self.names

    def get(self, name: str) -> T:
        """The entry called ``name``; raises HashbenchError with the nearest names.

        Raises OutsideError for an entry of another package that cannot be imported or is none of this kind, and for a
        name that two packages have.
        """
        stem = canonical(name)
        if stem not in self.names:
            raise unknown(self.kind, name, self.names)
        outside = self._only(stem)
        if outside is not None:
            return outside.load(self.entry_type)
        entry = getattr(import_module(f"{self.package}.{stem}"), self.attribute)
        assert isinstance(entry, self.entry_type)
        return entry

    def usable(self) -> Iterator[tuple[str, T]]:
        """All entries by name, without those of other packages that cannot be used."""
        for name in self.names:
            try:
                entry = self.get(name)
            except OutsideError:
                continue
            yield name, entry

    def provider(self, name: str) -> str | None:
        """The package that the entry called ``name`` comes from, with its version; None where it is of hashbench."""
        outside = self._only(canonical(name))
        return None if outside is None else outside.package

    def folder(self, name: str) -> Path | None:
        """The folder of the module that another package has the entry in; None where the entry is of hashbench."""
        outside = self._only(canonical(name))
        return None if outside is None else outside.folder()

    def _only(self, stem: str) -> OutsideEntry | None:
        """The entry point of that name; None for an entry of hashbench, OutsideError where several packages have it."""
        declared = self.outside.get(stem, [])
        if declared and not (stem.isascii() and stem.isidentifier()):  # it becomes part of file names
            raise OutsideError(f"{declared[0]}: a name of letters, digits and _ is expected, a letter first")
        if len(declared) + (stem in self._own) < 2:
            return declared[0] if declared else None
        packages = [outside.package for outside in declared]
        everybody = " and ".join([*(["hashbench"] if stem in self._own else []), *packages])
        raise OutsideError(
            f"{self.kind} {stem}: {everybody} each have one of this name: uninstall {' or '.join(packages)}"
        )


@cache
def entry_points() -> dict[str, dict[str, list[OutsideEntry]]]:
    """What the installed packages declare for hashbench: by group and name; looked up once, and nothing is imported."""
    from importlib.metadata import distributions

    found: dict[str, dict[str, list[OutsideEntry]]] = {}
    seen: set[str] = set()
    for distribution in distributions():
        entries = _declared(distribution)
        package = canonical(str(distribution.name)) if entries else ""
        for entry in entries if package not in seen else []:  # as in imports, the first on the path hides the others
            found.setdefault(entry.point.group, {}).setdefault(canonical(entry.point.name), []).append(entry)
        seen.add(package)
    return found


def _declared(distribution: "Distribution") -> list[OutsideEntry]:
    """The entry points of groups of hashbench; most distributions have none, and then nothing is parsed."""
    try:
        if f"[{GROUPS}" not in (distribution.read_text("entry_points.txt") or ""):
            return []
        package = f"{distribution.name} {distribution.version}"
        return [OutsideEntry(package, point) for point in distribution.entry_points if point.group.startswith(GROUPS)]
    except Exception:  # metadata that cannot be read is of a damaged package, which nothing here asked for
        return []
