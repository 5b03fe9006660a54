"""Curves over the queries, each as CSV and as a picture."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from hashbench.evaluation.report._values import write_columns
from hashbench.foundation.files import atomic
from hashbench.histogram import Histogram, curves

COLOUR = "#0072B2"
SIZE_IN, DPI = (4.8, 3.6), 150
MARKED = 130  # a curve with more points has no markers


@dataclass(frozen=True)
class Curve:
    """One curve: column ``y`` drawn against column ``x``; all ``columns`` are written to its CSV file."""

    name: str
    title: str
    x: str
    y: str
    labels: tuple[str, str]  # of the axes
    columns: Mapping[str, NDArray[Any]]


def write_curves(folder: Path, counted: Histogram) -> list[Path]:
    """Writes precision against recall, precision at N and recall by radius as .csv and .png; returns the paths.

    The curves are means over the queries with a relevant item. If there is no such query, HashbenchError is raised and
    nothing is written.
    """
    written = []
    for curve in _curves(counted):
        data, picture = folder / f"{curve.name}.csv", folder / f"{curve.name}.png"
        write_columns(data, curve.columns)
        with atomic(picture) as temporary:
            temporary.write_bytes(_draw(curve))
        written += [data, picture]
    return written


def _curves(counted: Histogram) -> list[Curve]:
    fewest = int(
        counted.at_distance.sum(axis=1).min(initial=curves.N_RANKS)
    )  # of queries left out of their own ranking
    ball, rank = curves.radius_curve(counted), curves.rank_curve(counted, min(fewest, curves.N_RANKS))
    radius = {"radius": ball.radius, "recall": ball.recall, "precision": ball.precision}
    inside = {"radius": ball.radius, "recall": ball.recall, "retrieved": ball.retrieved, "empty": ball.empty}
    ranks = {"n": rank.n, "precision": rank.precision, "recall": rank.recall}
    within = f"within Hamming radius 0 to {counted.n_bits}"
    return [
        Curve(
            "precision_recall", f"Precision and recall {within}", "recall", "precision", ("recall", "precision"), radius
        ),
        Curve(
            "precision_at_n",
            "Precision of the first N, expected over ties",
            "n",
            "precision",
            ("N", "precision"),
            ranks,
        ),
        Curve("recall_by_radius", f"Recall {within}", "radius", "recall", ("Hamming radius", "recall"), inside),
    ]


def _draw(curve: Curve) -> bytes:
    """The curve as a PNG; the user's matplotlib settings do not change it."""
    import matplotlib
    from matplotlib.figure import Figure

    x, y = curve.columns[curve.x], curve.columns[curve.y]
    marker = "o" if len(x) <= MARKED else None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
        figure = Figure(figsize=SIZE_IN, dpi=DPI, layout="constrained")
        axes = figure.add_subplot()
        axes.plot(x, y, color=COLOUR, marker=marker, markersize=3, linewidth=1.4, clip_on=False)
        axes.set(xlabel=curve.labels[0], ylabel=curve.labels[1], ylim=(0, 1))
        axes.set_xlim(0, 1) if curve.x == "recall" else axes.set_xlim(x[0], max(x[-1], x[0] + 1))
        axes.set_title(curve.title, loc="left")
        axes.grid(alpha=0.3)
        image = io.BytesIO()
        figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()
