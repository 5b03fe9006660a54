"""The declared figures, loaded from experiments/figures/, and the cells that must be run for them."""

from pathlib import Path
from typing import Any

from hashbench.figures._file import CellsFile, FigureFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.foundation import paths
from hashbench.foundation.config import parse, read_toml
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import Catalogue, canonical
from hashbench.tables import spec
from hashbench.tables.names import check_names
from hashbench.tables.spec import TableSpec

KINDS = Catalogue("kind of figure", "hashbench.figures", "KIND", Kind)


def names() -> list[str]:
    """The declared figures, sorted."""
    return list(_files())


def names_with_own_cells() -> list[str]:
    """The figures whose cells no table declares, sorted."""
    tables = spec.names()
    return [name for name, path in _files().items() if name not in tables and "groups" in read_toml(path)]


def load(name: str) -> FigureSpec:
    """The figure called ``name``.

    Raises HashbenchError for an unknown figure, kind, table, label or name of a cell, and for a wrong file.
    """
    stem, files = canonical(name), _files()
    if stem not in files:
        raise unknown("figure", name, files)
    path = files[stem]
    values = read_toml(path)
    kind = _kind(values, path)
    file = parse(kind.file, values, str(path))
    figure = FigureSpec(stem, path, file, kind, _cells(stem, file, path))
    kind.check(figure)
    return figure


def cells_of(name: str, budget: str | None = None, splits: int = 1) -> TableSpec:
    """The cells of the table, or else of the figure, called ``name``: what must be run for it on so many splits.

    Raises HashbenchError if there is neither, and for a figure that needs no run.
    """
    stem, tables = canonical(name), spec.names()
    if stem in tables:
        return spec.load(name, budget, splits)
    if stem not in names():
        raise unknown("table", name, {*tables, *names()})
    cells = load(stem).cells
    if cells is None:
        raise HashbenchError(f"figure {stem}: it has no cells to run")
    return (cells if budget is None else cells.at_budget(budget)).on_splits(splits)


def _files() -> dict[str, Path]:
    return paths.entries("experiments", "figures")


def _kind(values: dict[str, Any], path: Path) -> Kind:
    named = values.get("kind")
    if not isinstance(named, str):
        raise HashbenchError(f"{path}: kind: the kind of figure is expected, one of {', '.join(KINDS.names)}")
    if named not in KINDS.names:
        raise HashbenchError(f"{path}: kind: {unknown('kind of figure', named, KINDS.names)}")
    return KINDS.get(named)


def _cells(name: str, file: FigureFile, path: Path) -> TableSpec | None:
    """The cells that a figure shows; None for a kind that is not made of cells."""
    if not isinstance(file, CellsFile):
        return None
    if (file.table is None) == (not file.groups):
        raise HashbenchError(f"{path}: either table, the name of a table, or groups of its own cells are expected")
    if file.table is None:
        own = spec.from_file(name, file, path)
        check_names(name, own.cells, own.to_come)
    else:
        own = spec.load(file.table)
    return _selected(own, file, path).model_copy(update={"name": name, "title": file.title, "notes": file.notes})


def _selected(table: TableSpec, file: CellsFile, path: Path) -> TableSpec:
    """The table with those of its cells that the figure's file selects, in the table's order."""
    cells = table.cells
    for key, axis in (("sections", "section"), ("rows", "row"), ("columns", "column")):
        wanted = getattr(file, key)
        there = dict.fromkeys(getattr(cell, axis) for cell in cells)
        for label in wanted:
            if label not in there:
                raise HashbenchError(f"{path}: {key}: {unknown(f'{axis} of table {table.name}', label, there)}")
        cells = [cell for cell in cells if not wanted or getattr(cell, axis) in wanted]
    return table.model_copy(update={"cells": cells})
