"""How much trials bring: the best AP of held-out queries after k trials of a search, for each method."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, explain, legend, nothing
from hashbench.figures._panels import line_samples, looks_of
from hashbench.runs.row import Row
from hashbench.runs.settings import method_file
from hashbench.runs.store import Store
from hashbench.tables.render_csv import Value
from hashbench.tuning.choice import Floats, best_after, choices, score_of
from hashbench.tuning.search import Search

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT_IN = 3.2
EXPLANATION = (
    "{search}: the best AP of k of {n} trials, the mean over all their orders; the band is one standard deviation over "
    "orders. A trial has the median AP of its studies. Where lines cross, the comparison depends on the budget."
)


class SearchFile(FigureFile):
    """The keys of a figure of a search: the name of the search."""

    search: str


def _fill(figure: FigureSpec, _rows: Sequence[Row], _store: Store) -> Drawing:
    search = Search.load(figure.file.search)
    if search is None or not search.trials:
        return nothing(f"the search {figure.file.search} is not here: hashbench tune makes it")
    lines = {
        method_file(each.method).title: best_after([score_of(t) for t in search.of_method(each.method).values()])
        for each in choices(search)
    }
    points: list[Mapping[str, Value]] = [
        {"method": title, "trials": k, "best_ap": float(mean), "std": float(std)}
        for title, (means, stds) in lines.items()
        for k, (mean, std) in enumerate(zip(means, stds, strict=True), 1)
    ]
    n = max(len(means) for means, _ in lines.values())
    text = EXPLANATION.format(search=", ".join(search.question.left_out), n=n)
    return Drawing(points, (WIDTHS_IN[figure.file.width], HEIGHT_IN), partial(_draw, lines, text), len(points))


def _draw(lines: dict[str, tuple[Floats, Floats]], text: str, figure: "Figure") -> None:
    from matplotlib.ticker import MaxNLocator

    ax, looks = figure.add_subplot(), looks_of(lines)
    for title, (means, stds) in lines.items():
        k = np.arange(1, len(means) + 1)
        ax.plot(k, means, **looks[title], markersize=3, markevery=max(1, len(k) // 8), linewidth=1.0)
        ax.fill_between(k, means - stds, means + stds, color=looks[title]["color"], alpha=0.12, linewidth=0)
    ax.set(xlabel="trials", ylabel="best AP of held-out queries", xlim=(1, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(axis="y")
    legend(figure, line_samples(looks), beside=True)
    explain(figure, text)


KIND = Kind("the best AP of held-out queries after k trials of a search", SearchFile, _fill, lambda _: None)
