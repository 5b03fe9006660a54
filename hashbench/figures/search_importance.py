"""Which settings matter: how much of the variance of the AP of a search's trials each explains alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hashbench.figures._declared import FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, nothing
from hashbench.figures.search_curves import SearchFile, check, drawn_methods
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.showing.sheet import Value
from hashbench.tuning.choice import importance
from hashbench.tuning.search import Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_IN = 0.22  # the height of a line
EDGES_IN = 1.6  # the height of what is above and below them
LEAST_WRITTEN = 0.05  # a smaller share has a cell without a number
EXPLANATION = (
    "How much of the variance of the {metric} over trials a setting explains alone: the adjusted R2 of a parabola in "
    "it, or of one value for each choice; pale cells without a number: less than .05. The rest is of several settings "
    "together, and of chance."
)


def _fill(figure: FigureSpec, _rows: Sequence[Row], _store: Store) -> Drawing:
    if (search := Search.load(figure.file.search)) is None:
        return nothing(f"the search {figure.file.search} is not here: hashbench tune makes it")
    methods = drawn_methods(figure.file, search)
    by_method = {title: shares for method, title in methods.items() if (shares := importance(search, method))}
    points: list[Mapping[str, Value]] = [
        {"method": title, "setting": setting, "explained": share}
        for title, shares in by_method.items()
        for setting, share in shares.items()
    ]
    size = WIDTHS_IN[figure.file.width], EDGES_IN + ROW_IN * len(by_method)
    return Drawing(
        points,
        size,
        partial(_draw, by_method, search.question.metric_title),
        len(points),
        None if points else "no trial has settings",
    )


def _draw(by_method: dict[str, dict[str, float]], metric: str, figure: "Figure") -> None:
    ax = figure.add_subplot()
    counts = Counter(key for shares in by_method.values() for key in shares)
    settings = [key for key, _ in counts.most_common()]
    grid = np.array([[shares.get(key, np.nan) for key in settings] for shares in by_method.values()])
    ax.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in zip(*np.nonzero(grid >= LEAST_WRITTEN), strict=True):
        share = grid[row, column]
        colour = "white" if share > 0.6 else "black"
        ax.text(column, row, f"{share:.2f}".removeprefix("0"), ha="center", va="center", fontsize=6, color=colour)
    ax.set_xticks(range(len(settings)), settings, rotation=90)
    ax.set_yticks(range(len(by_method)), list(by_method))
    ax.tick_params(length=0)
    explain(figure, EXPLANATION.format(metric=metric))


KIND = Kind("how much of the AP of a search's trials each setting explains", SearchFile, _fill, check)
