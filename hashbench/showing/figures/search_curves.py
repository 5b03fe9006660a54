"""How much trials bring: the best mAP of validation queries after k trials of a search, for each method."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from hashbench.foundation.errors import counted, unknown
from hashbench.learning.methods import METHODS
from hashbench.running.runs.row import Row
from hashbench.running.runs.settings import method_file
from hashbench.running.runs.store import Store
from hashbench.running.tuning.choice import Floats, best_after, choices, scores_alike
from hashbench.running.tuning.search import Search
from hashbench.showing.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, legend, nothing
from hashbench.showing.figures._looks import Look, looks_of
from hashbench.showing.figures._matplotlib import ticker
from hashbench.showing.figures._panels import line_samples
from hashbench.showing.sheet import Value

HEIGHT_IN = 3.2
MOST_LINES = 8  # that an eye can follow
MOST_BANDS = 6  # more would hide each other
EXPLANATION = (
    "{search}: the best {metric} of k of {n} trials, the mean over all their orders; {band}. A trial has {scored}. "
    "Where lines cross, the comparison depends on the tuning budget."
)


class SearchFile(FigureFile):
    """The keys of a figure of a search: its name, and the methods that are drawn (empty: all)."""

    search: str
    methods: list[str] = []


def _check(figure: FigureSpec) -> None:
    for method in figure.file.methods:
        if method not in METHODS.names:
            raise figure.error(str(unknown("method", method, METHODS.names)))


def _fill(figure: FigureSpec, _rows: Sequence[Row], _store: Store) -> Drawing:
    search = Search.load(figure.file.search)
    if search is None or not search.trials:
        return nothing(f"the search {figure.file.search} is not here: hashbench tune makes it")
    wanted = figure.file.methods or METHODS.names
    methods = [choice.method for choice in choices(search) if choice.method in wanted]  # the best first
    shown = {method: method_file(method).title for method in methods[:MOST_LINES]}
    lines = {title: best_after(scores_alike(search, method)) for method, title in shown.items()}
    if not lines:
        return nothing(f"the search {figure.file.search} has no trial of {', '.join(figure.file.methods)}")
    points: list[Mapping[str, Value]] = [
        {"method": title, "trials": k, "best_ap": float(mean), "std": float(std)}
        for title, (means, stds) in lines.items()
        for k, (mean, std) in enumerate(zip(means, stds, strict=True), 1)
    ]
    n = max(len(means) for means, _ in lines.values())
    band = "without its deviation"
    if len(lines) <= MOST_BANDS:
        band = "the band is one standard deviation over orders"
    metric = search.question.metric_title.replace("AP", "mAP")  # the mean over queries
    scored = f"the median {metric} of its repeats"
    if search.question.is_two_stage:
        scored = f"the {metric} of the first repeat; later trials lie around the best so far and are left out"
    data = ", ".join(search.question.left_out)
    text = EXPLANATION.format(search=data, n=n, band=band, metric=metric, scored=scored)
    if n_others := len(methods) - len(shown):
        text += f" Drawn are the best {MOST_LINES}; left out: {counted(n_others, 'other')}."
    looks = looks_of({title: method for method, title in shown.items()})
    draw = partial(_draw, lines, looks, text, metric)
    return Drawing(points, (WIDTHS_IN[figure.file.width], HEIGHT_IN), draw, len(points))


def _draw(
    lines: dict[str, tuple[Floats, Floats]], looks: dict[str, Look], text: str, metric: str, figure: Figure
) -> None:
    ax = figure.add_subplot()
    for title, (means, stds) in lines.items():
        k = np.arange(1, len(means) + 1)
        ax.plot(k, means, **looks[title], markersize=3, markevery=max(1, len(k) // 8), linewidth=1.0)
        if len(lines) <= MOST_BANDS:
            ax.fill_between(k, means - stds, means + stds, color=looks[title]["color"], alpha=0.12, linewidth=0)
    ax.set(xlabel="trials", ylabel=f"best {metric} of validation queries", xlim=(1, None))
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    ax.grid(axis="y")
    legend(figure, line_samples(looks), beside=True)
    explain(figure, text)


KIND = Kind("the best mAP of validation queries after k trials of a search", SearchFile, _fill, _check)
