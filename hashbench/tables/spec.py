"""What a table file declares: a list of cells, each with what must be run to fill it and what was published."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench import paths
from hashbench.config import Setting, Strict, parse, read_toml
from hashbench.errors import HashbenchError, unknown
from hashbench.registry import canonical
from hashbench.runs import hyperparameters
from hashbench.tables.names import check_names

PrintedAs = Literal["fraction", "percent", "number"]


class CellKeys(Strict):
    """The keys of a cell; a table, a group, a column and a row each give some, the later ones win."""

    section: str | None = None
    dataset: str | None = None
    protocol: str | None = None
    method: str | None = None
    settings: dict[str, Setting] = {}
    metric: str | None = None
    # which items the queries search: the protocol's database or, of sparse codes, each other
    evaluation: Literal["database", "test"] | None = None
    budget: str | None = None
    tolerance: float | None = None  # how far the measured mean may lie from the published value
    tie_aware: bool | None = None  # whether the published figure is
    citation: str | None = None  # key of the paper that printed the figure, where it is not the table's
    printed_as: PrintedAs | None = None


class Column(CellKeys):
    """A column: its label and the keys it gives to its cells."""

    label: str


class Line(CellKeys):
    """A row: its label, the keys it gives to its cells, the published values as the paper prints them."""

    label: str
    values: list[float | Literal["-"]] = []  # "-" where the paper prints none; empty: no published row


class Group(CellKeys):
    """Cells that form a block: every row crossed with every column."""

    columns: list[Column] = Field(min_length=1)
    rows: list[Line] = Field(min_length=1)


class TableFile(Strict):
    """A file of experiments/tables/."""

    title: str
    paper: str  # key in the architecture's list of papers, or "hashbench" for our own tables
    source: str  # which table of which paper
    notes: list[str] = []  # footnotes, printed under every rendering
    # names that cells use and that no file of the catalogues defines yet; a name may be in one place only
    methods_to_come: list[str] = []
    datasets_to_come: list[str] = []
    protocols_to_come: list[str] = []  # dataset/protocol, where the data set's card exists without it
    metrics_to_come: list[str] = []
    models_to_come: list[str] = []
    defaults: CellKeys = CellKeys()
    groups: list[Group] = Field(min_length=1)


class Cell(Strict):
    """One cell: where it stands, what fills it, what was published there (a fraction, never a percent)."""

    section: str
    row: str
    column: str
    dataset: str
    protocol: str
    method: str
    settings: dict[str, Setting]
    metric: str
    evaluation: Literal["database", "test"]
    budget: str
    tolerance: float | None
    published: float | None
    tie_aware: bool | None
    citation: str
    printed_as: PrintedAs


class TableSpec(Strict):
    """A table with its cells in order of appearance; ``name`` is the file's stem."""

    name: str
    title: str
    paper: str
    source: str
    notes: list[str]
    to_come: dict[str, list[str]]  # kind -> names without an entry yet
    cells: list[Cell]
    stand_in: str | None = None  # the budget that all cells are run at, where it is not the table's own

    def at(self, budget: str) -> "TableSpec":
        """The table with every cell run at another budget, which a rendering of it says; none has to be as published.

        Raises HashbenchError where a method does not have that budget.
        """
        for method in sorted({cell.method for cell in self.cells}):
            hyperparameters.load(method).budget(budget)
        cells = [cell.model_copy(update={"budget": budget, "tolerance": None}) for cell in self.cells]
        names = {"name": f"{self.name}_{budget}", "title": f"{self.title}, at budget {budget}"}
        return self.model_copy(update={"cells": cells, "stand_in": budget, **names})


FALLBACK = {
    "section": "",
    "settings": {},
    "evaluation": "database",
    "budget": "full",
    "printed_as": "fraction",
}


def names() -> list[str]:
    """The declared tables, sorted."""
    return sorted(path.stem for path in (paths.root() / "experiments" / "tables").glob("*.toml"))


def load(name: str, budget: str | None = None) -> TableSpec:
    """The table called ``name``, at another ``budget`` than its own where one is given.

    Raises HashbenchError for an unknown one or a file that is not as it should be. So does a cell that names what
    neither exists nor is said to be to come.
    """
    stem = canonical(name)
    if stem not in names():
        raise unknown("table", name, names())
    path = paths.root() / "experiments" / "tables" / f"{stem}.toml"
    spec = expand(stem, parse(TableFile, read_toml(path), str(path)), path)
    check_names(spec)
    return spec if budget is None else spec.at(budget)


def expand(name: str, file: TableFile, path: Path) -> TableSpec:
    """The list of cells that a file's groups stand for."""
    to_come = {
        "method": file.methods_to_come,
        "dataset": file.datasets_to_come,
        "protocol": file.protocols_to_come,
        "metric": file.metrics_to_come,
        "model": file.models_to_come,
    }
    cells = list(_cells(file, path))
    return TableSpec(
        name=name,
        title=file.title,
        paper=file.paper,
        source=file.source,
        notes=file.notes,
        to_come=to_come,
        cells=cells,
    )


def _cells(file: TableFile, path: Path) -> Iterator[Cell]:
    for group in file.groups:
        for line in group.rows:
            if line.values and len(line.values) != len(group.columns):
                raise HashbenchError(
                    f"{path}: row {line.label!r} has {len(line.values)} values for {len(group.columns)} columns"
                )
            published = line.values or ["-"] * len(group.columns)
            for column, value in zip(group.columns, published, strict=True):
                keys = _inherit(file.defaults, group, column, line)
                where = f"{path}: cell ({line.label}, {column.label})"
                yield parse(Cell, _cell(file, keys, line.label, column.label, value), where)


def _inherit(*layers: CellKeys) -> dict[str, Any]:
    merged: dict[str, Any] = dict(FALLBACK)
    for layer in layers:
        given = layer.model_dump(include=set(CellKeys.model_fields), exclude_none=True)
        given["settings"] = {**merged["settings"], **given.get("settings", {})}
        merged.update(given)
    return merged


def _cell(file: TableFile, keys: dict[str, Any], row: str, column: str, value: float | str) -> dict[str, Any]:
    # dividing by 100 exactly as decimal text does: 62.64 -> 0.6264, not 0.6264000000000001
    published = None if value == "-" else float(value)
    if published is not None and keys["printed_as"] == "percent":
        published = round(published / 100, 10)
    return {
        "tolerance": None,
        "tie_aware": None,
        "citation": file.paper,
        **keys,
        "row": row,
        "column": column,
        "published": published,
    }
