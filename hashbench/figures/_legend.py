"""The legend above the panels of a figure, in as many columns as its width holds."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

LINE_IN, LABEL_IN = 0.14, 1.1  # the height of a line, and the width of a label


def height_in(n_labels: int, width_in: float) -> float:
    """The height of a legend of so many labels, in inches."""
    return LINE_IN * -(-n_labels // _columns(width_in))


def draw(figure: "Figure", samples: Mapping[str, "Artist"]) -> None:
    """Writes the labels of ``samples`` above the panels, in their order, each beside its sample."""
    figure.legend(
        list(samples.values()),
        list(samples),
        loc="outside upper left",
        ncols=_columns(figure.get_figwidth()),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
        borderaxespad=0.1,
    )


def _columns(width_in: float) -> int:
    return max(2, int(width_in / LABEL_IN))
