"""Dots on a logarithmic axis of what they cost, with the Pareto front and the names of dots beside them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hashbench.showing.figures._drawing import Artist, Axes, Figure, explain, legend
from hashbench.showing.figures._looks import Look
from hashbench.showing.figures._matplotlib import ticker, transforms

if TYPE_CHECKING:
    from matplotlib.transforms import Bbox

FONT = 5.5  # points
STEPS = 24  # places around a dot that are tried for its name, at each distance
DISTANCES = (4.0, 6.0, 8.0, 11.0, 15.0, 20.0, 26.0, 34.0, 44.0)  # points
SIZE = 4.0  # points, of a dot
LEAST_APART = 0.035  # of the length of the axis: between two labelled costs
BESIDE = 6.0  # points; a name that is further from its dot has a line to it


@dataclass(frozen=True)
class Dot:
    """What costs ``cost`` and gives ``gain``; ``name`` is written beside it, unless it is empty.

    It is drawn ``shift`` dots to the right, where it would cover another one.
    """

    name: str
    cost: float
    gain: float
    look: Look
    is_on_front: bool
    is_hollow: bool = False
    shift: int = 0


def draw(
    dots: Sequence[Dot],
    labels: tuple[str, str],
    explanation: str,
    figure: Figure,
    samples: Mapping[str, Artist] | None = None,
    *,
    are_costs_labelled: bool = False,
) -> None:
    """Draws the dots, the front as steps, and the names; ``labels`` are those of cost and gain.

    The legend has the ``samples``, if there are any. The axis has the costs themselves, or powers of 10.
    """
    ax = figure.add_subplot()
    for dot in dots:
        (drawn,) = ax.plot(dot.cost, dot.gain, dot.look["marker"], color=dot.look["color"], markersize=SIZE)
        moved = transforms.ScaledTranslation(dot.shift * SIZE / 72, 0, figure.dpi_scale_trans)
        drawn.set_transform(ax.transData + moved)
        if dot.is_hollow:
            drawn.set(markerfacecolor="white", markeredgewidth=0.8)
    front = sorted((dot.cost, dot.gain) for dot in dots if dot.is_on_front)
    ax.step(*zip(*front, strict=True), where="post", color="0.6", linewidth=0.8, zorder=0)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    ax.set_xscale("log")
    if are_costs_labelled:
        ax.set_xticks(_apart(sorted({dot.cost for dot in dots})))
        ax.xaxis.set_minor_locator(ticker.NullLocator())
    else:
        ax.xaxis.set_minor_formatter(ticker.LogFormatter())
    ax.xaxis.set_major_formatter("{x:g}")  # matplotlib's own labels are mathematics, which no figure reads
    ax.margins(x=0.08, y=0.05)
    ax.grid()
    explain(figure, explanation)
    if samples is not None:
        legend(figure, samples)
    _name_dots(ax, dots, figure)


def _apart(costs: Sequence[float]) -> list[float]:
    """The ascending costs without those that are too near to the one before to be written beside it."""
    least = (costs[-1] / costs[0]) ** LEAST_APART
    kept = [costs[0]]
    for cost in costs[1:]:
        if cost >= kept[-1] * least:
            kept.append(cost)
    return kept


def _name_dots(ax: Axes, dots: Sequence[Dot], figure: Figure) -> None:
    """Writes the name of each dot at the nearest free place around it, with a line to it where it is not beside it."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)  # before it, nobody knows how far two dots are apart
    inside = ax.get_window_extent()
    pixels = figure.dpi / 72
    shifts = np.array([[dot.shift * SIZE * pixels, 0] for dot in dots])
    centres = ax.transData.transform([(dot.cost, dot.gain) for dot in dots]) + shifts
    taken = [transforms.Bbox.from_bounds(x, y, 0, 0).padded(2.5 * pixels) for x, y in centres]
    front = sorted(tuple(centre) for centre, dot in zip(centres, dots, strict=True) if dot.is_on_front)
    taken += [transforms.Bbox([left, (right[0], left[1] + pixels)]) for left, right in pairwise(front)]
    for dot, (x, y) in sorted(zip(dots, centres, strict=True), key=lambda pair: -pair[0].gain):
        if not dot.name:
            continue
        style: dict[str, Any] = {"color": dot.look["color"], "fontsize": FONT, "va": "center", "ha": "center"}
        name = ax.text(dot.cost, dot.gain, dot.name, **style)
        name.set_in_layout(False)
        size = name.get_window_extent().padded(pixels)
        boxes = list(_places_around(x, y, size.width, size.height, pixels))
        free = (box for box in boxes if inside.contains(*box.min) and inside.contains(*box.max))
        box = next((box for box in free if not box.count_overlaps(taken)), boxes[0])
        taken.append(box)
        nearest = np.clip((x, y), box.min, box.max)
        middle = np.add(box.min, box.max) / 2
        begin, end, place = ax.transData.inverted().transform([(x, y), nearest, middle])
        name.set_position(tuple(place))
        if np.hypot(nearest[0] - x, nearest[1] - y) > BESIDE * pixels:
            ax.plot([begin[0], end[0]], [begin[1], end[1]], color=dot.look["color"], linewidth=0.4, zorder=0)


def _places_around(x: float, y: float, width: float, height: float, pixels: float) -> Iterator["Bbox"]:
    """Boxes of this size around a place, the nearest first: to the right, and on against the clock."""
    for distance in DISTANCES:
        for step in range(STEPS):
            angle = 2 * np.pi * step / STEPS
            centre_x = x + np.cos(angle) * (distance * pixels + width / 2)
            centre_y = y + np.sin(angle) * (distance * pixels + height / 2)
            yield transforms.Bbox.from_bounds(centre_x - width / 2, centre_y - height / 2, width, height)
