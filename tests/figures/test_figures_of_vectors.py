"""The picture of ``hashbench bench vectors.npy``: no dot hides another, and the measured bytes are on the axis."""

from types import SimpleNamespace
from typing import Any

from matplotlib.figure import Figure

from hashbench.showing.figures import _front, _vectors


def test_dots_of_the_same_bytes_and_recall_stand_side_by_side() -> None:
    points = [(6, 0.9), (6, 0.899), (6, 0.5), (6, 0.898), (8, 0.9), (8, 0.1)]
    lines: list[Any] = [SimpleNamespace(bytes_per_vector=n, recalls={4: recall}) for n, recall in points]
    assert _vectors._shifts(lines, 4) == [0, 1, 0, 2, 0, 0]


def test_the_axis_has_the_measured_bytes_and_moved_dots_are_drawn_to_the_right() -> None:
    figure = Figure(layout="constrained")
    look: Any = {"color": "C0", "marker": "o"}
    dots = [_front.Dot("", cost, 0.5, look, cost == 6, shift=cost % 2) for cost in (6, 40, 41, 100)]
    _front.draw(dots, ("bytes", "recall"), "", figure, are_costs_labelled=True)
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["6", "40", "100"]  # 41 would be on 40
    moved = [line.get_transform().transform((1, 0))[0] - ax.transData.transform((1, 0))[0] for line in ax.lines[:4]]
    assert [round(pixels, 2) for pixels in moved] == [0, 0, round(_front.SIZE / 72 * figure.dpi, 2), 0]
