"""Precision over the number of retrieved items, and precision against recall, from the histograms of runs."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from pydantic import Field

from hashbench.figures import _of_runs
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import Drawing
from hashbench.figures._of_runs import Curve, Series
from hashbench.histogram import Histogram
from hashbench.histogram.curves import radius_curve, rank_curve
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.showing.sheet import Value
from hashbench.tables.collect import kept_histogram

N_MARKS = 50  # places of a precision curve that are drawn and written
AXES = (
    {"xlabel": "retrieved items", "ylabel": "precision", "ylim": (0, None)},
    {"xlabel": "recall", "ylabel": "precision", "xlim": (0, 1), "ylim": (0, None)},
)
EXPLANATION = (
    "{cell}; means over the queries and {runs}. Left: expected over the orders of ties. Right: one point for each "
    "Hamming radius."
)


class CurvesFile(CellsFile):
    """The keys of such a figure: one cell for each row, and how many of the items retrieved first are counted."""

    retrieved: int = Field(default=1000, ge=2)


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of all runs whose histograms are here; where a cell has none, nothing is drawn or removed."""
    read = partial(kept_histogram, store=store)
    mean = partial(_mean, retrieved=figure.file.retrieved)
    return _of_runs.fill(figure, rows, store, read=read, mean=mean, axes=AXES, explanation=EXPLANATION)


def _check(figure: FigureSpec) -> None:
    _of_runs.check(figure)
    if other := next((cell for cell in figure.cells if cell.evaluation in ("test", "asymmetric")), None):
        raise figure.error(f"row {other.row!r}: evaluation {other.evaluation} has no histogram to draw")


def _mean(label: str, histograms: Sequence[Histogram], retrieved: int) -> Series:
    by_rank = [rank_curve(histogram, retrieved) for histogram in histograms]
    by_radius = [radius_curve(histogram) for histogram in histograms]
    n = by_rank[0]["n"]
    kept = np.unique(np.linspace(0, len(n) - 1, N_MARKS).round().astype(np.int64))
    recall = np.mean([curve["recall"] for curve in by_radius], axis=0)
    curves = (
        Curve(n[kept], np.mean([curve["precision"][kept] for curve in by_rank], axis=0), every=10),
        Curve(recall, np.mean([curve["precision"] for curve in by_radius], axis=0), every=8),
    )
    points: list[dict[str, Value]] = [
        {"curve": name, "series": label, "x": float(x), "precision": float(y), "n_runs": len(histograms)}
        for name, curve in zip(("retrieved", "recall"), curves, strict=True)
        for x, y in zip(curve.x, curve.y, strict=True)
    ]
    return Series(curves, points, len(histograms))


KIND = Kind("precision over retrieved items and against recall, from the histograms of runs", CurvesFile, _fill, _check)
