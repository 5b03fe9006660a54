"""A filled table: each cell's declaration and published value beside what was measured."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any

import scipy

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import canonical
from hashbench.running.runs.past import CODE_SIZE
from hashbench.running.runs.row import IMPORTED, Row, processor_of
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.difference import AgainstBest, Position, Scores, against_best

TIE_RANGE = 0.1  # a cell is tie-dependent if its best AP is more than this above its worst AP
CONFIDENCE = 0.95  # of the interval of a mean


@dataclass(frozen=True)
class Measured:
    """A cell's metric over the runs that were made; all values are as the metric gives them, never percent."""

    mean: float
    std: float | None  # the sample standard deviation over the runs, None with one run
    n_seeds: int  # on each split
    worst: float | None = None  # the mean AP with ties in the worst order; None if not known, or not of AP
    best: float | None = None
    tie_range: float | None = None  # best minus worst, also of AP with a cutoff
    n_splits: int = 1
    lacks_splits: bool = False  # its repeats are to be splits, and its runs are of one: nothing is claimed of it
    distinct_queries: float | None = None  # the mean number of distinct codes, None if a row has none
    distinct_database: float | None = None
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)
    values: tuple[float, ...] = field(default=(), repr=False, compare=False)  # of each of the rows
    scores: Scores = field(default_factory=dict, repr=False, compare=False)  # of the splits of which they are kept

    @property
    def is_same(self) -> bool:
        """Whether every seed gave the same codes, so that a deviation of 0 says nothing about training."""
        if self.std != 0 or not self.rows:
            return False
        first = self.rows[0].artefacts
        return bool(first) and all(row.artefacts == first for row in self.rows)

    @property
    def spread(self) -> float | None:
        """The deviation as tables print it: none where the value is of one run, or the same for every seed."""
        return None if self.is_same else self.std

    @property
    def is_mixed(self) -> bool:
        """Whether the runs were made on several processors."""
        return len(set(map(processor_of, self.rows))) > 1

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% confidence interval of the mean, by Student's t over the runs; None with one, or where all agree."""
        if self.spread is None:
            return None
        half = float(scipy.special.stdtrit(self.n_runs - 1, (1 + CONFIDENCE) / 2)) * self.spread / sqrt(self.n_runs)
        return self.mean - half, self.mean + half

    @property
    def n_runs(self) -> int:
        """The number of runs that the mean is over."""
        return self.n_splits * self.n_seeds

    @property
    def is_tie_dependent(self) -> bool | None:
        """Whether the best and the worst AP lie further apart than ``TIE_RANGE``; None where that is not known."""
        if self.tie_range is None:
            return None
        # 0.6 - 0.5 is slightly less than 0.1 in binary, and 0.7 - 0.6 slightly more
        return self.tie_range > TIE_RANGE + 1e-12


@dataclass(frozen=True)
class TableCell:
    """One cell: its declaration with the published value, what was measured (None: nothing), and what failed."""

    declared: Cell
    measured: Measured | None = None
    failed: tuple[Row, ...] = field(default=(), repr=False, compare=False)  # the rows of its failed runs

    @property
    def difference(self) -> float | None:
        """Measured mean minus published value, None where either is missing."""
        if self.measured is None or self.declared.published is None:
            return None
        return self.measured.mean - self.declared.published

    @property
    def within_tolerance(self) -> bool | None:
        """Whether the measured mean is within the tolerance of the published value; None where one is missing."""
        if self.difference is None or self.declared.tolerance is None:
            return None
        # 0.75 - 0.73 is slightly more than 0.02 in binary, and a difference equal to the tolerance is within it
        return abs(self.difference) <= self.declared.tolerance + 1e-12


@dataclass(frozen=True)
class Compared:
    """Measured cells that differ in method and hyper-parameters only: in most tables a column; ``test``: if one can be.

    Without a test, which needs the AP of each query on two splits or more, nothing is known but which mean is highest.
    """

    cells: Mapping[Position, TableCell]
    test: AgainstBest | None


