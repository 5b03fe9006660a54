"""mAP against seconds of training: a dot with a name for each row, of one column."""

from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.figures import _front, _panels
from hashbench.showing.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, nothing
from hashbench.showing.figures._looks import looks_of

HEIGHT_IN = 5.6
EXPLANATION = (
    "{n} methods. Tie-aware mAP: the mean over runs; seconds: their median. Line: the Pareto front; no other method is "
    "as fast and has as high an mAP. Methods were not all measured on one machine; the time of a search is left out."
)

Points = list[dict[str, Any]]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of the cells whose rows have seconds of training."""
    points: Points = []
    methods: dict[str, str] = {}
    for cell in _panels.filled(figure, rows, store, published=False).cells():
        if cell.measured is None:
            continue
        if seconds := [row.seconds.train for row in cell.measured.rows if row.seconds]:
            methods[cell.declared.row] = cell.declared.method
            points.append({"method": cell.declared.row, "train_s": median(seconds), "ap": cell.measured.mean})
    if not points:
        return nothing("nothing is measured; nothing is drawn")
    points = [{**point, "is_on_front": not any(_is_better(other, point) for other in points)} for point in points]
    draw = partial(_draw, points, methods)
    return Drawing(points, (WIDTHS_IN[figure.file.width], HEIGHT_IN), draw, len(points))


def _check(figure: FigureSpec) -> None:
    _panels.require_ap(figure)
    _panels.require_one_cell_a_row(figure)


def _is_better(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether it has at most the seconds and at least the AP, and one of them better."""
    is_as_good = one["train_s"] <= other["train_s"] and one["ap"] >= other["ap"]
    return bool(is_as_good and (one["train_s"], one["ap"]) != (other["train_s"], other["ap"]))


def _draw(points: Points, methods: dict[str, str], figure: Figure) -> None:
    looks = looks_of(methods)
    dots = [
        _front.Dot(point["method"], point["train_s"], point["ap"], looks[point["method"]], point["is_on_front"])
        for point in points
    ]
    _front.draw(dots, ("seconds of training", "tie-aware mAP"), EXPLANATION.format(n=len(points)), figure)


KIND = Kind("mAP against seconds of training: a dot with its name for each row", CellsFile, _fill, _check)
