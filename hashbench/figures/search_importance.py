"""Which settings matter: the share of each in what a random forest explains of the AP of a search's trials."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hashbench.figures._declared import FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, nothing
from hashbench.figures.search_curves import SearchFile
from hashbench.runs.row import Row
from hashbench.runs.settings import method_file
from hashbench.runs.store import Store
from hashbench.tables.render_csv import Value
from hashbench.tuning.choice import choices, importance
from hashbench.tuning.search import Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW_IN, EDGES_IN = 0.22, 1.3  # the height of a line, and of what is above and below them
EXPLANATION = (
    "Permutation importance of each setting in a random forest that predicts the AP of a trial, as a share of the sum; "
    "R2 is of trials that a tree has not seen: near 0 or below, so few trials do not show what the settings matter."
)


def _fill(figure: FigureSpec, _rows: Sequence[Row], _store: Store) -> Drawing:
    if (search := Search.load(figure.file.search)) is None:
        return nothing(f"the search {figure.file.search} is not here: hashbench tune makes it")
    found = {method_file(each.method).title: importance(search, each.method) for each in choices(search)}
    found = {title: each for title, each in found.items() if each[0]}
    points: list[Mapping[str, Value]] = [
        {"method": title, "setting": setting, "share": share, "r2": r2}
        for title, (shares, r2) in found.items()
        for setting, share in shares.items()
    ]
    size = WIDTHS_IN[figure.file.width], EDGES_IN + ROW_IN * len(found)
    return Drawing(points, size, partial(_draw, found), len(points), None if points else "no trial has settings")


def _draw(found: dict[str, tuple[dict[str, float], float]], figure: "Figure") -> None:
    ax = figure.add_subplot()
    settings = list(dict.fromkeys(key for shares, _ in found.values() for key in shares))
    grid = np.array([[shares.get(key, np.nan) for key in settings] for shares, _ in found.values()])
    ax.imshow(grid, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for row, column in zip(*np.nonzero(~np.isnan(grid)), strict=True):
        share = grid[row, column]
        shown: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": 6,
            "color": "white" if share > 0.6 else "black",
        }
        ax.text(column, row, f"{share:.2f}", **shown)
    titles = [f"{title} (R2 {r2:.2f})" for title, (_, r2) in found.items()]
    ax.set_xticks(range(len(settings)), settings, rotation=35, ha="right")
    ax.set_yticks(range(len(titles)), titles)
    ax.tick_params(length=0)
    explain(figure, EXPLANATION)


KIND = Kind("the share of each setting in the AP of a search's trials", SearchFile, _fill, lambda _: None)
