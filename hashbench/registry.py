"""Catalogues: folders in which a file is an entry and its stem the entry's name."""

import pkgutil
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Generic, TypeVar

from hashbench.errors import unknown

T = TypeVar("T")


def canonical(name: str) -> str:
    """The name as files and rows spell it: on the command line ``-`` and ``_`` are one.

    >>> canonical("TALR-AP")
    'talr_ap'
    """
    return name.strip().lower().replace("-", "_")


@dataclass(frozen=True)
class Catalogue(Generic[T]):
    """The entries of one package: each public module exports ``attribute``.

    Listing imports nothing; an entry's module is imported when it is asked for. Adding an entry is
    adding a file.
    """

    kind: str
    package: str
    attribute: str
    entry_type: type[T]

    @cached_property
    def names(self) -> list[str]:
        """All entries, sorted; modules with a leading underscore are machinery."""
        spec = find_spec(self.package)
        assert spec is not None and spec.submodule_search_locations is not None
        found = pkgutil.iter_modules(spec.submodule_search_locations)
        return sorted(module.name for module in found if not module.name.startswith("_"))

    def __contains__(self, name: str) -> bool:
        return canonical(name) in self.names

    def get(self, name: str) -> T:
        """The entry called ``name``; raises HashbenchError with the nearest names."""
        stem = canonical(name)
        if stem not in self.names:
            raise unknown(self.kind, name, self.names)
        entry = getattr(import_module(f"{self.package}.{stem}"), self.attribute)
        assert isinstance(entry, self.entry_type)
        return entry
