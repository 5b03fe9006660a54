"""Recall after rescoring against the bytes of a vector: a dot for each code and query, named on the Pareto front."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from hashbench.showing.figures import _front, _matplotlib
from hashbench.showing.figures._drawing import WIDTHS_IN, Artist, Drawing, Figure, legend_height_in
from hashbench.showing.figures._looks import looks_of
from hashbench.showing.tables.vectors import Comparison, Line, on_front

HEIGHT_IN = 4.0
EXPLANATION = (
    "{title}, after the first {factor} x {k} items by codes are ordered again by the floats. Filled: the query is "
    "floats; hollow: a code. Dots of the same bytes stand side by side where they would cover each other. Grey: the "
    "Pareto front; no other code has as few bytes and finds as many."
)
TOUCHING = 0.022  # of the range of recalls: dots that are nearer cover each other


def drawing_of_vectors(comparison: Comparison, lines: Sequence[Line]) -> Drawing:
    """The picture of the lines of a comparison."""
    height = HEIGHT_IN + legend_height_in(len({line.code.title for line in lines}), WIDTHS_IN["page"])
    return Drawing([], (WIDTHS_IN["page"], height), partial(_draw, comparison, lines), len(lines))


def _draw(comparison: Comparison, lines: Sequence[Line], figure: Figure) -> None:
    factor = comparison.main_factor
    k = comparison.rule.k
    looks = looks_of({line.code.title: line.code.run.name.method for line in lines})
    front = on_front(lines, factor)
    dots = []
    for line, shift in zip(lines, _shifts(lines, factor), strict=True):
        is_on_front = line in front
        name = line.label if is_on_front else ""
        look = looks[line.code.title]
        is_hollow = line.query == "bits"
        dots.append(_front.Dot(name, line.bytes_per_vector, line.recalls[factor], look, is_on_front, is_hollow, shift))
    samples: dict[str, Artist] = {}
    for title, look in looks.items():
        samples[title] = _matplotlib.lines.Line2D(
            [], [], color=look["color"], marker=look["marker"], linestyle="none", markersize=4
        )
    explanation = EXPLANATION.format(title=comparison.title, factor=factor, k=k)
    labels = ("bytes of a vector", f"recall of the {k} nearest after {factor}x rescoring")
    _front.draw(dots, labels, explanation, figure, samples, are_costs_labelled=True)


def _shifts(lines: Sequence[Line], factor: int) -> list[int]:
    """How many dots to the right each line's dot is drawn, so that it covers none of the same bytes before it."""
    recalls = [line.recalls[factor] for line in lines]
    near = TOUCHING * (max(recalls) - min(recalls) or 1)
    drawn: dict[tuple[int, int], list[float]] = defaultdict(list)
    shifts: list[int] = []
    for line, recall in zip(lines, recalls, strict=True):
        shift = 0
        while any(abs(recall - other) < near for other in drawn[line.bytes_per_vector, shift]):
            shift += 1
        drawn[line.bytes_per_vector, shift].append(recall)
        shifts.append(shift)
    return shifts
