"""How a table's numbers are written in every format: units, decimals, the best value, marks, the text of the legend."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hashbench.evaluation.paired import LEVEL
from hashbench.tables.cell import PrintedAs
from hashbench.tables.difference import Position
from hashbench.tables.table import TIE_RANGE, Compared, Measured, Section, Table, TableCell

MEASURED_DECIMALS: dict[PrintedAs, int] = {"fraction": 3, "percent": 2, "number": 2}  # at least
TIE_MARK, SAME_MARK = "‡", "="  # of a cell that is tie-dependent, that is the same for every seed; not in LaTeX
ONE_SPLIT_MARK = "¹"  # of a cell that has rows of one split where its table asks for several; not in LaTeX
OF_ONE_SPLIT = " of one split"


@dataclass(frozen=True)
class Notation:
    """The decimals of one table's numbers: published values have the paper's decimals, measured ones at least these.

    ``interval`` shows the [worst, best] AP of a cell, ``distinct`` its {number of distinct codes}.
    """

    decimals: dict[PrintedAs, int]
    interval: bool = False
    distinct: bool = False

    @staticmethod
    def of(table: Table, *, interval: bool = False, distinct: bool = False) -> "Notation":
        """The fewest decimals that print every published value of ``table`` in full, and what else is shown."""
        decimals: dict[PrintedAs, int] = defaultdict(int)
        for cell in table.cells():
            if cell.declared.published is not None:
                unit = cell.declared.printed_as
                digits = f"{cell.declared.published * scale(unit):.8f}".rstrip("0").partition(".")[2]
                decimals[unit] = max(decimals[unit], len(digits))
        return Notation(dict(decimals), interval, distinct or table.distinct)

    def published(self, cell: TableCell) -> str:
        """The published value as the paper prints it, empty where it prints none."""
        value, unit = cell.declared.published, cell.declared.printed_as
        return "" if value is None else number(value * scale(unit), self.decimals.get(unit, 0))

    def measured(self, cell: TableCell, value: float) -> str:
        """``value``, measured for ``cell``, in the unit of the paper."""
        unit = cell.declared.printed_as
        return number(value * scale(unit), max(self.decimals.get(unit, 0), MEASURED_DECIMALS[unit]))

    def interval_of(self, cell: TableCell) -> str:
        """The worst and the best AP over orders of ties; empty where they are not shown or not known."""
        measured = cell.measured
        if self.interval and measured is not None and measured.worst is not None and measured.best is not None:
            return f"{self.measured(cell, measured.worst)}, {self.measured(cell, measured.best)}"
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

    def measured_text(self, cell: TableCell, style: str = "{}", *, counts: bool = False) -> str:
        """The mean with its deviation, then the marks; empty where nothing is measured.

        ``style`` marks mean and deviation, such as ``**{}**``; ``counts`` shows the (number of runs).
        """
        measured = cell.measured
        if measured is None:
            return ""
        spread = "" if measured.spread is None else f"±{self.measured(cell, measured.spread)}"
        text = style.format(f"{self.measured(cell, measured.mean)}{spread}") + marks_of(measured)
        text += f" ({measured.n_runs})" if counts else ""
        if interval := self.interval_of(cell):
            text += f" [{interval}]"
        if distinct := self.distinct_of(cell):
            text += f" {{{distinct}}}"
        return text

    def best(self, section: Section) -> set[Position]:
        """The positions of the best measured values: the highest, and by a test all not significantly below it."""
        best = set()
        for compared in section.compared:
            best |= self._highest(compared) if compared.test is None else compared.test.best
        return best

    def _highest(self, compared: Compared) -> set[Position]:
        """The positions of the highest mean, as it is printed."""
        means = {at: cell.measured.mean for at, cell in compared.cells.items() if cell.measured is not None}
        highest = max(means, key=lambda at: means[at])
        printed = self.measured(compared.cells[highest], means[highest])
        return {at for at, mean in means.items() if self.measured(compared.cells[at], mean) == printed}


def scale(unit: PrintedAs) -> float:
    """The factor between a value and its printed form: 100 for percent, else 1."""
    return 100.0 if unit == "percent" else 1.0


def plain(text: str) -> str:
    r"""``text`` on one line, with ? for each sign that cannot be printed.

    >>> plain("two\n  lines"), plain("a\x1b[2Jb")
    ('two lines', 'a?[2Jb')
    """
    return "".join(sign if sign.isprintable() else "?" for sign in " ".join(text.split()))


def number(value: float, decimals: int) -> str:
    """``value`` with so many decimals; zero never has a minus sign.

    >>> number(0.7, 3), number(-0.0001, 3)
    ('0.700', '0.000')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def heading(section: Section, column: str) -> str:
    """The label of a column, with " (%)" where all its cells are printed in percent."""
    percent = all(cell.declared.printed_as == "percent" for cell in section.column(column))
    return f"{column} (%)" if percent else column


def origin(table: Table, cite: Callable[[str], str]) -> str:
    """The paper and its table, then the other papers that published values are from, as ``cite`` writes their keys."""
    published = (cell.declared for cell in table.cells() if cell.declared.published is not None)
    others = dict.fromkeys(declared.citation for declared in published if declared.citation != table.paper)
    also = f"; figures also from {', '.join(map(cite, others))}" if others else ""
    return f"{cite(table.paper)}, {table.source}{also}"


