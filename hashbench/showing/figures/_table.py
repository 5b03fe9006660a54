"""The picture of a table: its sections as dots, drawn as figures are."""

import re
import textwrap
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from hashbench.running.runs.store import Store
from hashbench.showing.figures import _declared, _panels
from hashbench.showing.figures._drawing import WIDTHS_IN, Axes, Drawing, Figure, explain
from hashbench.showing.figures._panels import Panel, Point
from hashbench.showing.sheet import Sign
from hashbench.showing.tables import notation
from hashbench.showing.tables.cell import CELLS
from hashbench.showing.tables.footnotes import processors
from hashbench.showing.tables.notation import Notation
from hashbench.showing.tables.table import Section, Table

DOTS_ACROSS = 4  # panels side by side
LABEL_IN = 0.17  # the height of a dot
AROUND_IN = 0.55  # the height around dots
TITLE_IN = 0.14  # of each line but the first of the titles above a row of panels
MOST_BESIDE = 12  # row labels by which two sections side by side may differ: the panels of a row have one height
MOST_TICKS = 4  # intervals between the ticks below a panel of dots, so that their numbers do not touch
LONG_LABEL = 16  # letters; two sections of dots with longer row labels fit side by side, three do not
TITLE_WIDTH = 104  # letters of the title that fit across the picture
PANEL_TITLES_WIDTH = 92  # the same of the panels' titles, which are smaller
WORDS = {Sign.BOTH: "Hollow: published; filled: measured", Sign.MEASURED: "Filled: measured", Sign.BEST: "large"}


@dataclass(frozen=True)
class _Dots:
    """A panel of dots: a column of a section, or one of its rows; and its section."""

    section: str
    label: str
    panel: Panel

    @property
    def labels(self) -> list[str]:
        return list(self.panel.series)


def drawing_of_table(table: Table) -> Drawing | None:
    """The picture of what is measured of ``table``, with the published values; None where nothing is measured.

    A table may name a figure that is its picture. Else a section has a panel of dots for each column, or for each row
    where it has fewer rows and one metric.
    """
    if table.picture not in (None, CELLS) and table.has_measured:
        stored = [row for measured in table.measured for row in measured.rows]
        drawing = _declared.load(table.picture).fill(stored, Store.default())
        return drawing if drawing.points else None
    sections = [section for section in table.sections if any(cell.measured for cell in section.cells.values())]
    how = Notation.of(table)
    if not sections:
        return None
    rows = _rows_of_panels([_dots_of(section, how) for section in sections])
    height = 0.5 + sum(_heights_in(rows))
    return Drawing([], (WIDTHS_IN["page"], height), partial(_draw_dots, table, rows), table.n_measured)


def _dots_of(section: Section, how: Notation) -> list[_Dots]:
    units = {(cell.declared.metric, cell.declared.printed_as) for cell in section.cells.values()}
    # fewer panels, and the columns are compared in each: only where they have one unit
    turned = len(section.rows) < len(section.columns) and len(units) == 1
    best = how.best(section)
    labels = section.columns
    others = section.rows
    if turned:
        labels, others = others, labels
    panels = []
    for label in labels:
        series: dict[str, list[Point]] = {}
        for other in others:
            place = (label, other) if turned else (other, label)
            cell = section.cells.get(place)
            if turned and (cell is None or (cell.measured is None and cell.declared.published is None)):
                continue  # no other panel has a line beside it
            series[other] = [] if cell is None else [Point(None, cell, place in best)]
        if any(point.measured for points in series.values() for point in points):
            heading = label if turned else notation.heading(section, label)
            panels.append(_Dots(section.title, heading, Panel("", "", "", series)))
    return panels


def _rows_of_panels(sections: list[list[_Dots]]) -> list[list[_Dots]]:
    """The panels from top to bottom and left to right; a section that fits into one row is not split over two."""
    most = max(map(len, sections))
    across = 3 if most == 3 else min(DOTS_ACROSS, sum(map(len, sections)))
    rows: list[list[_Dots]] = [[]]
    for panels in sections:
        for part in (panels[start : start + across] for start in range(0, len(panels), across)):
            if len(rows[-1]) + len(part) > across or _do_not_fit([*rows[-1], *part]):
                rows.append([])
            rows[-1] += part
    return rows


