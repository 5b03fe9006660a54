"""Curves of precision and recall of a histogram, drawn with matplotlib for ``eval --curves`` and ``Scores.plot``."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hashbench.scoring.histogram import Histogram, curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOUR = "#0072B2"
SIZE_IN = (4.8, 3.6)
DPI = 150
STYLE = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False}
MARKED = 130  # a curve with more points has no markers


class Curve(NamedTuple):
    """A curve with its ``columns`` in the CSV; ``x`` and ``y`` are the two that are drawn."""

    name: str
    values: Mapping[str, Any]
    columns: Sequence[str]
    x: str
    y: str
    title: str
    label: str  # of the x axis


def curves_of(counted: Histogram) -> list[Curve]:
    """The three curves; raises HashbenchError if no query has a relevant item."""
    # a query that is left out of its own ranking has fewer items
    fewest = int(counted.at_distance.sum(axis=1).min(initial=curves.N_RANKS))
    ball = curves.radius_curve(counted)
    rank = curves.rank_curve(counted, fewest)
    # nothing has no precision: it is the mean over the queries that find something, and blank where none does
    ball["precision"] = ball["precision_of_found"]
    within = f"within Hamming radius 0 to {counted.n_bits}"
    both = ("radius", "recall", "precision", "empty")
    inside = ("radius", "recall", "retrieved", "empty")
    first = "Precision of the first N, expected over ties"
    return [
        Curve("precision_recall", ball, both, "recall", "precision", f"Precision and recall {within}", "recall"),
        Curve("precision_at_n", rank, tuple(rank), "n", "precision", first, "N"),
        Curve("recall_by_radius", ball, inside, "radius", "recall", f"Recall {within}", "Hamming radius"),
    ]


def curve_of_pairs(pairs: curves.Curve) -> Curve:
    """The shares of pairs by Hamming radius, drawn as precision against recall."""
    return Curve("pairs", pairs, tuple(pairs), "recall", "precision", "Pairs within each Hamming radius", "recall")


def figure_of_curves(counted: Histogram) -> "Figure":
    """Precision against recall, and precision of the first N; HashbenchError if no query has a relevant item."""
    with own_style(STYLE):
        return _drawn(curves_of(counted)[:2])


def write_picture(path: Path, curve: Curve) -> None:
    """Writes the curve as a PNG."""
    with own_style(STYLE):
        _drawn([curve]).savefig(path, format="png", metadata={"Software": None})


@contextmanager
def own_style(style: Mapping[Any, Any]) -> Iterator[None]:
    """The user's matplotlib settings change nothing in the block: the ``style`` is added to the defaults."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        yield


def _drawn(shown: Sequence[Curve]) -> "Figure":
    """The curves side by side."""
    from matplotlib.figure import Figure

    width, height = SIZE_IN
    figure = Figure(figsize=(width * len(shown), height), dpi=DPI, layout="constrained")
    for axes, curve in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        x = curve.values[curve.x]
        y = curve.values[curve.y]
        marker = "o" if len(x) <= MARKED else None
        axes.plot(x, y, color=COLOUR, marker=marker, markersize=3, linewidth=1.4, clip_on=False)
        axes.set(xlabel=curve.label, ylabel=curve.y, ylim=(0, 1))
        if curve.x == "recall":
            axes.set_xlim(0, 1)
        else:
            axes.set_xlim(x[0], max(x[-1], x[0] + 1))
        axes.set_title(curve.title, loc="left")
        axes.grid(alpha=0.3)
    return figure
