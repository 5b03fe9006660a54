"""A declared table: its cells and what is said about it, loaded from experiments/tables/."""

from pathlib import Path

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.registry import canonical
from hashbench.runs import hyperparameters
from hashbench.tables.cell import Cell, OtherBudget, TableFile
from hashbench.tables.names import check_names


class TableSpec(Strict):
    """A table with its cells in order of appearance; ``name`` is the stem of its file."""

    name: str
    title: str
    paper: str
    source: str
    notes: list[str]
    to_come: dict[str, list[str]]  # kind -> names that hashbench does not have yet
    cells: list[Cell]
    distinct: bool = False  # the number of distinct codes stands beside each AP
    substitute_budget: str | None = None  # the budget of all cells, where it is not the one that the file declares
    n_splits: int = 1  # the splits on which each cell is measured; the first is the protocol's own

    def on_splits(self, n: int) -> "TableSpec":
        """The same table with every cell measured on ``n`` splits; its name and title say so."""
        changes = {"name": f"{self.name}_splits{n}", "title": f"{self.title}, on {n} splits", "n_splits": n}
        return self if n == 1 else self.model_copy(update=changes)

    def at_budget(self, budget: str) -> "TableSpec":
        """The same table with every cell run at another budget.

        Its name, title and footnotes say so, and no cell has a tolerance: the published values are not those of this
        budget. Raises HashbenchError where a method does not have that budget.
        """
        for method in sorted({cell.method for cell in self.cells}):
            hyperparameters.load(method).budget(budget)
        return self.model_copy(
            update={
                "name": f"{self.name}_{budget}",
                "title": f"{self.title}, at budget {budget}",
                "cells": [cell.model_copy(update={"budget": budget, "tolerance": None}) for cell in self.cells],
                "substitute_budget": budget,
            }
        )


def names() -> list[str]:
    """The declared tables, sorted."""
    return list(_files())


def load(name: str, budget: str | None = None, splits: int = 1) -> TableSpec:
    """The table called ``name``, measured on so many splits; with ``budget``, all its cells at that budget.

    Raises HashbenchError for an unknown table, for a file that is not as it should be, and for a cell that uses a
    name which neither exists nor is listed as to come.
    """
    stem, files = canonical(name), _files()
    if stem not in files:
        raise unknown("table", name, files)
    path = files[stem]
    values = read_toml(path)
    if "of" in values:
        spec = _of_other(stem, parse(OtherBudget, values, str(path)), path)
    else:
        spec = from_file(stem, parse(TableFile, values, str(path)), path)
        check_names(spec.name, spec.cells, spec.to_come)
    return (spec if budget is None else spec.at_budget(budget)).on_splits(splits)


def files_of(name: str) -> list[Path]:
    """The files that declare the table ``name``: its own, and that of the table which it is at another budget."""
    found = [_files()[name]]
    of = read_toml(found[0]).get("of")
    return found if of is None else [*found, _files()[of]]


def _of_other(name: str, file: OtherBudget, path: Path) -> TableSpec:
    """The table of another file at another budget, called ``name``."""
    files = _files()
    if file.of not in files:
        raise HashbenchError(f"{path}: of: {unknown('table', file.of, files)}")
    if "of" in read_toml(files[file.of]):
        raise HashbenchError(f"{path}: of: {file.of} is itself another table at another budget: name that one")
    other = load(file.of).at_budget(file.budget)
    return other.model_copy(update={"name": name, "notes": [*other.notes, *file.notes]})


def from_file(name: str, file: TableFile, path: Path) -> TableSpec:
    """The table that a file declares; its names are not checked."""
    return TableSpec(
        name=name,
        title=file.title,
        paper=file.paper,
        source=file.source,
        notes=file.notes,
        to_come=file.to_come,
        cells=list(file.cells(path)),
        distinct=file.distinct,
    )


def _files() -> dict[str, Path]:
    return paths.entries("experiments", "tables")
