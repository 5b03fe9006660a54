"""A small ranking with ties: its average precision in each order of the tied items, and the mean of these."""

from collections.abc import Sequence
from functools import partial
from itertools import chain, combinations, groupby, product
from math import comb, prod
from statistics import fmean

import numpy as np
from pydantic import Field

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics
from hashbench.showing.figures._declared import FigureFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain
from hashbench.showing.figures._matplotlib import patches
from hashbench.showing.sheet import Value

MOST_ORDERS = 40  # that can be read in one figure
RELEVANT = "#0072B2"
OTHER = "#FFFFFF"
EDGE = "#000000"
MEAN = "#D55E00"
LINE_IN = 0.14  # the height of an order
AROUND_IN = 1.0  # the height of what is above and below
GAP = 0.5  # between two tie groups, in items

Order = tuple[bool, ...]  # whether each item of a ranking is relevant


class OrdersFile(FigureFile):
    """The keys of such a figure: the Hamming distance of each item, ascending, and whether it is relevant."""

    distances: list[int] = Field(min_length=1, max_length=20)
    relevant: list[bool]

    @property
    def groups(self) -> list[list[bool]]:
        """For each tie group, whether its items are relevant."""
        tied = zip(self.distances, self.relevant, strict=True)
        return [[relevant for _, relevant in group] for _, group in groupby(tied, key=lambda item: item[0])]


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:  # noqa: ARG001  (no run is needed)
    """The figure of the example in its file, computed by the metric ``ap``; orders from the worst to the best."""
    file: OrdersFile = figure.file
    tie_aware = _ap(file.distances, file.relevant)
    orders = [(order, _ap(range(len(order)), order)) for order in _orders(file.groups)]
    orders.sort(key=lambda order: order[1])
    points: list[dict[str, Value]] = [
        {"order": place, "relevant": "".join(str(int(relevant)) for relevant in order), "ap": ap}
        for place, (order, ap) in enumerate(reversed(orders), 1)
    ]
    mean = fmean(ap for _, ap in orders)
    points.append({"order": None, "relevant": "mean of the orders", "ap": mean})
    points.append({"order": None, "relevant": "tie-aware", "ap": tie_aware})
    text = (
        f"Filled: relevant items. Boxes without a gap are tied. By the order of ties AP is {orders[0][1]:.2f} to "
        f"{orders[-1][1]:.2f}; its mean over all orders, {mean:.3f}, is the tie-aware AP of the one ranking with ties, "
        f"{tie_aware:.3f}."
    )
    size = WIDTHS_IN[file.width], AROUND_IN + LINE_IN * len(orders)
    return Drawing(points, size, partial(_draw, file.distances, orders, tie_aware, text), n_measured=0)


def _check(figure: FigureSpec) -> None:
    file: OrdersFile = figure.file
    if len(file.relevant) != len(file.distances) or not any(file.relevant):
        raise figure.error(f"relevant: {len(file.distances)} values are expected, as distances has, one of them true")
    if file.distances != sorted(file.distances) or file.distances[0] < 0:
        raise figure.error("distances: they are those of a ranking, so none is below 0 or below the one before it")
    if (n := prod(comb(len(group), sum(group)) for group in file.groups)) > MOST_ORDERS:
        raise figure.error(f"distances: the ties have {n} orders, and at most {MOST_ORDERS} are drawn")


def _orders(groups: list[list[bool]]) -> list[Order]:
    """The orders of the tied items that differ in where the relevant ones are; each is equally likely."""
    of_groups = [
        [[place in chosen for place in range(len(group))] for chosen in combinations(range(len(group)), sum(group))]
        for group in groups
    ]
    return [tuple(chain.from_iterable(order)) for order in product(*of_groups)]


def _ap(distances: Sequence[int], relevant: Sequence[bool]) -> float:
    """The tie-aware AP of one query whose items have these distances, ascending, and are relevant or not."""
    counts = np.zeros((1, 1 + distances[-1], 2), np.int64)
    np.add.at(counts[0], (np.array(distances), np.array(relevant, int)), 1)
    return float(metrics.evaluate(Histogram(counts, np.array([0, 1])), Metrics.parse(["ap"]))["ap"][0])


def _draw(distances: list[int], orders: list[tuple[Order, float]], tie_aware: float, text: str, figure: Figure) -> None:
    rankings, values = figure.subplots(1, 2, sharey=True, width_ratios=(1.25, 1))
    _draw_rankings(rankings, distances, [order for order, _ in orders])
    _draw_values(values, [ap for _, ap in orders], tie_aware)
    explain(figure, text)


def _draw_rankings(ax: Axes, distances: list[int], orders: list[Order]) -> None:
    """The items of each order as boxes, a gap between two tie groups, whose distance stands above."""
    groups = list(dict.fromkeys(distances))
    lefts = [place + GAP * groups.index(distance) for place, distance in enumerate(distances)]
    for line, order in enumerate(orders):
        for left, relevant in zip(lefts, order, strict=True):
            colour = RELEVANT if relevant else OTHER
            ax.add_patch(
                patches.Rectangle((left, line - 0.36), 1, 0.72, facecolor=colour, edgecolor=EDGE, linewidth=0.5)
            )
    for distance in groups:
        middle = fmean(left + 0.5 for left, other in zip(lefts, distances, strict=True) if other == distance)
        ax.text(middle, len(orders) - 0.35, f"$d={distance}$", parse_math=True, ha="center", va="bottom", fontsize=6.5)
    ax.set(xlim=(-0.2, lefts[-1] + 1.2), ylim=(-0.7, len(orders) + 0.4))
    ax.set_title("orders of the tied items", loc="left")
    ax.axis("off")


def _draw_values(ax: Axes, values: list[float], tie_aware: float) -> None:
    """A dot at the AP of each order, with its value, and a line at the tie-aware one."""
    ax.vlines(tie_aware, -0.7, len(values) - 0.5, color=MEAN, linewidth=1.0, zorder=1)
    ax.hlines(range(len(values)), 0, values, color="0.8", linewidth=0.6, zorder=0)
    ax.plot(values, range(len(values)), "o", color=RELEVANT, markersize=3)
    for line, value in enumerate(values):
        ax.text(1.03, line, f"{value:.2f}", va="center", fontsize=6)
    above = len(values) - 0.35
    ax.text(tie_aware, above, f"tie-aware AP {tie_aware:.3f}", color=MEAN, ha="center", va="bottom", fontsize=6.5)
    ax.set_xlim(0, 1.2)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "0.5", "", "1"])
    ax.set_title("AP", loc="left")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", left=False, labelleft=False)


KIND = Kind("a ranking with ties: AP in each order of the tied items, and their mean", OrdersFile, _fill, _check)
