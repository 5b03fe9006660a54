"""The picture of a table: a row of panels of dots for each section."""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

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

ACROSS = 4  # panels side by side
LABEL_IN = 0.17  # the height of a dot
AROUND_IN = 0.55  # the height around dots
TITLE_IN = 0.14  # of each further line of titles
MOST_TICKS = 4  # intervals between the ticks below a panel of dots, so that their numbers do not touch
TITLE_WIDTH = 104  # letters of a title that fit across the picture
PANEL_TITLES_WIDTH = 92  # the same of the panels' titles, which are smaller
WORDS = {Sign.BOTH: "Hollow: published; filled: measured", Sign.MEASURED: "Filled: measured", Sign.BEST: "large"}


@dataclass(frozen=True)
class _PanelRow:
    """Panels of a section side by side; ``across`` of them would fit, and all have the same ``labels``."""

    section: str
    title: str  # of the section, above its first row of panels
    labels: Sequence[str]
    panels: Sequence[Panel]
    across: int

    @property
    def height_in(self) -> float:
        """The height of the row, with its titles."""
        n_lines = max(panel.title.count("\n") for panel in self.panels)
        if self.title:
            n_lines += 1 + self.title.count("\n")
        return AROUND_IN + LABEL_IN * len(self.labels) + TITLE_IN * n_lines


def drawing_of_table(table: Table) -> Drawing | None:
    """The picture of what is measured of ``table``, with the published values; None where nothing is measured.

    A table may name a figure that is its picture. Else a section has a panel of dots for each column, or for each row
    where it has fewer rows and one metric.
    """
    if not table.has_measured:
        return None
    if table.picture not in (None, CELLS):
        stored = [row for measured in table.measured for row in measured.rows]
        drawing = _declared.load(table.picture).fill(stored, Store.default())
        return drawing if drawing.points else None
    how = Notation.of(table)
    rows = [row for section in table.sections for row in _panel_rows(section, how)]
    height = 0.5 + sum(row.height_in for row in rows)
    return Drawing([], (WIDTHS_IN["page"], height), partial(_draw, table, rows), table.n_measured)


def _panel_rows(section: Section, how: Notation) -> Iterator[_PanelRow]:
    """The panels of a section of which something is measured, in rows of at most four."""
    units = {(cell.declared.metric, cell.declared.printed_as) for cell in section.cells.values()}
    # fewer panels, and the columns are compared in each: only where they have one unit
    is_turned = len(section.rows) < len(section.columns) and len(units) == 1
    headings = [notation.heading(section, column) for column in section.columns]
    labels = section.rows
    if is_turned:
        headings = list(section.rows)
        labels = section.columns
    across = min(ACROSS, len(headings))
    best = how.best(section)
    panels = []
    for place, heading in enumerate(headings):
        series: dict[str, list[Point]] = {}
        for label in labels:
            position = (label, section.columns[place])
            if is_turned:
                position = (section.rows[place], label)
            cell = section.cells.get(position)
            series[label] = [] if cell is None else [Point(None, cell, position in best)]
        panel = Panel(textwrap.fill(heading, PANEL_TITLES_WIDTH // across), "", "", series)
        if any(point.measured for point in panel.points()):
            panels.append(panel)
    title = textwrap.fill(section.title, TITLE_WIDTH)
    for start in range(0, len(panels), across):
        yield _PanelRow(section.title, title, labels, panels[start : start + across], across)
        title = ""


def _draw(table: Table, rows: Sequence[_PanelRow], figure: Figure) -> None:
    """Each row of panels is laid out for itself: long labels in one must not push those of another apart."""
    axes_by_scale: dict[tuple[str, ...], list[Axes]] = defaultdict(list)
    parts = figure.subfigures(len(rows), 1, squeeze=False, height_ratios=[row.height_in for row in rows])[:, 0]
    for part, row in zip(parts, rows, strict=True):
        if row.title:
            part.suptitle(row.title, fontsize=7.5, x=0.01, ha="left")
        for place, ax in enumerate(part.subplots(1, row.across, squeeze=False)[0]):
            if place >= len(row.panels):
                ax.set_visible(False)
                continue
            panel = row.panels[place]
            _panels.draw_dots(ax, panel, row.labels, ranges=False)
            ax.tick_params(labelleft=place == 0)
            ax.margins(x=0.12)
            if not panel.is_of_speed_ups:
                ax.locator_params(axis="x", nbins=MOST_TICKS)
            metrics = {re.sub("_(worst|best)$", "", point.cell.declared.metric) for point in panel.points()}
            axes_by_scale[row.section, *sorted(metrics)].append(ax)
    for group in axes_by_scale.values():
        lows, highs = zip(*(ax.get_xlim() for ax in group), strict=True)
        for ax in group:
            ax.set_xlim(min(lows), max(highs))
    figure.suptitle(textwrap.fill(table.title, TITLE_WIDTH), fontsize=8.5, x=0.01, ha="left")
    how = replace(Notation.of(table), distinct=False)
    spans = notation.legend(table, how, outside=False)
    words = (WORDS.get(span, span.value) if isinstance(span, Sign) else span for span in spans)
    explain(figure, f"{''.join(words)} {processors(table)}")
