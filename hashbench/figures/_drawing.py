"""What a figure shows: its points, and how they are drawn."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hashbench.tables.csv_field import Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHARACTERS_PER_IN = 22  # of the small print below a figure
WIDTHS_IN = {"column": 3.3, "page": 6.9}  # of a paper with two columns, and of its page


@dataclass(frozen=True)
class Drawing:
    """A figure that is filled in: its points by column, and the function that draws it on an empty canvas.

    ``missing`` says in one line what is not measured; None where everything is. With ``keeps_files`` the figure needs
    files that are not here, so the pictures that were drawn where they were stay.
    """

    points: Sequence[Mapping[str, Value]]  # all with the same keys; none: there is nothing to draw
    size_in: tuple[float, float]
    draw: Callable[["Figure"], None]
    n_measured: int
    missing: str | None = None
    keeps_files: bool = False


def explain(figure: "Figure", text: str) -> None:
    """Writes below the panels what the marks mean, in lines as long as the figure is wide."""
    per_line = int(figure.get_figwidth() * CHARACTERS_PER_IN)
    wrapped = "\n".join(textwrap.fill(line, per_line) for line in text.splitlines())
    if wrapped:
        figure.supxlabel(wrapped, fontsize=6, color="0.35", x=0.01, ha="left")


def how_much(n_measured: int, n_cells: int, otherwise: str) -> str | None:
    """The line that says how much is measured; None where all is. ``otherwise`` says what is drawn without it."""
    if n_measured == 0:
        return f"nothing is measured; {otherwise}"
    return None if n_measured == n_cells else f"{n_measured} of {n_cells} points are measured"
