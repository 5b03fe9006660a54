"""AP against seconds of training: a dot with a name for each row, of one column."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from hashbench.figures import _panels
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain, nothing
from hashbench.figures._looks import looks_of
from hashbench.runs.row import Row
from hashbench.runs.store import Store

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

HEIGHT_IN = 5.6
FONT = 5.5  # points
STEPS = 24  # places around a dot that are tried for its name, at each distance
DISTANCES = (4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 26.0, 34.0, 44.0)  # points
BESIDE = 6.0  # points; a name that is further from its dot has a line to it
EXPLANATION = (
    "{n} methods. AP with ties: the mean over runs; seconds: their median. Line: the Pareto front; no other method is "
    "as fast and has as high an AP. Methods were not all measured on one machine; the time of a search is left out."
)

Points = list[dict[str, Any]]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure of the cells whose rows have seconds of training."""
    points: Points = []
    methods: dict[str, str] = {}
    for cell in _panels.filled(figure, rows, store, published=False).cells():
        seconds = [row.seconds.train for row in cell.measured.rows if row.seconds] if cell.measured else []
        if cell.measured is not None and seconds:
            methods[cell.declared.row] = cell.declared.method
            points.append({"method": cell.declared.row, "train_s": median(seconds), "ap": cell.measured.mean})
    if not points:
        return nothing("nothing is measured; nothing is drawn")
    points = [{**point, "is_on_front": not any(_is_better(other, point) for other in points)} for point in points]
    draw = partial(_draw, points, methods)
    return Drawing(points, (WIDTHS_IN[figure.file.width], HEIGHT_IN), draw, len(points))


def _check(figure: FigureSpec) -> None:
    for cell in figure.cells:
        if (cell.metric, cell.evaluation) != ("ap", "database"):
            raise figure.error(
                f"cell ({cell.row}, {cell.column}) has metric {cell.metric}: ap of the database is drawn"
            )
    rows = [cell.row for cell in figure.cells]
    if again := next((row for row in rows if rows.count(row) > 1), None):
        raise figure.error(f"row {again!r} has several cells: one of each row is drawn")


def _is_better(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether it has at most the seconds and at least the AP, and one of them better."""
    is_as_good = one["train_s"] <= other["train_s"] and one["ap"] >= other["ap"]
    return bool(is_as_good and (one["train_s"], one["ap"]) != (other["train_s"], other["ap"]))


def _draw(points: Points, methods: dict[str, str], figure: Figure) -> None:
    from matplotlib.ticker import LogFormatter

    ax, looks = figure.add_subplot(), looks_of(methods)
    for point in points:
        look = looks[point["method"]]
        ax.plot(point["train_s"], point["ap"], look["marker"], color=look["color"], markersize=4)
    front = sorted((point["train_s"], point["ap"]) for point in points if point["is_on_front"])
    ax.step(*zip(*front, strict=True), where="post", color="0.6", linewidth=0.8, zorder=0)
    ax.set(xlabel="seconds of training", ylabel="AP with ties", xscale="log")
    ax.xaxis.set_major_formatter("{x:g}")  # matplotlib's own labels are mathematics, which no figure reads
    ax.xaxis.set_minor_formatter(LogFormatter())
    ax.margins(x=0.08, y=0.05)
    ax.grid()
    explain(figure, EXPLANATION.format(n=len(points)))
    _name_dots(ax, points, {label: look["color"] for label, look in looks.items()}, figure)


def _name_dots(ax: Axes, points: Points, colours: dict[str, str], figure: Figure) -> None:
    """Writes the name of each dot at the nearest free place around it, with a line to it where it is not beside it."""
    from matplotlib.transforms import Bbox

    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)  # before it, nobody knows how far two dots are apart
    inside, pixels = ax.get_window_extent(), figure.dpi / 72
    centres = [ax.transData.transform((point["train_s"], point["ap"])) for point in points]
    taken = [Bbox.from_bounds(x - 2.5 * pixels, y - 2.5 * pixels, 5 * pixels, 5 * pixels) for x, y in centres]
    taken += [Bbox([left, (right[0], left[1] + pixels)]) for left, right in pairwise(_front_of(points, centres))]
    for point, (x, y) in sorted(zip(points, centres, strict=True), key=lambda pair: -pair[0]["ap"]):
        name = ax.annotate(point["method"], (point["train_s"], point["ap"]), fontsize=FONT, va="center", ha="center")
        name.set_color(colours[point["method"]])
        name.set_in_layout(False)
        size = name.get_window_extent().padded(pixels)
        places = list(_places_around(x, y, size.width, size.height, pixels))
        free = [place for place in places if _is_inside(place, inside) and not place.count_overlaps(taken)]
        others = [other for other in taken if not other.contains(x, y)]
        clear = [place for place in free if not _is_crossed(place, (x, y), others)]
        box = (clear or free or places)[0]
        taken.append(box)
        middle_x, middle_y = ax.transData.inverted().transform(((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2))
        name.set_position((middle_x, middle_y))
        nearest_x, nearest_y = _nearest(box, x, y)
        if np.hypot(nearest_x - x, nearest_y - y) > BESIDE * pixels:
            ends = ax.transData.inverted().transform([(x, y), (nearest_x, nearest_y)])
            ax.plot(*ends.T, color=colours[point["method"]], linewidth=0.4, zorder=0)


def _is_inside(box: "Bbox", other: "Bbox") -> bool:
    return other.contains(box.x0, box.y0) and other.contains(box.x1, box.y1)


def _is_crossed(box: "Bbox", dot: tuple[float, float], others: Sequence["Bbox"]) -> bool:
    """Whether the line from a box to its dot crosses another box."""
    from matplotlib.path import Path

    line = Path([dot, _nearest(box, *dot)])
    return any(line.intersects_bbox(other, filled=True) for other in others)


def _nearest(box: "Bbox", x: float, y: float) -> tuple[float, float]:
    """The point of ``box`` that is nearest to a dot outside it."""
    return min(max(x, box.x0), box.x1), min(max(y, box.y0), box.y1)


def _front_of(points: Points, centres: list[Any]) -> list[Any]:
    """The centres of the dots on the Pareto front, from left to right."""
    front = [centre for point, centre in zip(points, centres, strict=True) if point["is_on_front"]]
    return sorted(front, key=lambda centre: float(centre[0]))


def _places_around(x: float, y: float, width: float, height: float, pixels: float) -> Iterator["Bbox"]:
    """Boxes of this size around a place, the nearest first: to the right, and on against the clock."""
    from matplotlib.transforms import Bbox

    for distance in DISTANCES:
        for step in range(STEPS):
            angle = 2 * np.pi * step / STEPS
            centre_x = x + np.cos(angle) * (distance * pixels + width / 2)
            centre_y = y + np.sin(angle) * (distance * pixels + height / 2)
            yield Bbox.from_bounds(centre_x - width / 2, centre_y - height / 2, width, height)


KIND = Kind("AP against seconds of training: a dot with its name for each row", CellsFile, _fill, _check)
