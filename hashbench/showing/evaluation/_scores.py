"""The grid of scores: what ``print(score(...))`` and ``hashbench eval`` show."""

from collections.abc import Iterator

from hashbench.scoring.evaluation.scores import Scores
from hashbench.scoring.metrics import shown
from hashbench.showing.inks.text import PlainText
from hashbench.showing.sheet import Cell, Grid, Number, Range


def lines_of(scores: Scores) -> Iterator[str]:
    """The grid as aligned text."""
    return PlainText().grid(grid_of(scores))


def grid_of(scores: Scores) -> Grid:
    """A row for each metric: name, mean, standard deviation over the queries, and the range over tie orders."""
    rows: list[list[Cell]] = []
    for name in scores:
        value = scores.value(name)
        rows.append([shown(name), number(value.mean), number(value.std), range_of(scores, name)])
    return Grid(rows, ["metric", "mean", "std", "[worst, best]"])


def number(value: float | None) -> Cell:
    """Four decimals, or a dash for what has no value."""
    return "-" if value is None else Number(value)


def range_of(scores: Scores, name: str) -> Range | None:
    """The means of a metric in the worst and in the best order of the tied items, where it has them."""
    interval = scores.interval(name)
    if interval is None:
        return None
    return Range(*interval)
