"""The leaderboard as a picture: the mean ranks with their intervals, AP against training time, or the rank by task."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain, legend, nothing
from hashbench.figures._panels import line_samples, looks_of
from hashbench.foundation.errors import unknown
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.leaderboard import Leaderboard, Line, Selection, leaderboard
from hashbench.tables.render_csv import Value
from hashbench.tables.resampling import LEVEL
from hashbench.tables.tracks import KINDS

ROW_IN, AROUND_IN, COST_IN = 0.15, 0.9, 3.6  # the height of a line, of what is around the lines, and of the costs
NAMES_IN = 1.6  # below a heat map, for the names of its tasks


class LeaderboardFile(FigureFile):
    """The keys of such a figure: what it shows, and the tasks and kinds of methods of it (none: all)."""

    shows: Literal["ranks", "cost", "tasks"]
    datasets: list[str] = []
    protocols: list[str] = []
    bits: list[int] = []
    features: list[str] = []
    kinds: list[str] = []


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:  # noqa: ARG001  (the rows are enough)
    file: LeaderboardFile = figure.file
    chosen = (file.datasets, file.protocols, file.bits, file.features, file.kinds)
    board = leaderboard(rows, Selection(*chosen))
    points_of, draw, height = SHOWS[file.shows]
    if not (points := list(points_of(board))):
        return nothing("no two methods have rows on one of its tasks: hashbench train and hashbench run make rows")
    size = WIDTHS_IN[file.width], height(board)
    return Drawing(points, size, partial(draw, board), len(points))


def _check(figure: FigureSpec) -> None:
    if wrong := next((kind for kind in figure.file.kinds if kind not in KINDS), None):
        raise figure.error(f"kinds: {unknown('kind of method', wrong, KINDS)}")


def _ranked(board: Leaderboard) -> list[Line]:
    return [line for line in board.lines if line.rank is not None]


def _named(line: Line) -> dict[str, Value]:
    return {"method": line.label, "settings": line.track}


def _of_ranks(board: Leaderboard) -> Iterator[Mapping[str, Value]]:
    for line in _ranked(board):
        values = line.values()
        yield _named(line) | {key: values[key] for key in ("mean_rank", "rank_low", "rank_high", "n_tasks", "beaten")}


def _draw_ranks(board: Leaderboard, figure: Figure) -> None:
    lines = _ranked(board)
    ax = figure.add_subplot()
    for place, line in enumerate(lines):
        if line.interval is not None:
            ax.plot(line.interval, (place, place), color="#56B4E9", linewidth=2.2, solid_capstyle="butt")
        face = "#0072B2" if line.interval is not None else "white"
        ax.plot([line.rank or 0.0], [place], "o", color="#0072B2", markerfacecolor=face, markersize=3)
    _name_lines(ax, [f"{line.label}: {len(line.ranks)}" for line in lines])
    ax.set(xlabel="mean rank, 1 is the best", ylim=(len(lines) - 0.4, -0.6))
    ax.grid(axis="x")
    explain(
        figure,
        f"After a name: the number of tasks. Bar: {LEVEL:.0%} of bootstrap samples of tasks and seeds; hollow: too few "
        "tasks, or one seed. Order: by the share of the other lines that a line beats on its tasks.",
    )


def _of_cost(board: Leaderboard) -> Iterator[Mapping[str, Value]]:
    for task in board.tasks:
        of_task = [line for line in board.lines if task in line.ranks and line.results[task].train_s is not None]
        front = _front([(line.results[task].train_s or 0.0, line.results[task].mean) for line in of_task])
        for line, is_front in zip(of_task, front, strict=True):
            result = line.results[task]
            named = {"task": board.title_of(task), **_named(line), "train_s": line.results[task].train_s}
            yield named | {"ap": result.mean, "std": result.std, "is_on_front": is_front}


def _front(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Whether no other point has at most the seconds and at least the AP, and one of them better.

    >>> _front([(1.0, 0.5), (2.0, 0.4), (3.0, 0.7), (3.0, 0.6)])
    [True, False, True, False]
    """
    return [
        not any(other_s <= s and other_ap >= ap and (other_s, other_ap) != (s, ap) for other_s, other_ap in points)
        for s, ap in points
    ]


