"""The leaderboard as a picture: mean ranks, which of them differ, AP against training time, ranks by task."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any, Literal

import numpy as np

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain, nothing
from hashbench.figures._panels import axes_of
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.leaderboard import Leaderboard, Line, Selection, leaderboard
from hashbench.tables.resampling import LEVEL

ROW_IN, AROUND_IN, PANEL_IN = 0.15, 0.9, 3.6  # the height of a line, of what is around the lines, and of a panel
NAMES_IN = 1.6  # below a heat map, for the names of its tasks
COMMON = 10  # tasks of a test of mean ranks: its normal approximation is for many
NOT_INSTALLED = "scikit-posthocs is not installed: pip install -e '.[posthocs]'"
COST = (
    "Medians over seeds. A dot: a method, with its settings tuned, our defaults or by hand. Named, on the line: the "
    "Pareto front; no other method is as fast and has as high an AP. Methods were not all measured on one machine; the "
    "time of a search is left out."
)

Points = list[dict[str, Any]]
Show = tuple[Points, float, Callable[[Figure], None]]  # what is drawn, its height in inches, and the function for it


class LeaderboardFile(FigureFile, Selection):
    """The keys of such a figure: what it shows, and the tasks and kinds of methods of it (none: all)."""

    shows: Literal["ranks", "difference", "cost", "tasks"]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:  # noqa: ARG001  (the rows are enough)
    file: LeaderboardFile = figure.file
    board = leaderboard(rows, file)
    if not any(map(_is_ranked, board.lines)):
        return nothing("no two methods have rows on one of its tasks: hashbench train and hashbench run make rows")
    if file.shows == "difference" and (why := _why_no_difference(board)):
        return nothing(why, keeps_files=why == NOT_INSTALLED)
    points, height, draw = SHOWS[file.shows](board)
    return Drawing(points, (WIDTHS_IN[file.width], height), draw, len(points))


def _of_lines(lines: Sequence[Line], *columns: str) -> Points:
    return [{column: line[column] for column in ("method", "settings", *columns)} for line in lines]


def _ranks(board: Leaderboard) -> Show:
    points = _of_lines([*filter(_is_ranked, board.lines)], "mean_rank", "rank_low", "rank_high", "n_tasks", "beaten")
    return points, AROUND_IN + ROW_IN * len(points), partial(_draw_ranks, points)


def _draw_ranks(points: Points, figure: Figure) -> None:
    ax = figure.add_subplot()
    for place, of in enumerate(points):
        if is_sure := of["rank_low"] is not None:
            interval = of["rank_low"], of["rank_high"]
            ax.plot(interval, (place, place), color="#56B4E9", linewidth=2.2, solid_capstyle="butt")
        face = "#0072B2" if is_sure else "white"
        ax.plot([of["mean_rank"]], [place], "o", color="#0072B2", markerfacecolor=face, markersize=3)
    _name_lines(ax, [f"{of['method']}: {of['n_tasks']}" for of in points])
    ax.set(xlabel="mean rank, 1 is the best", ylim=(len(points) - 0.4, -0.6))
    ax.grid(axis="x")
    explain(
        figure,
        f"After a name: the number of tasks. Bar: {LEVEL:.0%} of bootstrap samples of tasks and seeds; hollow: too few "
        "tasks, or one seed. Order: by the share of the other lines that a line beats on its tasks.",
    )


def _complete(board: Leaderboard) -> list[Line]:
    return [line for line in board.lines if len(line.results) == len(board.tasks)]


def _why_no_difference(board: Leaderboard) -> str:
    if len(board.tasks) < COMMON or len(_complete(board)) < 3:
        n = f"it has {len(board.tasks)} tasks, and {len(_complete(board))} methods have all of them"
        return f"{n}: a test of mean ranks needs {COMMON} tasks and 3 methods"
    return "" if find_spec("scikit_posthocs") else NOT_INSTALLED


def _difference(board: Leaderboard) -> Show:
    from pandas import DataFrame
    from scikit_posthocs import posthoc_nemenyi_friedman

    lines = _complete(board)
    ap = DataFrame({line["method"]: [line.results[task].mean for task in board.tasks] for line in lines})
    ranks, p = ap.rank(axis=1, ascending=False).mean(), posthoc_nemenyi_friedman(ap)
    points = [
        {"method": name, "mean_rank": rank, "n_tasks": len(ap), "like": "; ".join(p.index[p[name] >= 1 - LEVEL])}
        for name, rank in ranks.sort_values(kind="stable").items()
    ]
    n_out = len(board.lines) - len(lines)
    return points, AROUND_IN + ROW_IN * len(points), partial(_draw_difference, ranks, p, len(ap), n_out)


def _draw_difference(ranks: Any, p: Any, n_tasks: int, n_out: int, figure: Figure) -> None:
    from scikit_posthocs import critical_difference_diagram

    ax = figure.add_subplot()
    ax.spines["top"].set_visible(True)
    looks = {"label_props": {"fontsize": 5.5}, "elbow_props": {"linewidth": 0.8}}
    drawn = critical_difference_diagram(ranks, p, ax=ax, alpha=1 - LEVEL, marker_props={"s": 12}, **looks)
    for (bar,) in drawn["crossbars"]:
        bar.set_xdata(sorted(bar.get_xdata()))  # they come from a set, whose order is another each time
    explain(
        figure,
        f"Mean ranks over the {n_tasks} tasks, 1 is the best. A bar joins methods that the test of Nemenyi does not "
        f"tell apart at the level {1 - LEVEL:.2f}; it takes code lengths of one data set for independent. "
        f"Not shown: {n_out} that lack a task.",
    )


def _cost(board: Leaderboard) -> Show:
    points: Points = []
    for task, line in product(board.tasks, board.lines):
        of = line.results.get(task)
        if of is not None and of.rank is not None and of.train_s is not None:
            named = {"task": board.title_of(*task.parts), **_of_lines([line])[0]}
            points.append(named | {"train_s": of.train_s, "ap": of.mean})
    points = [of | {"is_on_front": not any(_is_better(other, of) for other in points)} for of in points]
    n_panels = len({of["task"] for of in points})
    return points, PANEL_IN * -(-n_panels // 2), partial(_draw_cost, points)


def _is_better(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether it has at most the seconds and at least the AP on the same task, and one of them better."""
    (s, ap), (than_s, than_ap) = ((of["train_s"], of["ap"]) for of in (one, other))
    return bool(one["task"] == other["task"] and s <= than_s and ap >= than_ap and (s, ap) != (than_s, than_ap))


