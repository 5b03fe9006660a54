"""One cell of a table, and a file of experiments/tables/ that declares a list of them."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from hashbench.foundation.config import Setting, Strict, canonical_json, parse
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.learning.contract import BitSettings
from hashbench.running.datasets.card import Card, load_card
from hashbench.running.runs.row import HEADINGS, IMPORTED, Search
from hashbench.scoring.metrics import MetricName, NamedMetric
from hashbench.showing.tables.papers import OWN

PrintedAs = Literal["fraction", "percent", "number"]
Repeats = Literal["seeds", "splits"]  # what changes from one run of a cell to the next
CELLS = "cells"  # in place of the figure that is a table's picture: dots of all its cells
Published = float | Literal["-"]  # "-" where the paper prints none


class Cell(Strict):
    """One cell, with every key given; ``row`` and ``column`` are the labels of its place.

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
    evaluation: Search
    budget: str
    recipe: str | None  # whose settings it has: the recipe of this name, our defaults; None: the recipe of its task
    tolerance: float | None  # how far the measured mean may be from the published value
    no_tolerance: str | None = None  # why there is none
    fitted: str | None = None  # the settings that were chosen by what the paper prints
    published: float | None
    tie_aware: bool | None  # whether the published value takes ties into account
    citation: str  # key of the paper that printed the value
    printed_as: PrintedAs

    @cached_property
    def run_key(self) -> str:
        """The same text for two cells that need the same runs."""
        return canonical_json([self.dataset, self.protocol, self.method, self.settings, self.budget, self.recipe])

    @property
    def card(self) -> Card:
        """The card of its data set; raises HashbenchError if there is none."""
        return load_card(self.dataset)

    @property
    def is_ap(self) -> bool:
        """Whether it is the AP of the whole ranking by Hamming distance."""
        return self.metric == "ap" and self.evaluation == "database"

    @property
    def measure(self) -> str | None:
        """What is kept of each query, by its name in the row: AP, or a recall; None of a cell of another metric."""
        if self.is_ap or self.metric_name.metric == "recall":
            return HEADINGS[self.evaluation] + self.metric
        return None

    @property
    def metric_name(self) -> MetricName:
        """The metric's name as it is written; the metric may not exist yet."""
        return MetricName.read(self.metric)

    @property
    def named_metric(self) -> NamedMetric:
        """The metric; raises HashbenchError if it does not exist."""
        return NamedMetric.parse(self.metric)


class CellKeys(Strict):
    """The keys of a cell. The file, a group, a column and a row each give some; a later one replaces an earlier."""

    section: str | None = None
    dataset: str | None = None
    protocol: str | None = None
    method: str | None = None
    settings: dict[str, Setting] = {}  # these are merged key by key
    metric: str | None = None
    evaluation: Search | None = None
    budget: str | None = None
    recipe: str | None = None
    tolerance: float | None = None
    no_tolerance: str | None = None
    fitted: str | None = None
    tie_aware: bool | None = None
    citation: str | None = None  # where it is another paper than the table's
    printed_as: PrintedAs | None = None

    @cached_property
    def given(self) -> dict[str, Any]:
        """The keys that are given."""
        return self.model_dump(include=set(CellKeys.model_fields), exclude_none=True)


class FileColumn(CellKeys):
    """A column: its label and the keys that it gives to its cells."""

    label: str


class FileRow(CellKeys):
    """A row: its label, the keys that it gives to its cells, and the published values as the paper prints them."""

    label: str
    values: list[Published] = []  # empty: the paper has no such row


class Group(CellKeys):
    """Cells that form a block: every row crossed with every column, once for each of its ``views`` if it has any."""

    views: list[str] = []  # of the file; the section of the cells is that of the group, then that of the view
    columns: list[FileColumn] = Field(min_length=1)
    rows: list[FileRow] = Field(min_length=1)


class OtherBudget(Strict):
    """A file that declares the table ``of`` another file at another budget; ``notes`` come after that table's own.

    ``settings`` are those of all cells, and stand in place of the other table's.
    """

    of: str
    budget: str
    settings: dict[str, Setting] = {}
    notes: list[str] = []


class TableFile(Strict):
    """A whole file."""

    title: str
    paper: str = OWN  # a key of experiments/papers.toml
    source: str = ""  # which table of which paper; of our own, the name of the file
    notes: list[str] = []  # footnotes, printed under the table in every format
    distinct: bool = False  # the number of distinct codes is shown beside each AP, as with the option --distinct
    repeats: Repeats = "seeds"  # repeat r has seed r, on the protocol's own split or, of "splits", on split r
    # a figure, or "cells": dots of all cells, which other tables have only where they are written by name
    picture: str | None = None
    defaults: CellKeys = CellKeys()
    views: dict[str, CellKeys] = {}  # by name: another metric or search of the same runs, a section of its own
    groups: list[Group] = Field(min_length=1)

    def cells(self, path: Path) -> Iterator[Cell]:
        """The cells of all groups, row by row; raises HashbenchError, with ``path``, for a wrong row or cell."""
        asymmetric: dict[tuple[str, str], bool] = {}
        for group in self._groups(path):
            for row in group.rows:
                n = len(group.columns)
                values = row.values or ["-"] * n
                if len(values) != n:
                    raise HashbenchError(f"{path}: row {row.label!r} has {len(values)} values for {n} columns")
                for column, value in zip(group.columns, values, strict=True):
                    keys = self._keys(group, column, row, value)
                    cell = parse(Cell, keys, f"{path}: cell ({row.label}, {column.label})")
                    is_asymmetric = cell.evaluation == "asymmetric"
                    if asymmetric.setdefault((cell.section, cell.column), is_asymmetric) != is_asymmetric:
                        fault = f"{path}: column {column.label!r} has asymmetric distances and others"
                        raise HashbenchError(f"{fault}: activations of a query are more than bits: give each a column")
                    yield cell

    def _groups(self, path: Path) -> Iterator[Group]:
        """The groups, each once for each of its views, whose keys replace its own."""
        for group in self.groups:
            if not group.views:
                yield group
            for name in group.views:
                if name not in self.views:
                    raise HashbenchError(f"{path}: views of {group.section!r}: {unknown('view', name, self.views)}")
                keys = dict(self.views[name].given)
                keys["settings"] = group.settings | keys["settings"]
                if "section" in keys:
                    keys["section"] = f"{group.section}: {keys['section']}"
                yield group.model_copy(update=keys)

    def _keys(self, group: Group, column: FileColumn, row: FileRow, value: Published) -> dict[str, Any]:
        keys: dict[str, Any] = {"section": "", "evaluation": "database", "budget": "full", "printed_as": "fraction"}
        keys |= {"recipe": None, "tolerance": None, "tie_aware": None, "citation": self.paper}
        layers = (self.defaults, group, column, row)
        for layer in layers:
            keys |= layer.given
        settings: dict[str, Setting] = {}
        for layer in layers:
            if keys["budget"] != IMPORTED or layer is row:
                settings |= layer.settings
            else:  # codes made elsewhere inherit what is known of them; what their own row says is checked
                settings |= {key: value for key, value in layer.settings.items() if key in BitSettings.model_fields}
        published = None if value == "-" else float(value)
        if published is not None and keys["printed_as"] == "percent":
            # 56.01 / 100 is 0.5600999999999999 in binary; rounded it is what decimal text gives, 0.5601
            published = round(published / 100, 10)
        return {**keys, "settings": settings, "row": row.label, "column": column.label, "published": published}
