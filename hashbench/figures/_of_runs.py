"""A figure of two panels with a line for each row, drawn from the working files of runs: one cell for each row."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hashbench.figures._declared import FigureSpec
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, legend, legend_height_in, nothing
from hashbench.figures._panels import Look, line_samples, looks_of
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.cell_runs import cell_hash
from hashbench.tables.notation import least_to_most
from hashbench.tables.render_csv import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN = 2.2  # of the panels


class OfRuns(Protocol):
    """The values of the runs of one cell."""

    @property
    def n_runs(self) -> int:
        """The number of runs."""

    def lines(self, label: str) -> Iterable[Mapping[str, Value]]:
        """The lines of the CSV; ``label`` names the series."""

    def draw(self, left: "Axes", right: "Axes", look: Look) -> None:
        """Draws the values into the two panels."""


S = TypeVar("S")
T = TypeVar("T", bound=OfRuns)


@dataclass(frozen=True)
class _TwoPanels:
    """Two panels, whose lines have one legend; ``axes`` holds the labels and limits of each."""

    series: Mapping[str, OfRuns]
    axes: tuple[dict[str, Any], dict[str, Any]]
    explanation: str

    def draw(self, figure: "Figure") -> None:
        looks = looks_of(self.series)
        left, right = panels = figure.subplots(1, 2)
        for label, of in self.series.items():
            of.draw(left, right, looks[label])
        for ax, properties in zip(panels, self.axes, strict=True):
            ax.set(**properties)
            ax.grid(axis="y")
        legend(figure, line_samples(looks))
        explain(figure, self.explanation)


def fill(
    figure: FigureSpec,
    rows: Sequence[Row],
    store: Store,
    *,
    read: Callable[[Row], S | None],
    mean: Callable[[list[S]], T],
    axes: tuple[dict[str, Any], dict[str, Any]],
    explanation: str,
) -> Drawing:
    """The figure of what ``read`` finds of each run of a cell (None: no files) and ``mean`` makes of these.

    Where a cell is measured and the files of all its runs are elsewhere, the drawing keeps the pictures that there are.
    ``explanation`` has ``{cell}``, ``{runs}`` and ``{spread}`` in it.
    """
    from hashbench.runs.fit import not_here

    series: dict[str, OfRuns] = {}
    for cell in figure.cells:
        digest = cell_hash(cell)
        measured = [row for row in rows if row.cell_hash == digest and row.status == "ok"]
        try:
            values = [value for row in measured if (value := read(row)) is not None]
            if values:
                series[cell.row] = mean(values)
            elif measured:
                raise not_here(min(measured, key=lambda row: row.seed), store)
        except HashbenchError as error:  # the rows are kept in the repository, the working files are not
            return nothing(f"not drawn here: {error}", keeps_files=True)
    if not series:
        return nothing("nothing is measured; nothing is drawn")
    first, width, n_cells = figure.cells[0], WIDTHS_IN[figure.file.width], len(figure.cells)
    counts = [of.n_runs for of in series.values()]
    text = explanation.format(
        cell=f"{first.dataset} {first.protocol}, {first.column}",
        runs=least_to_most(counts, "run"),
        spread="; shaded: least to most of them" if max(counts) > 1 else "",
    )
    return Drawing(
        points=[line for label, of in series.items() for line in of.lines(label)],
        size_in=(width, HEIGHT_IN + legend_height_in(len(series), width)),
        draw=_TwoPanels(series, axes, text).draw,
        n_measured=len(series),
        missing=None if len(series) == n_cells else f"{len(series)} of {n_cells} methods are measured",
    )


def check(figure: FigureSpec) -> None:
    """Raises HashbenchError unless each row has one cell, all in one section and on one database."""
    labels = [cell.row for cell in figure.cells]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise figure.error(f"row {again!r} has several cells; a figure of curves draws one run of each row")
    if len({(cell.section, cell.dataset, cell.protocol) for cell in figure.cells}) > 1:
        raise figure.error("several sections or data sets; a figure of curves shows one")


def draw_line(ax: "Axes", x: Any, y: Any, look: Look, every: int) -> None:
    """Draws the line of a row, with a marker at ``every`` so many points."""
    ax.plot(x, y, **look.style, linewidth=1, markersize=3, markevery=every)
