"""How a table's numbers are written: units, decimals, the best value, marks, the text of the legend."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hashbench.foundation.paths import read_once
from hashbench.scoring.evaluation.paired import LEVEL
from hashbench.showing.sheet import Cite, Number, Sign, Text
from hashbench.showing.tables.cell import PrintedAs
from hashbench.showing.tables.difference import Position
from hashbench.showing.tables.papers import cited, papers
from hashbench.showing.tables.table import TIE_RANGE, Measured, Section, Table, TableCell

MEASURED_DECIMALS: dict[PrintedAs, int] = {"fraction": 3, "percent": 2, "number": 2}  # at least
OF_ONE_SPLIT = " of one split"


@dataclass(frozen=True)
class Notation:
    """The decimals of one table's numbers: published values have the paper's decimals, measured ones at least these.

    ``interval`` shows the [worst, best] AP of a cell, ``distinct`` its {number of distinct codes}, ``counts`` the
    (number of runs).
    """

    decimals: dict[PrintedAs, int]
    interval: bool = False
    distinct: bool = False
    counts: bool = False

    @staticmethod
    def of(table: Table, *, interval: bool = False, distinct: bool = False, counts: bool = False) -> "Notation":
        """The fewest decimals that print every published value of ``table`` in full, and what else is shown."""
        decimals: dict[PrintedAs, int] = defaultdict(int)
        for cell in table.cells():
            if cell.declared.published is not None:
                unit = cell.declared.printed_as
                digits = f"{cell.declared.published * scale(unit):.8f}".rstrip("0").partition(".")[2]
                decimals[unit] = max(decimals[unit], len(digits))
        return Notation(dict(decimals), interval, distinct or table.distinct, counts)

    def published(self, cell: TableCell) -> Number | None:
        """The published value as the paper prints it; None where it prints none."""
        value = cell.declared.published
        if value is None:
            return None
        unit = cell.declared.printed_as
        return Number(value * scale(unit), f".{self.decimals.get(unit, 0)}f")

    def measured(self, cell: TableCell, *, is_best: bool = False) -> Number | None:
        """The mean in the unit of the paper, with its deviation and marks; None where nothing is measured."""
        measured = cell.measured
        if measured is None:
            return None
        spread = measured.spread
        if spread is not None:
            spread *= scale(cell.declared.printed_as)
        marks = tuple(marks_of(measured))
        return replace(
            self.number(cell, measured.mean), spread=spread, marks=marks, is_best=is_best, after=self._after(cell)
        )

    def number(self, cell: TableCell, value: float) -> Number:
        """``value``, measured for ``cell``, in the unit of the paper."""
        unit = cell.declared.printed_as
        decimals = max(self.decimals.get(unit, 0), MEASURED_DECIMALS[unit])
        return Number(value * scale(unit), f".{decimals}f")

    def _after(self, cell: TableCell) -> str:
        """What stands behind the marks: the number of runs, the AP over orders of ties, the distinct codes."""
        after = ""
        if self.counts and cell.measured is not None:
            after = f" ({cell.measured.n_runs})"
        if interval := self.interval_of(cell):
            after += f" [{interval}]"
        if distinct := self.distinct_of(cell):
            after += f" {{{distinct}}}"
        return after

    def interval_of(self, cell: TableCell) -> str:
        """The worst and the best AP over orders of ties; empty where they are not shown or not known."""
        measured = cell.measured
        if self.interval and measured is not None and measured.worst is not None and measured.best is not None:
            return f"{self.number(cell, measured.worst).text}, {self.number(cell, measured.best).text}"
        return ""

    def distinct_of(self, cell: TableCell) -> str:
        """The distinct codes of the queries and of the database beside an AP; empty where not shown or not known."""
        measured = cell.measured
        if not self.distinct or measured is None or cell.declared.named_metric.name.metric != "ap":
            return ""
        if cell.declared.evaluation == "asymmetric":  # its queries are no codes
            return ""
        if measured.distinct_queries is None or measured.distinct_database is None:
            return ""
        return f"{measured.distinct_queries:.0f}, {measured.distinct_database:.0f}"

    def best(self, section: Section) -> set[Position]:
        """The positions of the best measured values: the highest, and by a test all not significantly below it."""
        best = set()
        for compared in section.compared:
            if compared.test is None:
                means = {at: cell.measured.mean for at, cell in compared.cells.items() if cell.measured is not None}
                highest = max(means, key=lambda at: means[at])
                printed = self.number(compared.cells[highest], means[highest]).text
                best |= {at for at, mean in means.items() if self.number(compared.cells[at], mean).text == printed}
            else:
                best |= compared.test.best
        return best


def scale(unit: PrintedAs) -> float:
    """The factor between a value and its printed form: 100 for percent, else 1."""
    return 100.0 if unit == "percent" else 1.0


def heading(section: Section, column: str) -> str:
    """The label of a column, with " (%)" where all its cells are printed in percent."""
    percent = all(cell.declared.printed_as == "percent" for cell in section.column(column))
    return f"{column} (%)" if percent else column


def origin(table: Table) -> Text:
    """The paper and its table, then the other papers that published values are from."""
    published = (cell.declared for cell in table.cells() if cell.declared.published is not None)
    others = dict.fromkeys(declared.citation for declared in published if declared.citation != table.paper)
    spans: list[str | Cite] = [cite(table.paper), f", {table.source}"]
    for place, key in enumerate(others):
        spans += [", " if place else "; figures also from ", cite(key)]
    return tuple(spans)


def cite(key: str) -> Cite:
    """The paper of a key; its words are the key where its entry cannot be read."""
    return Cite(key, cited(key, read_once(papers)(broken=str)))  # str: nothing is said of a broken entry


def runs(table: Table) -> str:
    """The runs behind a measured value: "3 seeds of one split", "2 splits x 1 to 3 seeds"; empty where none are."""
    of_one_split = [value for value in table.measured if value.lacks_splits]
    others = [value for value in table.measured if not value.lacks_splits]
    return ", in some cells ".join(_runs(values) for values in (others, of_one_split) if values)


def _runs(measured: list[Measured]) -> str:
    seeds = least_to_most([value.n_seeds for value in measured], "seed")
    if all(value.n_splits == 1 for value in measured):
        return f"{seeds}{OF_ONE_SPLIT}"
    return f"{least_to_most([value.n_splits for value in measured], 'split')} x {seeds}"


def runs_behind(table: Table) -> str:
    """``runs``, and what a deviation over them is: seeds of one split and of one processor differ in training alone."""
    behind = runs(table)
    if not behind.endswith(OF_ONE_SPLIT):
        return behind
    if any(value.is_mixed for value in table.measured):
        return f"{behind}: the spread of training, and of processors in some cells"
    return f"{behind}: the spread of training alone"


def least_to_most(counts: list[int], noun: str) -> str:
    """The smallest and the largest of ``counts`` in words.

    >>> least_to_most([3, 1], "seed"), least_to_most([1], "run")
    ('1 to 3 seeds', '1 run')
    """
    least = min(counts)
    most = max(counts)
    words = f"{most} {noun}" + "s" * (most > 1)
    if least == most:
        return words
    return f"{least} to {words}"


def legend(table: Table, how: Notation, *, outside: bool = True) -> tuple[str | Sign, ...]:
    """What the cells of ``table`` show and what their marks mean; without ``outside`` not that of the tolerance."""
    if not table.has_measured:
        if table.has_published:
            return ("Each cell: published. Nothing is measured yet.",)
        return ("Nothing is measured yet.",)
    what = f"mean ± standard deviation over {runs_behind(table)}"
    if all(value.std is None for value in table.measured):
        what = "1 seed"
    elif all(value.spread is None for value in table.measured):
        what = f"mean over {runs(table)}"
    spans: list[str | Sign] = [Sign.BOTH if table.has_published else Sign.MEASURED, f" ({what})"]
    if any(map(how.interval_of, table.cells())):
        spans.append(" [worst, best mAP over all orders of ties]")
    if any(map(how.distinct_of, table.cells())):
        spans.append(" {distinct codes of the queries, of the database}")
    for mark, meaning in _marks(table, outside=outside):
        spans += [span for span in ("; ", mark, meaning) if span is not None]
    return *spans, "."


def _marks(table: Table, *, outside: bool) -> Iterator[tuple[Sign | None, str]]:
    """The marks of the cells, each with what it means."""
    yield from _of_best(table)
    if outside and outside_tolerance(table):
        yield Sign.OUTSIDE, ""
    if any(value.is_tie_dependent for value in table.measured):
        what = "tie-dependent: the worst and the best mAP over all orders of ties lie further apart than"
        yield Sign.TIE, f" {what} {TIE_RANGE:g}"
    if any(value.is_same for value in table.measured):
        yield Sign.SAME, " the same for every seed"
    if any(value.lacks_splits for value in table.measured):
        yield Sign.ONE_SPLIT, " rows of one split, so that nothing is claimed"


def _of_best(table: Table) -> Iterator[tuple[Sign | None, str]]:
    """What the mark of the best values means, where there was a test and where there was none."""
    groups = [group for section in table.sections for group in section.compared]
    tests = [group.test for group in groups if group.test is not None]
    if tests:
        splits = least_to_most([test.n_splits for test in tests], "split")
        test = f"paired t-test over {splits}, Holm within the column, level {LEVEL:g}"
        yield Sign.BEST, f": the highest mean, and all not significantly below it ({test})"
    if any(group.test is not None and len(group.test.p) < len(group.cells) for group in groups):
        yield None, "values without AP of each query on these splits are not compared"
    if len(tests) < len(groups):
        where = " in the other columns" if tests else ""
        yield Sign.BEST, f"{where}: the highest mean; no test over splits"


def marks_of(measured: Measured) -> Iterator[Sign]:
    """The marks behind a measured value."""
    if measured.is_tie_dependent:
        yield Sign.TIE
    if measured.is_same:
        yield Sign.SAME
    if measured.lacks_splits:
        yield Sign.ONE_SPLIT


def outside_tolerance(table: Table) -> list[TableCell]:
    """The cells whose measured mean differs from the published value by more than their tolerance."""
    return [cell for cell in table.cells() if cell.within_tolerance is False]
