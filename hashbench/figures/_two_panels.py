"""A figure of two panels side by side with one legend, drawn from the working files of runs: a line for each row."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from hashbench.figures import _legend, _of_runs
from hashbench.figures._drawing import WIDTHS_IN, Drawing
from hashbench.figures._kind import FigureSpec
from hashbench.tables.csv_field import Value
from hashbench.tables.render_png import RowStyle

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_IN = 2.2  # of the panels

T = TypeVar("T")


def drawing(
    figure: FigureSpec,
    found: Mapping[str, T],
    lines: Callable[[str, T], Iterable[Mapping[str, Value]]],
    draw: Callable[["Figure"], None],
) -> Drawing:
    """What ``draw`` draws of what was ``found``, by the labels of the rows; ``lines`` are those of the CSV for one."""
    width = WIDTHS_IN[figure.file.width]
    return Drawing(
        points=[line for label, of in found.items() for line in lines(label, of)],
        size_in=(width, HEIGHT_IN + _legend.height_in(len(found), width)),
        draw=draw,
        n_measured=len(found),
        missing=_of_runs.measured_line(len(found), figure),
    )


def line(ax: "Axes", x: Any, y: Any, look: RowStyle, every: int) -> None:
    """Draws the line of a row, with a marker at ``every`` so many points."""
    ax.plot(
        x, y, color=look.colour, marker=look.marker, linestyle=look.line, linewidth=1, markersize=3, markevery=every
    )