def _do_not_fit(row: list[_Dots]) -> bool:
    """Whether row labels leave no width for the dots beside them, or one section is much longer than another."""
    labels = {panel.section: panel.labels for panel in row}
    lengths = [len(of_section) for of_section in labels.values()]
    is_long = any(len(label) > LONG_LABEL for of_section in labels.values() for label in of_section)
    return (len(labels) > 2 and is_long) or max(lengths) - min(lengths) > MOST_BESIDE


def _heights_in(rows: list[list[_Dots]]) -> list[float]:
    lines = [max(title.count("\n") for title in titles) for titles in _titles_of(rows)]
    dots = [max(len(panel.labels) for panel in row) for row in rows]
    return [AROUND_IN + LABEL_IN * n + TITLE_IN * more for n, more in zip(dots, lines, strict=True)]


def _titles_of(rows: list[list[_Dots]]) -> list[list[str]]:
    """The titles of the panels, in lines; only the first panel of a section in a row names the section."""
    one_section = len({panel.section for row in rows for panel in row}) == 1
    titles = []
    for row, across in zip(rows, _widths_of(rows), strict=True):
        of_row = []
        for left, dots in zip([None, *row], row, strict=False):
            parts = [dots.label]
            if not (_follows(left, dots) or one_section):
                parts = [dots.section, dots.label]
            of_row.append(textwrap.fill(": ".join(filter(None, parts)), PANEL_TITLES_WIDTH // across))
        titles.append(of_row)
    return titles


def _follows(left: _Dots | None, dots: _Dots) -> bool:
    """Whether the panel on the left has its section and its labels."""
    return left is not None and left.section == dots.section and left.labels == dots.labels


def _widths_of(rows: list[list[_Dots]]) -> list[int]:
    """How many panels fit in each row: one that goes on with the section above keeps the width of the panels there."""
    goes_on = [False, *(above[-1].section == row[0].section for above, row in pairwise(rows))]
    return [max(map(len, rows)) if same else len(row) for row, same in zip(rows, goes_on, strict=True)]


def _draw_dots(table: Table, rows: list[list[_Dots]], figure: Figure) -> None:
    """Each row of panels is laid out for itself: long labels in one must not push those of another apart."""
    alike: dict[tuple[str, ...], list[Axes]] = defaultdict(list)  # have the same scale, so that they can be compared
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=_heights_in(rows))[:, 0]
    for part, row, across, titles in zip(parts, rows, _widths_of(rows), _titles_of(rows), strict=True):
        axes = part.subplots(1, across, squeeze=False)[0]
        for ax in axes[len(row) :]:
            ax.set_visible(False)
        for left, dots, ax, title in zip([None, *row], row, axes, titles, strict=False):
            _panels.draw_dots(ax, dots.panel, dots.labels, ranges=False)
            ax.set_title(title, loc="left")
            ax.tick_params(labelleft=not _follows(left, dots))
            ax.margins(x=0.12)
            if not dots.panel.is_of_speed_ups:
                ax.locator_params(axis="x", nbins=MOST_TICKS)
            metrics = {re.sub("_(worst|best)$", "", point.cell.declared.metric) for point in dots.panel.points()}
            alike[dots.section, *sorted(metrics)].append(ax)
    for group in alike.values():
        lows, highs = zip(*(ax.get_xlim() for ax in group), strict=True)
        beyond = 0.0
        if len(group) > 1 and group[0].get_xscale() == "linear":  # around a panel whose own dots are close together
            beyond = 0.04 * (max(highs) - min(lows))
        for ax in group:
            ax.set_xlim(min(lows) - beyond, max(highs) + beyond)
    figure.suptitle(textwrap.fill(table.title, TITLE_WIDTH), fontsize=8.5, x=0.01, ha="left")
    how = replace(Notation.of(table), distinct=False)
    spans = notation.legend(table, how, outside=False)
    words = (WORDS.get(span, span.value) if isinstance(span, Sign) else span for span in spans)
    explain(figure, f"{''.join(words)} {processors(table)}")
