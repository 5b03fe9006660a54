"""A filled table: each cell's declaration and published value beside what was measured."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt

from hashbench.runs.row import Row, processor_of
from hashbench.tables.cell import Cell

TIE_RANGE = 0.1  # a cell is tie-dependent if its best AP is more than this above its worst AP
CONFIDENCE = 0.95  # of the interval of a mean


@dataclass(frozen=True)
class Measured:
    """A cell's metric over the runs that were made; all values are as the metric gives them, never percent."""

    mean: float
    std: float | None  # the sample standard deviation over the runs, None with one run
    n_seeds: int
    worst: float | None = None  # the mean AP with ties in the worst order; None if not known, or not of AP
    best: float | None = None
    tie_range: float | None = None  # best minus worst, also of AP with a cutoff
    n_splits: int = 1
    n_missing: int = 0  # of n_seeds runs on each split
    distinct_queries: float | None = None  # the mean number of distinct codes, None if a row has none
    distinct_database: float | None = None
    rows: tuple[Row, ...] = field(default=(), repr=False, compare=False)
    values: tuple[float, ...] = field(default=(), repr=False, compare=False)  # of each of the rows
    of_splits: Mapping[int | None, float] = field(default_factory=dict, repr=False, compare=False)  # means over seeds

    @property
    def is_same(self) -> bool:
        """Whether every seed gave the same codes, so that a deviation of 0 says nothing about training."""
        first = self.rows[0].artefacts if self.std == 0 and self.rows else {}
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
        from scipy.special import stdtrit  # a fifth of a second, and only the CSV and the JSON hold it

        half = float(stdtrit(self.n_runs - 1, (1 + CONFIDENCE) / 2)) * self.spread / sqrt(self.n_runs)
        return self.mean - half, self.mean + half

    @property
    def n_runs(self) -> int:
        """The number of runs that the mean is over."""
        return self.n_splits * self.n_seeds - self.n_missing

    @property
    def is_tie_dependent(self) -> bool | None:
        """Whether the best and the worst AP lie further apart than ``TIE_RANGE``; None where that is not known."""
        # 0.6 - 0.5 is slightly less than 0.1 in binary, and 0.7 - 0.6 slightly more
        return None if self.tie_range is None else self.tie_range > TIE_RANGE + 1e-12


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


Position = tuple[str, str]  # row label, column label


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

    @property
    def measured(self) -> list[Measured]:
        """The measured values, in order of appearance."""
        return [cell.measured for cell in self.cells() if cell.measured is not None]

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return sum(len(section.cells) for section in self.sections)

    @property
    def n_measured(self) -> int:
        """The number of cells that are measured."""
        return len(self.measured)

    @property
    def has_published(self) -> bool:
        """Whether any cell has a published value."""
        return any(cell.declared.published is not None for cell in self.cells())

    @property
    def has_measured(self) -> bool:
        """Whether any cell was measured."""
        return self.n_measured > 0

    @property
    def is_side_by_side(self) -> bool:
        """Whether published values stand beside measured ones; else each cell shows the one kind that there is."""
        return self.has_published and self.has_measured