def runs(table: Table) -> str:
    """The runs behind a measured value: "3 seeds of one split", "2 splits x 1 to 3 seeds"; empty where none are."""
    of_one_split = [each for each in table.measured if each.lacks_splits]
    others = [each for each in table.measured if not each.lacks_splits]
    return ", in some cells ".join(_runs(each) for each in (others, of_one_split) if each)


def _runs(measured: list[Measured]) -> str:
    seeds = least_to_most([each.n_seeds for each in measured], "seed")
    if all(each.n_splits == 1 for each in measured):
        return f"{seeds}{OF_ONE_SPLIT}"
    missing = ", some runs missing" if any(each.n_missing for each in measured) else ""
    return f"{least_to_most([each.n_splits for each in measured], 'split')} x {seeds}{missing}"


def runs_behind(table: Table) -> str:
    """``runs``, and what a deviation over them is: seeds of one split and of one processor differ in training alone."""
    found = runs(table)
    mixed = any(each.is_mixed for each in table.measured)
    what = "of training, and of processors in some cells" if mixed else "of training alone"
    return f"{found}: the spread {what}" if found.endswith(OF_ONE_SPLIT) else found


def least_to_most(counts: list[int], noun: str) -> str:
    """The smallest and the largest of ``counts`` in words.

    >>> least_to_most([3, 1], "seed"), least_to_most([1], "run")
    ('1 to 3 seeds', '1 run')
    """
    least, most = min(counts), max(counts)
    return (f"{most} {noun}" if least == most else f"{least} to {most} {noun}") + ("s" if most > 1 else "")


class Words(NamedTuple):
    """The words of a format's legend; empty where the format does not mark it."""

    both: str = "Each cell: published / measured"
    measured: str = "Each cell: measured"
    plus_minus: str = "±"
    interval: str = "[worst, best AP over all orders of ties]"
    distinct: str = "{distinct codes of the queries, of the database}"
    best: str = "in bold"
    outside: str = "≠ in place of / where the two differ by more than the tolerance"
    tie_mark: str = TIE_MARK
    same_mark: str = SAME_MARK
    one_split_mark: str = ONE_SPLIT_MARK


def legend(table: Table, how: Notation, words: Words = Words()) -> str:  # noqa: B008  (it is immutable)
    """What the cells of ``table`` show and what their marks mean, in plain text."""
    if not table.has_measured:
        return f"{'Each cell: published. ' if table.has_published else ''}Nothing is measured yet."
    what = f"mean {words.plus_minus} standard deviation over {runs_behind(table)}"
    if all(each.spread is None for each in table.measured):
        what = "1 seed" if all(each.std is None for each in table.measured) else f"mean over {runs(table)}"
    text = f"{words.both if table.has_published else words.measured} ({what})"
    text += f" {words.interval}" if any(map(how.interval_of, table.cells())) else ""
    text += f" {words.distinct}" if any(map(how.distinct_of, table.cells())) else ""
    marks = [*_of_best(table, words.best)]
    marks += [words.outside] if words.outside and outside_tolerance(table) else []
    if any(each.is_tie_dependent for each in table.measured):
        what = "tie-dependent: the worst and the best AP over all orders of ties lie further apart than"
        marks.append(f"{words.tie_mark} {what} {TIE_RANGE:g}")
    marks += [f"{words.same_mark} the same for every seed"] if any(each.is_same for each in table.measured) else []
    if any(each.lacks_splits for each in table.measured):
        marks.append(f"{words.one_split_mark} rows of one split, so that nothing is claimed")
    return "; ".join([text, *marks]) + "."


def _of_best(table: Table, mark: str) -> Iterator[str]:
    """What the mark of the best values means, where there was a test and where there was none."""
    compared = [compared for section in table.sections for compared in section.compared]
    tests = [each.test for each in compared if each.test is not None]
    if tests:
        splits = least_to_most([test.n_splits for test in tests], "split")
        test = f"the paired bootstrap over {splits} and their queries, Holm within the column, level {LEVEL:g}"
        yield f"{mark}: the highest mean, and all not significantly below it ({test})"
    if any(each.test is not None and len(each.test.p) < len(each.cells) for each in compared):
        yield "values without AP of each query on these splits are not compared"
    if len(tests) < len(compared):
        where = " in the other columns" if tests else ""
        yield f"{mark}{where}: the highest mean; no test over splits"


def marks_of(measured: Measured) -> str:
    """The signs behind a measured value, where it is plain text."""
    return (
        TIE_MARK * bool(measured.is_tie_dependent)
        + SAME_MARK * measured.is_same
        + ONE_SPLIT_MARK * measured.lacks_splits
    )


def outside_tolerance(table: Table) -> list[TableCell]:
    """The cells whose measured mean differs from the published value by more than their tolerance."""
    return [cell for cell in table.cells() if cell.within_tolerance is False]


def split_evenly(labels: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """``labels`` cut into as few pieces of at most ``most`` as possible, the pieces as even as possible."""
    size = -(-len(labels) // -(-len(labels) // most))
    return [labels[start : start + size] for start in range(0, len(labels), size)]


def fewest_pieces(labels: tuple[str, ...], fits: Callable[[tuple[str, ...]], bool]) -> list[tuple[str, ...]]:
    """``labels`` cut evenly into the fewest pieces that all fit; into single labels where nothing else fits.

    >>> fewest_pieces(("a", "b", "ccc"), lambda piece: len("".join(piece)) <= 3)
    [('a', 'b'), ('ccc',)]
    """
    cuts = (split_evenly(labels, most) for most in range(len(labels), 1, -1))
    return next((pieces for pieces in cuts if all(map(fits, pieces))), [(label,) for label in labels])
