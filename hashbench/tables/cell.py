"""One cell of a table, and a file of experiments/tables/ that declares a list of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench.foundation.config import Setting, Strict, canonical_json, parse
from hashbench.foundation.errors import HashbenchError

Evaluation = Literal["database", "weighted", "test"]
PrintedAs = Literal["fraction", "percent", "number"]


class Cell(Strict):
    """One cell, with every key given; ``row`` and ``column`` are the labels that say where it stands.

    ``published`` is the paper's value as a fraction, never a percent; None where the paper prints none.
    """

    section: str
    row: str
    column: str
    dataset: str
    protocol: str
    method: str
    settings: dict[str, Setting]
    metric: str
    # what the queries search: the database, also by weighted distances, or (sparse codes only) each other
    evaluation: Evaluation
    budget: str
    tolerance: float | None  # how far the measured mean may be from the published value
    published: float | None
    tie_aware: bool | None  # whether the published value takes ties into account
    citation: str  # key of the paper that printed the value
    printed_as: PrintedAs

    @property
    def run_key(self) -> str:
        """What two cells share if they need the same runs: they differ in their metric or their place only."""
        return canonical_json([self.dataset, self.protocol, self.method, self.settings, self.budget])


class CellKeys(Strict):
    """The keys of a cell. The file, a group, a column and a row each give some; a later one replaces an earlier one."""

    section: str | None = None
    dataset: str | None = None
    protocol: str | None = None
    method: str | None = None
    settings: dict[str, Setting] = {}  # these are merged key by key
    metric: str | None = None
    evaluation: Evaluation | None = None
    budget: str | None = None
    tolerance: float | None = None
    tie_aware: bool | None = None
    citation: str | None = None  # where it is another paper than the table's
    printed_as: PrintedAs | None = None


DEFAULTS: dict[str, Any] = {
    "section": "",
    "settings": {},
    "evaluation": "database",
    "budget": "full",
    "printed_as": "fraction",
}


class FileColumn(CellKeys):
    """A column: its label and the keys that it gives to its cells."""

    label: str


class FileRow(CellKeys):
    """A row: its label, the keys that it gives to its cells, and the published values as the paper prints them."""

    label: str
    values: list[float | Literal["-"]] = []  # "-" where the paper prints none; empty: the paper has no such row


class Group(CellKeys):
    """Cells that form a block: every row crossed with every column."""

    columns: list[FileColumn] = Field(min_length=1)
    rows: list[FileRow] = Field(min_length=1)


class OtherBudget(Strict):
    """A file that declares the table ``of`` another file at another budget; ``notes`` come after that table's own."""

    of: str
    budget: str
    notes: list[str] = []


class TableFile(Strict):
    """A whole file. The lists ``..._to_come`` hold names that cells use and that hashbench does not have yet."""

    title: str
    paper: str  # a key of experiments/papers.toml
    source: str  # which table of which paper
    notes: list[str] = []  # footnotes, printed under the table in every format
    distinct: bool = False  # the number of distinct codes stands beside each AP, as with the option --distinct
    methods_to_come: list[str] = []
    datasets_to_come: list[str] = []
    protocols_to_come: list[str] = []  # written dataset/protocol, where the data set exists without it
    metrics_to_come: list[str] = []
    models_to_come: list[str] = []
    defaults: CellKeys = CellKeys()
    groups: list[Group] = Field(min_length=1)

    @property
    def to_come(self) -> dict[str, list[str]]:
        """The names to come of each kind."""
        return {
            "method": self.methods_to_come,
            "dataset": self.datasets_to_come,
            "protocol": self.protocols_to_come,
            "metric": self.metrics_to_come,
            "model": self.models_to_come,
        }

    def cells(self, path: Path) -> Iterator[Cell]:
        """The cells of all groups, row by row; ``path`` is where the file is, for error messages.

        Raises HashbenchError for a cell without a key that it needs, and for a row with too few or too many values.
        """
        for group in self.groups:
            for row in group.rows:
                for column, value in zip(group.columns, _values(row, len(group.columns), path), strict=True):
                    keys = _merged(self.defaults, group, column, row)
                    where = f"{path}: cell ({row.label}, {column.label})"
                    yield parse(Cell, self._cell(keys, row.label, column.label, value), where)

    def _cell(self, keys: dict[str, Any], row: str, column: str, value: float | Literal["-"]) -> dict[str, Any]:
        return {
            "tolerance": None,
            "tie_aware": None,
            "citation": self.paper,
            **keys,
            "row": row,
            "column": column,
            "published": _fraction(value, keys["printed_as"]),
        }


def _values(row: FileRow, n_columns: int, path: Path) -> list[float | Literal["-"]]:
    """One published value for each column."""
    if row.values and len(row.values) != n_columns:
        raise HashbenchError(f"{path}: row {row.label!r} has {len(row.values)} values for {n_columns} columns")
    return row.values or ["-"] * n_columns


def _merged(*layers: CellKeys) -> dict[str, Any]:
    merged = dict(DEFAULTS)
    for layer in layers:
        given = layer.model_dump(include=set(CellKeys.model_fields), exclude_none=True)
        given["settings"] = {**merged["settings"], **given.get("settings", {})}
        merged.update(given)
    return merged


def _fraction(value: float | Literal["-"], printed_as: PrintedAs) -> float | None:
    if value == "-":
        return None
    # 62.64 / 100 is 0.6264000000000001 in binary; rounded it is what decimal text gives, 0.6264
    return round(float(value) / 100, 10) if printed_as == "percent" else float(value)
