"""Measured against published values of the tables, with the band of the tolerance and the names of the furthest."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Literal, NamedTuple

from pydantic import Field

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, nothing
from hashbench.foundation.errors import unknown
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.showing.sheet import Value
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.table import Measured, TableCell

STYLES = {True: ("within", "#0072B2", "o"), False: ("outside", "#D55E00", "^")}  # of a cell by its tolerance
BAND = "0.88"
ABOVE_IN = 0.5  # how much higher than wide the figure is
NAME_IN = 0.105  # and by each name below it


class AgreementFile(FigureFile):
    """The keys of such a figure: the tables (none: all), and how many cells are named."""

    tables: list[str] = []
    named: int = Field(default=10, ge=0, le=20)


class _Compared(NamedTuple):
    """A cell with a published value ``x``, a measured one ``y`` and a tolerance, and the name of its table."""

    table: str
    cell: TableCell
    measured: Measured
    x: float
    tolerance: float

    @property
    def y(self) -> float:
        return self.measured.mean

    def line(self) -> dict[str, Value]:
        declared = self.cell.declared
        named = {key: getattr(declared, key) for key in ("section", "row", "column", "metric")}
        values = {"published": self.x, "measured": self.y, "std": self.measured.std, "n_runs": self.measured.n_runs}
        compared = {"difference": self.cell.difference, "tolerance": self.tolerance}
        return {"table": self.table, **named, **values, **compared, "within_tolerance": self.cell.within_tolerance}


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with every cell that has a published value with a tolerance, and that ``rows`` measure."""
    file: AgreementFile = figure.file
    cells = list(_cells(file.tables or spec.names(), rows, store))
    # the difference in tolerances, the largest first
    furthest = sorted(cells, key=lambda cell: -abs(cell.y - cell.x) / cell.tolerance)[: file.named]
    usual = Counter(cell.tolerance for cell in cells).most_common(1)  # the tolerance that most cells have: the band's
    if not cells:
        return nothing("nothing is measured that has a published value with a tolerance; nothing is drawn")
    width = WIDTHS_IN[file.width]
    return Drawing(
        points=[cell.line() for cell in cells],
        size_in=(width, width + ABOVE_IN + NAME_IN * len(furthest)),
        draw=partial(_draw, cells, furthest, usual[0][0]),
        n_measured=len(cells),
    )


def _check(figure: FigureSpec) -> None:
    if wrong := next((name for name in figure.file.tables if name not in spec.names()), None):
        raise figure.error(f"tables: {unknown('table', wrong, spec.names())}")


def _cells(tables: Iterable[str], rows: Sequence[Row], store: Store) -> Iterator[_Compared]:
    """The cells with both values and a tolerance; a metric that is no fraction has no place on the axes."""
    for name in tables:
        declared = spec.load(name)
        comparable = [cell for cell in declared.cells if cell.tolerance is not None and cell.printed_as != "number"]
        for cell in collect(declared.model_copy(update={"cells": comparable}), rows, store).cells():
            x = cell.declared.published
            tolerance = cell.declared.tolerance
            if cell.measured is not None and x is not None and tolerance is not None:
                yield _Compared(name, cell, cell.measured, x, tolerance)


def _draw(cells: list[_Compared], furthest: list[_Compared], usual: float, figure: Figure) -> None:
    ax = figure.add_subplot(aspect="equal")
    values = [value for cell in cells for value in (cell.x, cell.y)]
    margin = 0.05 * (max(values) - min(values)) or 0.05
    ends = min(values) - margin, max(values) + margin
    lower, upper = ([end + aside for end in ends] for aside in (-usual, usual))
    ax.fill_between(ends, lower, upper, color=BAND, linewidth=0, zorder=0)
    ax.plot(ends, ends, color="0.4", linewidth=0.6, zorder=1)
    for within, (side, colour, marker) in STYLES.items():
        points = [cell for cell in cells if cell.cell.within_tolerance == within]
        x = [cell.x for cell in points]
        y = [cell.y for cell in points]
        label = f"{side} the tolerance: {len(points)}"
        ax.plot(x, y, marker, color=colour, markersize=3, alpha=0.75, markeredgewidth=0, label=label)
    for place, cell in enumerate(furthest, 1):
        # the number of a named cell is on the side of its point that is away from the line
        aside = 3
        align: Literal["left", "right"] = "left"
        if cell.y > cell.x:
            aside = -3
            align = "right"
        ax.annotate(
            f"{place}",
            (cell.x, cell.y),
            ha=align,
            va="center",
            fontsize=5.5,
            xytext=(aside, 0),
            textcoords="offset points",
        )
    ax.set(xlim=ends, ylim=ends, xlabel="published", ylabel="measured")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, borderaxespad=0.1, handletextpad=0.1)
    line = f"Line: equal. Grey: the tolerance of {usual:g} around it"
    if n_others := sum(cell.tolerance != usual for cell in cells):
        line += f"; {n_others} cells have another"
    lines = [f"{line}. Furthest off:" if furthest else f"{line}."]
    for place, cell in enumerate(furthest, 1):
        declared = cell.cell.declared
        labels = ", ".join(filter(None, (declared.row, declared.column, declared.section)))
        lines.append(f"{place}  {labels}: {cell.x:.3f}, measured {cell.y:.3f}")
    explain(figure, "\n".join(lines))


KIND = Kind("measured against published values, with the band of the tolerance", AgreementFile, _fill, _check)