def _draw_cost(points: Points, figure: Figure) -> None:
    from matplotlib.ticker import LogFormatter

    titles = list(dict.fromkeys(of["task"] for of in points))
    axes = axes_of(figure, titles, min(2, len(titles)), share=True)
    for ax, title in zip(axes, titles, strict=True):
        of_panel = sorted((of for of in points if of["task"] == title), key=lambda of: (of["train_s"], of["ap"]))
        front = [of for of in of_panel if of["is_on_front"]]
        ax.plot(*_places(of_panel), "o", color="#56B4E9", markersize=3)
        ax.step(*_places(front), where="post", color="0.6", linewidth=0.8, zorder=0)
        ax.plot(*_places(front), "o", color="#0072B2", markersize=4)
        for of in front:
            near: dict[str, Any] = {"xytext": (-3, 2), "textcoords": "offset points", "ha": "right", "fontsize": 6}
            ax.annotate(of["method"], (of["train_s"], of["ap"]), **near)
        ax.set(xlabel="seconds of training", xscale="log")
        ax.xaxis.set_major_formatter("{x:g}")  # matplotlib's own labels are mathematics, which no figure reads
        ax.xaxis.set_minor_formatter(LogFormatter())
        ax.set_title(title, loc="left")
        ax.margins(x=0.25)
        ax.grid()
    axes[0].set_ylabel("AP with ties")
    explain(figure, COST)


def _places(points: Points) -> tuple[list[float], list[float]]:
    return [of["train_s"] for of in points], [of["ap"] for of in points]


def _tasks(board: Leaderboard) -> Show:
    titles, lines = [board.title_of(*task.parts) for task in board.tasks], [*filter(_is_ranked, board.lines)]
    points = [
        _of_lines([line])[0] | {"task": board.title_of(*task.parts), "rank": of.rank, "of": of.n_compared}
        for line in lines
        for task, of in line.results.items()
        if of.rank is not None
    ]
    return points, AROUND_IN + ROW_IN * len(lines) + NAMES_IN, partial(_draw_tasks, points, titles)


def _draw_tasks(points: Points, titles: Sequence[str], figure: Figure) -> None:
    methods, ranked = list(dict.fromkeys(of["method"] for of in points)), {of["task"] for of in points}
    titles = [title for title in titles if title in ranked]
    shares, ax = np.full((len(methods), len(titles)), np.nan), figure.add_subplot()
    for of in points:
        at = methods.index(of["method"]), titles.index(of["task"])
        shares[at] = share = (of["rank"] - 1) / (of["of"] - 1)
        colour = "white" if share < 0.4 else "black"
        ax.text(*at[::-1], f"{of['rank']:g}", ha="center", va="center", fontsize=4.5, color=colour)
    ax.imshow(shares, cmap="Blues_r", vmin=0, vmax=1.2, aspect="auto")
    _name_lines(ax, methods)
    ax.set_xticks(range(len(titles)), titles, rotation=90, fontsize=5)
    ax.tick_params(length=0)
    explain(
        figure, "Number: the rank on the task. Colour: the share of the others that is better. White: not measured."
    )


def _is_ranked(line: Line) -> bool:
    return bool(line["n_tasks"])


def _name_lines(ax: Axes, labels: Sequence[str]) -> None:
    ax.set_yticks(range(len(labels)), labels, fontsize=5.5)


SHOWS: dict[str, Callable[[Leaderboard], Show]] = {
    "ranks": _ranks,
    "difference": _difference,
    "cost": _cost,
    "tasks": _tasks,
}

SUMMARY = "the leaderboard: mean ranks, which differ, AP against training time, ranks by task"
KIND = Kind(SUMMARY, LeaderboardFile, _fill, lambda _: None)