def _draw_cost(board: Leaderboard, figure: Figure) -> None:
    points: list[Any] = list(_of_cost(board))
    tasks = list(dict.fromkeys(point["task"] for point in points))
    looks = {label: look | {"linestyle": ""} for label, look in looks_of(line.label for line in board.lines).items()}
    across = min(2, len(tasks))
    axes = figure.subplots(-(-len(tasks) // across), across, squeeze=False, sharey=True).flat
    for ax, task in zip(axes, tasks, strict=False):
        of_task = [point for point in points if point["task"] == task]
        front = sorted((point["train_s"], point["ap"]) for point in of_task if point["is_on_front"])
        ax.step(*zip(*front, strict=True), where="post", color="0.6", linewidth=0.8, zorder=0)
        for point in of_task:
            ax.plot([point["train_s"]], [point["ap"]], **looks[point["method"]], markersize=4)
        ax.set(xscale="log", xlabel="seconds of training")
        ax.set_title(task, loc="left")
        ax.grid()
    for ax in list(axes)[len(tasks) :]:
        ax.set_axis_off()
    figure.axes[0].set_ylabel("AP with ties")
    shown = {point["method"] for point in points}
    legend(figure, line_samples({label: look for label, look in looks.items() if label in shown}), beside=True)
    explain(
        figure, "Medians over seeds. Line: the Pareto front; no other method is as fast and has as high an AP. "
        "Methods were not all measured on one machine."
    )  # fmt: skip


def _of_tasks(board: Leaderboard) -> Iterator[Mapping[str, Value]]:
    for line in _ranked(board):
        for task, rank in line.ranks.items():
            yield _named(line) | {"task": board.title_of(task), "rank": rank, "of": line.n_compared[task]}


def _draw_tasks(board: Leaderboard, figure: Figure) -> None:
    lines = _ranked(board)
    tasks = [task for task in board.tasks if any(task in line.ranks for line in lines)]
    ranks = np.array([[line.ranks.get(task, np.nan) for task in tasks] for line in lines])
    shares = (ranks - 1) / (np.array([max(line.n_compared.get(task, 0) for line in lines) for task in tasks]) - 1)
    ax = figure.add_subplot()
    ax.imshow(shares, cmap="Blues_r", vmin=0, vmax=1.2, aspect="auto")
    for row, column in zip(*np.nonzero(~np.isnan(ranks)), strict=True):
        colour = "white" if shares[row, column] < 0.4 else "black"
        ax.text(column, row, f"{ranks[row, column]:g}", ha="center", va="center", fontsize=4.5, color=colour)
    _name_lines(ax, [line.label for line in lines])
    ax.set_xticks(range(len(tasks)), [board.title_of(task) for task in tasks], rotation=90, fontsize=5)
    ax.tick_params(length=0)
    explain(
        figure, "Number: the rank on the task. Colour: the share of the others that is better. White: not measured."
    )


def _name_lines(ax: Axes, labels: Sequence[str]) -> None:
    ax.set_yticks(range(len(labels)), labels, fontsize=5.5, parse_math=False)


def _height(board: Leaderboard) -> float:
    return AROUND_IN + ROW_IN * len(_ranked(board))


def _cost_height(board: Leaderboard) -> float:
    n_tasks = len({point["task"] for point in _of_cost(board)})
    return max(COST_IN * -(-n_tasks // 2), AROUND_IN + ROW_IN * len(board.lines))


Points = Callable[[Leaderboard], Iterator[Mapping[str, Value]]]
SHOWS: dict[str, tuple[Points, Callable[[Leaderboard, Figure], None], Callable[[Leaderboard], float]]] = {
    "ranks": (_of_ranks, _draw_ranks, _height),
    "cost": (_of_cost, _draw_cost, _cost_height),
    "tasks": (_of_tasks, _draw_tasks, lambda board: _height(board) + NAMES_IN),
}

KIND = Kind("the leaderboard: mean ranks, AP against training time, or ranks by task", LeaderboardFile, _fill, _check)
