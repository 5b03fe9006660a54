"""A panel of the leaderboard as a picture: the range of each rank, and beside it who beats whom."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from hashbench.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, nothing
from hashbench.figures._looks import look_of
from hashbench.foundation.errors import unknown
from hashbench.runs.query_scores import AP
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables.leaderboard import Panel, declared, leaderboard, tables_of
from hashbench.tables.leaderboard_sheet import labels_of

ROW_IN = 0.17  # the height of a line
AROUND_IN = 1.4  # the height of what is around the lines
CERTAIN = 0.975  # the share from which a cell has no number: its colour says it
EXPLANATION = (
    "{tasks}. Order: Borda points on the {measure} of {datasets}, code lengths averaged. Left: the rank of each method "
    "in the middle 95% of the resamples of data sets and repeats; the mark is its place in the order. Right: in how "
    "many percent of the resamples the method of the row has more points than the one of the column; without a "
    "number: nearly all (dark) or none. {rests_on}"
)


class LeaderboardFile(FigureFile):
    """The keys of such a figure: the panel of experiments/leaderboard.toml."""

    panel: str


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    (panel,) = leaderboard(tables_of(rows, store), [figure.file.panel])
    if not panel.lines:
        return nothing(f"no method has all tasks of the panel {panel.name}: hashbench run makes the rows")
    points = []
    for place, line in enumerate(panel.lines, 1):
        ranks = {"place": place, "rank_low": line.low, "rank_high": line.high, "points": line.points}
        points.append({"method": line.method, **ranks, **{task.title: line.score(task) for task in panel.tasks}})
    size = (WIDTHS_IN[figure.file.width], AROUND_IN + ROW_IN * len(points))
    return Drawing(points, size, partial(_draw, panel), len(points))


def _check(figure: FigureSpec) -> None:
    panels = declared()
    if figure.file.panel not in panels:
        raise figure.error(f"panel: {unknown('panel', figure.file.panel, panels)}")


def _draw(panel: Panel, figure: Figure) -> None:
    n = len(panel.lines)
    ranks, pairs = figure.subplots(1, 2, width_ratios=(1, 1.25))
    for place, line in enumerate(panel.lines):
        look = look_of(line.name)
        ranks.plot((line.low, line.high), (place, place), color=look["color"], linewidth=1.6, solid_capstyle="butt")
        ranks.plot([place + 1], [place], look["marker"], color=look["color"], markersize=5, markeredgewidth=0)
    ranks.set_yticks(range(n), labels_of(panel))
    ranks.set(xlabel="rank, 1 is the best", xlim=(0.4, n + 0.6), ylim=(n - 0.5, -0.5), axisbelow=True)
    ranks.locator_params(axis="x", integer=True)
    ranks.grid()
    ranks.tick_params(axis="y", length=0)
    shares = panel.beats.copy()
    np.fill_diagonal(shares, np.nan)
    pairs.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if 1 - CERTAIN < share < CERTAIN:
            colour = "white" if share > 0.6 else "black"
            pairs.text(column, row, f"{100 * share:.0f}", ha="center", va="center", fontsize=4.5, color=colour)
    pairs.set_xticks(range(n), [str(number) for number in range(1, n + 1)], fontsize=5)
    pairs.set_yticks([])
    pairs.set_xlabel("the row beats the method of this number")
    tasks = "; ".join(f"{task.title}: {', '.join(map(str, bits))} bits" for task, bits in panel.tasks.items())
    datasets = " and ".join(dict.fromkeys(task.dataset for task in panel.tasks))
    measure = "AP" if panel.measure == AP else panel.measure
    text = EXPLANATION.format(tasks=tasks, measure=measure, datasets=datasets, rests_on=panel.rests_on)
    if panel.not_ranked:
        text += f" Not ranked, for lack of a task: {', '.join(panel.not_ranked)}."
    explain(figure, text)


KIND = Kind("a panel of the leaderboard: ranges of ranks, and who beats whom", LeaderboardFile, _fill, _check)
