"""The range of mAP over all orders of tied items: a bar from the worst to the best, a dot at the tie-aware mAP.

With a ``search`` a line shows what tuning brings, and seeds have their deviation, so that one picture says how much of
the difference between two methods is the methods, the tuning, the seed and the order of ties.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.running.tuning.choice import best_after, scores_alike
from hashbench.running.tuning.search import Search
from hashbench.showing.figures import _panels
from hashbench.showing.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain
from hashbench.showing.figures._panels import Panel, Point
from hashbench.showing.tables import notation
from hashbench.showing.tables.table import Table

Tuning = Mapping[str, tuple[float, float]]  # of each label: the AP after one trial, and after all

BELOW = 0.37  # the middle of a row, where the line of the tuning is
ROW_IN = 0.17  # the height of a bar
AROUND_IN = 0.62  # the height of the title and the axis of a panel
MOST_TICKS = 4  # intervals between the ticks of a panel that has little width
AXIS = "tie-aware mAP"


class RangesFile(CellsFile):
    """The keys of the figure; where it names ``searches``, the methods are sorted by their AP."""

    searches: list[str] = []
    is_sorted: bool = False  # by the AP without searches, too
    published: bool = True  # false: the published values are not drawn
    apart: list[str] = []  # rows far from the others, in panels below with a scale of their own


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with what ``rows`` hold; where nothing is measured, with the published AP alone."""
    file: RangesFile = figure.file
    table = _panels.filled(figure, rows, store, published=file.published)
    panels = _by_bits(table)
    tuning = _tuning(table, file.searches)
    labels = [*_panels.methods_of(panels)]
    if file.searches or file.is_sorted:
        labels.sort(key=lambda label: -max((p.mean or 0 for panel in panels for p in panel.series[label]), default=0))
    blocks = [
        [label for label in labels if label not in file.apart],
        [label for label in labels if label in file.apart],
    ]
    blocks = [block for block in blocks if block]
    otherwise = "nothing is drawn: the paper prints no values"
    if table.has_published:
        otherwise = "drawn: the published tie-aware mAP, without ranges, which the paper does not print"
    across = min(file.panels_across, len(panels))
    text = _panels.only_published(table, "published tie-aware mAP")
    if table.has_measured:
        runs = notation.runs(table)
        text = f"Bar: worst to best mAP over all orders of ties; dot: their mean, the tie-aware mAP ({runs})"
        text += "; hollow: published." if table.has_published else "."
    if len(blocks) > 1:
        text += " The panels below have another scale."
    if tuning:
        text += (
            " Thin line through the dot: the standard deviation over seeds. Line below: the mAP of validation queries "
            "in the search of settings, from one trial (their mean) to the best of all."
        )
    points = []
    if table.has_measured or table.has_published:
        points = [line for panel in panels for line in panel.lines()]
    if tuning:
        for line in points:
            one, all_of = tuning.get(str(line["series"]), (None, None))
            line |= {"one_trial": one, "all_trials": all_of}
    lines_of_panels = -(-len(panels) // across)
    return Drawing(
        points=points,
        size_in=(
            WIDTHS_IN[file.width],
            0.15 + (AROUND_IN * len(blocks) + ROW_IN * len(labels)) * lines_of_panels,
        ),
        draw=partial(_draw, panels, blocks, text, across, tuning),
        n_measured=table.n_measured,
        missing=_panels.share_missing(table, otherwise),
    )


def _tuning(table: Table, searches: Sequence[str]) -> Tuning:
    """What the trials of the ``searches`` that are here gave each row's method."""
    known = [search for name in searches if (search := Search.load(name)) is not None]
    tuning: dict[str, tuple[float, float]] = {}
    for (row, _), cell in (item for section in table.sections for item in section.cells.items()):
        if scores := [score for search in known for score in scores_alike(search, cell.declared.method)]:
            means, _ = best_after(scores)
            tuning[row] = float(means[0]), float(means[-1])
    return tuning


def _check(figure: FigureSpec) -> None:
    _panels.require_ap(figure)
    for cell in figure.cells:
        if _panels.place_of(cell, "bits") is None:
            raise figure.error(f"cell ({cell.row}, {cell.column}) has no bits: tie_ranges has a panel for each number")


def _by_bits(table: Table) -> list[Panel]:
    """A panel for each number of bits; its title names the section where there are several."""
    series: dict[tuple[str, int | None], dict[str, list[Point]]] = defaultdict(dict)
    for section in table.sections:
        for (row, _), cell in section.cells.items():
            bits = _panels.place_of(cell.declared, "bits")
            series[section.title, bits].setdefault(row, []).append(Point(bits, cell))
    panels = []
    for (name, bits), of_panel in series.items():
        title = f"{bits} bits"
        if len(table.sections) > 1:
            title = f"{name}, {title}"
        panels.append(Panel(title, "bits", AXIS, of_panel))
    return panels


def _draw(panels: list[Panel], blocks: list[list[str]], text: str, across: int, tuning: Tuning, figure: Figure) -> None:
    n_lines = -(-len(panels) // across)
    heights = [len(labels) for labels in blocks for _ in range(n_lines)]
    grid = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights)
    for number, labels in enumerate(blocks):
        axes = list(grid[number * n_lines : (number + 1) * n_lines].flatten())
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        for place, (ax, panel) in enumerate(zip(axes, panels, strict=False)):
            _draw_panel(ax, panel, labels, tuning)
            ax.sharex(axes[0])
            ax.tick_params(labelleft=place % across == 0)
            if number > 0:
                ax.set_title("", loc="left")
            if number < len(blocks) - 1:
                ax.set_xlabel("")
            if across > 1:
                ax.locator_params(axis="x", nbins=MOST_TICKS)
    explain(figure, text)


def _draw_panel(ax: Axes, panel: Panel, labels: list[str], tuning: Tuning) -> None:
    _panels.draw_dots(ax, panel, labels, ranges=True, stds=bool(tuning))
    for place, label in enumerate(labels):
        if label in tuning:
            ax.plot(tuning[label], [place + BELOW] * 2, color=_panels.HOLLOW, marker="|", markersize=3, linewidth=0.8)


KIND = Kind(
    "mAP over all orders of ties: a bar from the worst to the best, a dot at the tie-aware mAP",
    RangesFile,
    _fill,
    _check,
)