@dataclass(frozen=True)
class Section:
    """A block of a table. Its axes are the distinct labels in order of appearance; not every position has a cell."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[Position, TableCell]

    def column(self, label: str) -> list[TableCell]:
        """The cells of a column, from the top."""
        return [self.cells[row, label] for row in self.rows if (row, label) in self.cells]

    def kept_of(self, label: str, column: str, bits: int | None) -> TableCell | None:
        """The cell, of so many bits, in the row called ``label``, or of the only row of the method so called.

        Of its measure the values of each query are kept.
        """
        cells = [
            cell
            for (_, of_column), cell in self.cells.items()
            if of_column == column and cell.declared.measure and bits in (None, cell.declared.settings.get("bits"))
        ]
        named = [cell for cell in cells if canonical(cell.declared.row) == canonical(label)]
        named = named or [cell for cell in cells if cell.declared.method == canonical(label)]
        return named[0] if len(named) == 1 else None

    @cached_property
    def compared(self) -> list[Compared]:
        """The measured cells that are compared with one another, two or more each.

        The worst and the best AP over orders of ties are not compared: few distinct codes make the one low and the
        other high.
        """
        groups: dict[tuple[Any, ...], dict[Position, TableCell]] = defaultdict(dict)
        budgets = {cell.declared.budget for cell in self.cells.values()} - {IMPORTED}
        elsewhere = {}
        if len(budgets) == 1:  # codes made elsewhere are compared with all
            elsewhere[IMPORTED] = budgets.pop()
        for position, cell in self.cells.items():
            declared = cell.declared
            if cell.measured is not None and not declared.named_metric.entry.is_bound:
                # whether distances are weighted is the method's affair; activations of the query are another input
                search = declared.evaluation
                if search == "weighted":
                    search = "database"
                size = (declared.settings.get(key) for key in CODE_SIZE)
                budget = elsewhere.get(declared.budget, declared.budget)
                groups[declared.dataset, declared.protocol, declared.metric, search, budget, *size][position] = cell
        compared = []
        for cells in groups.values():
            if len(cells) > 1:
                scores = {at: cell.measured.scores for at, cell in cells.items() if cell.measured is not None}
                compared.append(Compared(cells, against_best(scores)))
        return compared


@dataclass(frozen=True)
class Lines:
    """Cells of one column of a section that are to be compared."""

    section: str
    column: str
    cells: list[TableCell]

    @property
    def metric(self) -> str:
        """Their metric."""
        return self.cells[0].declared.metric


@dataclass(frozen=True)
class Table:
    """A filled table, ready to be rendered."""

    name: str
    title: str
    paper: str
    source: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    distinct: bool = False  # the number of distinct codes is shown beside each AP
    picture: str | None = None  # the figure that is its picture

    def cells(self) -> Iterator[TableCell]:
        """All cells, in order of appearance."""
        for section in self.sections:
            yield from section.cells.values()

    @cached_property
    def measured(self) -> list[Measured]:
        """The measured values, in order of appearance."""
        return [cell.measured for cell in self.cells() if cell.measured is not None]

    def lines(self, labels: Sequence[str], bits: int | None = None, section: str = "") -> "Lines":
        """The cells in rows called ``labels`` (or of methods so called) that stand in one column of one section.

        They are of AP, or of a recall; the column is that of ``bits``; the title of the section, with "/" and the title
        of the column, begins with ``section``. Raises HashbenchError unless there is one such column.
        """
        matches = []
        for block in self.sections:
            for column in block.columns:
                cells = [block.kept_of(label, column, bits) for label in labels]
                if None not in cells and f"{block.title}/{column}".startswith(section):
                    matches.append(Lines(block.title, column, [cell for cell in cells if cell is not None]))
        where = f"AP or recall of {', '.join(labels)} in one section"
        if bits is not None:
            where += f" at {bits} bits"
        if not matches:
            known = ", ".join(dict.fromkeys(row for block in self.sections for row in block.rows))
            raise HashbenchError(f"table {self.name} has no {where}: its rows are {known}")
        if len(matches) > 1:
            places = ", ".join(f"'{self.name}/{lines.section}/{lines.column}'" for lines in matches)
            raise HashbenchError(f"table {self.name} has several {where}: name one, --table {places}, or --bits")
        return matches[0]

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return sum(len(section.cells) for section in self.sections)

    @property
    def n_measured(self) -> int:
        """The number of cells that are measured."""
        return len(self.measured)

    @cached_property
    def has_published(self) -> bool:
        """Whether any cell has a published value."""
        return any(cell.declared.published is not None for cell in self.cells())

    @cached_property
    def has_measured(self) -> bool:
        """Whether any cell was measured."""
        return self.n_measured > 0

    @cached_property
    def is_side_by_side(self) -> bool:
        """Whether published values stand beside measured ones; else each cell shows the one kind that there is."""
        return self.has_published and self.has_measured
