"""The declared figures: the keys of their files in experiments/figures/, their kinds, and the cells they need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import Catalogue, canonical
from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.figures._drawing import Drawing
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell, Group, TableFile
from hashbench.showing.tables.papers import OWN
from hashbench.showing.tables.spec import TableSpec, check_names


class FigureFile(Strict):
    """The keys that every figure has; ``kind`` is the file of hashbench/showing/figures that draws it."""

    kind: str
    title: str
    paper: str = OWN  # a key of experiments/papers.toml
    source: str = ""  # which figure of which paper; of our own, the name of the file
    notes: list[str] = []
    width: Literal["column", "page"] = "page"  # of one column of a paper, or of both


class CellsFile(FigureFile, TableFile):
    """A figure made of cells: those of a declared ``table``, or its own, which are written as in a table's file."""

    table: str | None = None
    sections: list[str] = []  # as rows and columns: labels of the table's cells that are drawn; empty: all
    rows: list[str] = []
    columns: list[str] = []
    groups: list[Group] = []
    panels_across: int = Field(default=3, ge=1, le=8)


@dataclass(frozen=True)
class FigureSpec:
    """A declared figure; ``name`` is the stem of its file, and ``file`` its keys, of the type that its kind names."""

    name: str
    path: Path
    file: Any
    kind: "Kind"
    table: TableSpec | None  # the cells that must be run for it; None where it is drawn without runs of its own

    @property
    def cells(self) -> list[Cell]:
        """The cells that must be run for it; none where it is drawn without runs of its own."""
        return [] if self.table is None else self.table.cells

    def fill(self, rows: Sequence[Row], store: Store) -> Drawing:
        return self.kind.fill(self, rows, store)

    def error(self, message: str) -> HashbenchError:
        return HashbenchError(f"{self.path}: {message}")


@dataclass(frozen=True)
class Kind:
    """A kind of figure: the keys of its file, and the function that fills it from stored rows."""

    summary: str
    file: type[FigureFile]
    fill: Callable[[FigureSpec, Sequence[Row], Store], Drawing]
    check: Callable[[FigureSpec], None]  # raises HashbenchError for a declaration that it cannot draw


KINDS = Catalogue("kind of figure", "hashbench.showing.figures", "KIND", Kind)


def names() -> list[str]:
    """The declared figures, sorted."""
    return list(paths.entries("experiments", "figures"))


def names_with_own_cells() -> list[str]:
    """The figures whose cells no table declares, sorted."""
    files = paths.entries("experiments", "figures")
    tables = spec.names()
    return [name for name, path in files.items() if name not in tables and "groups" in read_toml(path)]


def load(name: str) -> FigureSpec:
    """The figure called ``name``; HashbenchError for an unknown figure, kind, table or label, and for a wrong file."""
    stem = canonical(name)
    files = paths.entries("experiments", "figures")
    if stem not in files:
        raise unknown("figure", name, files)
    path = files[stem]
    values = {"source": stem, **read_toml(path)}
    named = str(values.get("kind", ""))
    if named not in KINDS.names:
        raise HashbenchError(f"{path}: kind: {unknown('kind of figure', named, KINDS.names)}")
    kind = KINDS.get(named)
    file = parse(kind.file, values, str(path))
    table = _table(stem, file, path) if isinstance(file, CellsFile) else None
    figure = FigureSpec(stem, path, file, kind, table)
    kind.check(figure)
    return figure


def cells_of(name: str) -> TableSpec:
    """The cells to run for a table or a figure: NAME or NAME@BUDGET; HashbenchError if none."""
    declared, _, budget = name.partition("@")
    stem = canonical(declared)
    tables = spec.names()
    if stem in tables:
        return spec.load(name)
    if stem not in names():
        raise unknown("table", declared, {*tables, *names()})
    table = load(stem).table
    if table is None:
        raise HashbenchError(f"figure {stem}: it has no cells to run")
    if budget:
        table = table.at_budget(budget)
    return table


def _table(name: str, file: CellsFile, path: Path) -> TableSpec:
    if (file.table is None) == (not file.groups):
        raise HashbenchError(f"{path}: either table, the name of a table, or groups of its own cells are expected")
    if file.table is None:
        table = spec.from_file(name, file, path)
        check_names(table)
    else:
        table = spec.load(file.table)
    cells = table.cells
    for axis in ("section", "row", "column"):
        wanted = getattr(file, f"{axis}s")
        there = {getattr(cell, axis) for cell in cells}
        for label in wanted:
            if label not in there:
                raise HashbenchError(f"{path}: {axis}s: {unknown(f'{axis} of table {table.name}', label, there)}")
        cells = [cell for cell in cells if not wanted or getattr(cell, axis) in wanted]
    return table.model_copy(update={"name": name, "title": file.title, "notes": file.notes, "cells": cells})
