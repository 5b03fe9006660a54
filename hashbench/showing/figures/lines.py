"""A metric over bits, bytes, k or a cutoff: a panel for each section, a line for each row."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import comb
from typing import Any, Literal

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing.figures import _panels
from hashbench.showing.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.showing.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, legend, legend_height_in
from hashbench.showing.figures._looks import looks_of
from hashbench.showing.figures._matplotlib import lines
from hashbench.showing.figures._panels import Panel, Point
from hashbench.showing.sheet import Value
from hashbench.showing.tables import notation
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.table import Section, Table

BOUND = "equal buckets (eq. 11)"
AXES = {"bits": "bits", "k": "k", "cutoff": "retrieved items K"}  # what may vary along a row, and its name
BYTES = "bytes of a vector"  # everything counted; on a logarithmic axis
AROUND = 1.2  # how far this axis goes beyond the codes that are declared, measured or not
PANEL_IN = 2.0  # the height of a panel


class LinesFile(CellsFile):
    """The keys of such a figure; ``bound`` draws the speed-up of codes that use all buckets equally."""

    bound: Literal["suf"] | None = None
    published: bool = True  # false: only measured values, for a table whose published ones are there to orientate
    one_scale: bool = False  # true: panels that are compared have the same axes
    axis: Literal["bytes"] | None = None  # in place of what varies along a row


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with what ``rows`` hold; where nothing is measured, with the published values and the bound."""
    file: LinesFile = figure.file
    table = _panels.filled(figure, rows, store, published=file.published)
    of_sections = [_panel(section, file.axis) for section in table.sections]
    panels = [panel for panel in of_sections if _panels.methods_of([panel])] or of_sections
    bounds = [_bound(panel) if file.bound else {} for panel in panels]
    across = min(file.panels_across, len(panels))
    width = WIDTHS_IN[file.width]
    legend_in = legend_height_in(len(_panels.methods_of(panels)) + any(bounds), width)
    drawn = []
    if table.has_published:
        drawn.append("the published values")
    if any(bounds):
        drawn.append("the bound")
    otherwise = "nothing is drawn: the paper prints no values"
    if drawn:
        otherwise = f"drawn: {' and '.join(drawn)}"
    points: list[dict[str, Value]] = []
    for panel, bound in zip(panels, bounds, strict=True):
        for line, point in zip(panel.lines(), panel.points(), strict=True):
            if bound:
                line["bound"] = bound[point.x or 0]
            points.append(line)
    return Drawing(
        points=points if table.has_measured or drawn else [],
        size_in=(width, 0.25 + PANEL_IN * -(-len(panels) // across) + legend_in),
        draw=partial(_draw, panels, bounds, _explanation(table), across, file.one_scale),
        n_measured=table.n_measured,
        missing=_panels.share_missing(table, otherwise),
    )


def _check(figure: FigureSpec) -> None:
    if figure.file.axis is not None:
        if without := [cell for cell in figure.cells if _panels.place_of(cell, figure.file.axis) is None]:
            raise figure.error(f"axis bytes: {without[0].method} has no bytes of an item")
        return
    for section in dict.fromkeys(cell.section for cell in figure.cells):
        cells = [cell for cell in figure.cells if cell.section == section]
        varying = _varying(cells)
        if len(varying) != 1 or None in {_panels.place_of(cell, varying[0]) for cell in cells}:
            names = " and ".join(varying) or "none of them"
            where = f"section {section!r}: one of bits, k and cutoff must vary by column, and every column must have it"
            raise figure.error(f"{where}; {names} does")
        bound = figure.file.bound
        sizes = {_panels.place_of(cell, "d") for cell in cells}
        if bound is not None and (varying != ["k"] or len(sizes) > 1 or None in sizes):
            raise figure.error(f"section {section!r}: the bound {bound} is a line over k at one d")


def _varying(cells: Sequence[Cell]) -> list[str]:
    return [name for name in AXES if len({_panels.place_of(cell, name) for cell in cells}) > 1]


def _panel(section: Section, axis: str | None) -> Panel:
    """The panel of a section. "USPS: NDCG" is a panel called USPS, whose y-axis is called NDCG."""
    title, _, y_label = section.title.partition(": ")
    cells = [cell.declared for cell in section.cells.values()]
    (varying,) = _varying(cells) if axis is None else [axis]
    series: dict[str, list[Point]] = {row: [] for row in section.rows}
    for (row, _), cell in section.cells.items():
        series[row].append(Point(_panels.place_of(cell.declared, varying), cell))
    for points in series.values():
        points.sort(key=lambda point: point.x or 0)
    metric = "tie-aware mAP" if cells[0].metric == "ap" else cells[0].metric
    y_label = y_label or metric
    if all(cell.printed_as == "percent" for cell in cells):
        y_label += " (%)"
    return Panel(title, AXES.get(varying, BYTES), y_label, series)


def _bound(panel: Panel) -> Mapping[int, float]:
    """The expected speed-up by k, ascending."""
    cells = (point.cell.declared.settings for point in panel.points())
    sizes = {(int(settings["d"]), int(settings["k"])) for settings in cells}
    return {k: expected_speed_up(d, k) for d, k in sorted(sizes)}


def expected_speed_up(d: int, k: int) -> float:
    """The expected speed-up of codes that set k of d bits and use all buckets equally.

    1 / (1 - C(d - k, k) / C(d, k)): one over the probability that two such codes share a bucket
    [Jeong and Song 2018, eq. 11]. The paper calls it the upper bound; it is one for k = 1 only.

    >>> [round(expected_speed_up(64, k), 2) for k in (1, 2, 3, 4)]
    [64.0, 16.13, 7.34, 4.3]
    """
    return comb(d, k) / (comb(d, k) - comb(d - k, k))


def _explanation(table: Table) -> str:
    if not table.has_measured:
        return _panels.only_published(table)
    runs = notation.runs(table)
    if any(measured.std is not None for measured in table.measured):
        runs = f"{notation.runs_behind(table)}; bars: standard deviation"
    if table.has_published:
        runs += "; hollow: published"
    return f"Filled: measured, {runs}."


def _draw(
    panels: list[Panel], bounds: list[Mapping[int, float]], text: str, across: int, one_scale: bool, figure: Figure
) -> None:
    dotted: dict[str, Any] = {"color": "#000000", "linestyle": (0, (1, 1)), "linewidth": 1.0}
    looks = looks_of(_panels.methods_of(panels))
    for place, ax in enumerate(_panels.axes_of(figure, panels, across, share=one_scale)):
        panel = panels[place]
        if bounds[place]:
            ax.plot(*zip(*bounds[place].items(), strict=True), **dotted, zorder=1)
        _panels.draw_lines(ax, panel, looks)
        if panel.x_label == BYTES and ax.has_data():
            ax.set_xscale("log", base=2)
            ax.xaxis.set_major_formatter("{x:g}")
            places = [point.x for point in panel.points() if point.x is not None]
            ax.set_xlim(min(places) / AROUND, max(places) * AROUND)
        if not place % across or panels[place - 1].y_label != panel.y_label:
            ax.set_ylabel(panel.y_label)
    hollow = all(point.mean is None for panel in panels for point in panel.points())
    samples = _panels.line_samples(looks, hollow=hollow)
    if any(bounds):
        samples[BOUND] = lines.Line2D([], [], **dotted)
    legend(figure, samples)
    explain(figure, text)


KIND = Kind(
    "a metric over bits, bytes, k or a cutoff: a panel for each section, a line for each row", LinesFile, _fill, _check
)
