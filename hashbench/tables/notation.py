"""How a table's numbers are written, whatever the format: units, decimals, which is best, what the legend says."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from hashbench.metrics import METRICS, parse
from hashbench.tables.spec import PrintedAs
from hashbench.tables.table import Measured, ProcessGroup, Section, Table, TableCell

MEASURED_DECIMALS: dict[PrintedAs, int] = {"fraction": 3, "percent": 2, "number": 2}  # at least
CODE_SIZE = ("bits", "d", "k")  # settings that say how large a code is


@dataclass(frozen=True)
class Notation:
    """The units and decimals of one table: published figures get the paper's decimals, measured ones no fewer."""

    decimals: dict[PrintedAs, int]

    @staticmethod
    def of(table: Table) -> "Notation":
        """The notation that fits every published value of ``table``."""
        decimals: dict[PrintedAs, int] = defaultdict(int)
        for cell in table.cells():
            if cell.declared.published is not None:
                unit = cell.declared.printed_as
                decimals[unit] = max(decimals[unit], _decimals_of(cell.declared.published * scale(unit)))
        return Notation(dict(decimals))

    def published(self, cell: TableCell) -> str:
        """The published value as the paper prints it, empty where it prints none."""
        value, unit = cell.declared.published, cell.declared.printed_as
        return "" if value is None else number(value * scale(unit), self.decimals.get(unit, 0))

    def measured(self, cell: TableCell, value: float | None) -> str:
        """``value``, measured for ``cell``, in the unit of the paper; empty where it is missing."""
        unit = cell.declared.printed_as
        decimals = max(self.decimals.get(unit, 0), MEASURED_DECIMALS[unit])
        return "" if value is None else number(value * scale(unit), decimals)

    def best(self, section: Section) -> set[ProcessGroup]:
        """The places of the best measured values.

        Compared are cells that differ in method or hyper-parameters alone: same data, protocol, metric, evaluation
        set and code size. That is a column of most tables and a row of those whose columns are methods. Values that
        print alike are equally good, and one value alone is not best of anything. An end of a tie interval is no
        merit: where codes are few, the best order is good and the worst one bad.
        """
        rivals: dict[tuple[Any, ...], list[tuple[float, ProcessGroup]]] = defaultdict(list)
        for place, cell in section.cells.items():
            if cell.measured is not None and not METRICS.get(parse(cell.declared.metric).metric).is_bound:
                shown = float(self.measured(cell, cell.measured.mean))
                rivals[_contest(cell)].append((shown, place))
        return {
            place for group in rivals.values() if len(group) > 1 for shown, place in group if shown == max(group)[0]
        }


def scale(unit: PrintedAs) -> float:
    """What a value is multiplied by for print: 100 for percent."""
    return 100.0 if unit == "percent" else 1.0


def number(value: float, decimals: int) -> str:
    """``value`` with so many decimals, never a negative zero.

    >>> number(0.7, 3), number(-0.0001, 3)
    ('0.700', '0.000')
    """
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def _decimals_of(printed: float) -> int:
    return len(f"{printed:.8f}".rstrip("0").partition(".")[2])


def _contest(cell: TableCell) -> tuple[Any, ...]:
    declared = cell.declared
    size = tuple(declared.settings.get(key) for key in CODE_SIZE)
    return (declared.dataset, declared.protocol, declared.metric, declared.evaluation, declared.budget, *size)


def heading(section: Section, column: str) -> str:
    """The label of a column, with the unit where all of it is printed in percent."""
    percent = all(cell.declared.printed_as == "percent" for cell in section.column(column))
    return f"{column} (%)" if percent else column


def origin(table: Table) -> str:
    """Whose table it is and which, and who else is cited in it."""
    published = (cell.declared for cell in table.cells() if cell.declared.published is not None)
    cited = dict.fromkeys(declared.citation for declared in published if declared.citation != table.paper)
    return ", ".join([table.paper, table.source]) + (f"; figures also from {', '.join(cited)}" if cited else "")


def seeds(table: Table) -> str:
    """How many seeds a measured cell is the mean of.

    ``"3 seeds"``, ``"1 to 3 seeds"`` where cells differ, empty where nothing was measured.
    """
    counts = {cell.measured.n_seeds for cell in table.cells() if cell.measured is not None}
    if not counts:
        return ""
    least, most = min(counts), max(counts)
    return (f"{most} seed" if least == most else f"{least} to {most} seed") + ("s" if most > 1 else "")


def what_is_measured(table: Table, plus_minus: str) -> str:
    """What a measured figure in ``table`` is; ``plus_minus`` is how the format writes that sign."""
    if not table.has_measured:
        return "nothing is measured yet"
    if all(cell.measured is None or cell.measured.std is None for cell in table.cells()):
        return "1 seed"
    return f"mean {plus_minus} standard deviation over {seeds(table)}"


def has_interval(measured: Measured | None) -> bool:
    """Whether the ends of the tie interval are known."""
    return measured is not None and measured.worst is not None and measured.best is not None


def outside(table: Table) -> list[TableCell]:
    """The measured cells that lie further from the published value than their tolerance."""
    return [cell for cell in table.cells() if cell.within_tolerance is False]


def parts(labels: tuple[str, ...], most: int) -> list[tuple[str, ...]]:
    """``labels`` in as few runs of at most ``most`` as possible, their lengths as even as possible.

    >>> parts(("a", "b", "c", "d", "e"), 4)
    [('a', 'b', 'c'), ('d', 'e')]
    """
    n_parts = -(-len(labels) // most)
    size = -(-len(labels) // n_parts)
    return [labels[start : start + size] for start in range(0, len(labels), size)]
