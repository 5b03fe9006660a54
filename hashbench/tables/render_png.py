"""A table as a picture: measured values as filled marks with their spread over seeds, published ones as hollow ones."""

import io
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import cycle, groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hashbench.tables import notation
from hashbench.tables.render_csv import render_csv
from hashbench.tables.render_markdown import render_markdown
from hashbench.tables.stamp import KEY, stamp
from hashbench.tables.table import Section, Table, TableCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LineStyle = Literal["-", "--", "-.", ":"]
# the palette of Okabe and Ito, which colour-blind readers can tell apart; brown for its yellow, too faint on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D46")
MARKERS = "osD^vPX"  # 7 and 8 have no common factor: 56 rows have 56 pairs of colour and marker
LINE_STYLES: tuple[LineStyle, ...] = ("-", "--", "-.", ":")
WIDTH_IN, DPI = 8.0, 150  # 1200 pixels
LINES_ACROSS, DOTS_ACROSS = 2, 4  # panels side by side
MOST_TICKS = 4  # intervals between the ticks below a panel of dots, so that their numbers do not touch
LONG_LABEL = 16  # letters; two sections of dots with longer row labels fit side by side, three do not
TITLE_WIDTH, BESIDE_LEGEND = 104, 70  # letters of the title that fit across the picture
PANEL_TITLES_WIDTH, PANEL_TITLES_BESIDE_LEGEND = 96, 88  # the same of the panels' titles, which are smaller
EXPLANATION_WIDTH = 140  # letters that fit below the panels


@dataclass(frozen=True)
class RowStyle:
    """How one row's marks look, the same in all panels."""

    colour: str
    marker: str
    line: LineStyle


@dataclass(frozen=True)
class _Panel:
    """One set of axes: a whole section over code lengths, or one of its columns as dots."""

    section: Section
    column: str | None = None

    def title(self, one_section: bool, across: int) -> str:
        """The titles of section and column, without the section's where the picture has but one section.

        Lines are as long as a panel is wide if there are ``across`` in a row.
        """
        section = "" if one_section and self.column else self.section.title
        column = notation.heading(self.section, self.column) if self.column else ""
        width = PANEL_TITLES_WIDTH if self.column else PANEL_TITLES_BESIDE_LEGEND
        return textwrap.fill(": ".join(filter(None, (section, column))), width // across)


def render_png(table: Table) -> bytes | None:
    """The picture as a PNG, 1200 pixels wide; None where nothing was measured.

    A section whose columns are code lengths is a panel with a line for each row, which a legend beside the panels
    names. Any other section has a panel of dots for each column. The same table gives the same bytes under one version
    of matplotlib, whatever the user's settings are. The file holds its stamp.
    """
    panels = _panels(table)
    if not panels:
        return None
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
        rows = _rows_of_panels(panels)
        figure = Figure(figsize=(WIDTH_IN, 0.7 + len(rows) * _height(panels)), dpi=DPI, layout="constrained")
        _draw(figure, table, rows)
        image = io.BytesIO()
        figure.savefig(image, format="png", metadata={"Software": None, KEY: stamp_of(table)})
    return image.getvalue()


def stamp_of(table: Table) -> str:
    """The stamp of the picture of ``table``: it changes with the values, the texts and the code that draws them."""
    return stamp([render_csv(table), render_markdown(table)], [Path(__file__), Path(notation.__file__)])


def _panels(table: Table) -> list[_Panel]:
    """The panels with a measured value: lines where the columns of every section are code lengths, else dots."""
    sections = [section for section in table.sections if _any_measured(section.cells.values())]
    if all(code_lengths(section) for section in sections):
        return [_Panel(section) for section in sections]
    return [
        _Panel(section, column)
        for section in sections
        for column in section.columns
        if _any_measured(section.column(column))
    ]


def _rows_of_panels(panels: list[_Panel]) -> list[list[_Panel]]:
    """The panels from top to bottom and left to right; a section that fits into one row is not split over two."""
    if panels[0].column is None:
        down = -(-len(panels) // LINES_ACROSS)
        return _chunks(panels, -(-len(panels) // down))
    sections = [list(of_section) for _, of_section in groupby(panels, key=lambda panel: panel.section.title)]
    across = 3 if max(map(len, sections)) == 3 else min(DOTS_ACROSS, len(panels))
    rows: list[list[_Panel]] = [[]]
    for part in (part for of_section in sections for part in _chunks(of_section, across)):
        if len(rows[-1]) + len(part) > across or _too_many_labels([*rows[-1], *part]):
            rows.append([])
        rows[-1] += part
    return rows


def _too_many_labels(row: list[_Panel]) -> bool:
    """Whether the row labels of so many sections leave no width for the dots beside them."""
    sections = {panel.section.title: panel.section for panel in row}.values()
    return len(sections) > 2 and any(len(label) > LONG_LABEL for section in sections for label in section.rows)


def _chunks(panels: list[_Panel], size: int) -> list[list[_Panel]]:
    return [panels[start : start + size] for start in range(0, len(panels), size)]


def _any_measured(cells: Iterable[TableCell]) -> bool:
    return any(cell.measured is not None for cell in cells)


def code_lengths(section: Section) -> list[int]:
    """The bits of each column; empty where the columns are not two or more distinct code lengths."""
    lengths = []
    for column in section.columns:
        found = {cell.declared.settings.get("bits") for cell in section.column(column)}
        bits = found.pop() if len(found) == 1 else None
        if not isinstance(bits, int):
            return []
        lengths.append(bits)
    return lengths if len(set(lengths)) == len(lengths) > 1 else []


def styles(rows: Iterable[str]) -> dict[str, RowStyle]:
    """A style for each row label, no two alike among the first 56."""
    looks = zip(cycle(COLOURS), cycle(MARKERS), cycle(LINE_STYLES), strict=False)
    return {row: RowStyle(*look) for row, look in zip(dict.fromkeys(rows), looks, strict=False)}


def _drawn_rows(section: Section) -> list[str]:
    """The rows with a measured or a published value."""
    return [
        row
        for row in section.rows
        if any(
            cell.measured is not None or cell.declared.published is not None
            for (label, _), cell in section.cells.items()
            if label == row
        )
    ]


def _height(panels: list[_Panel]) -> float:
    """The height of a panel, in inches."""
    most_rows = max(len(panel.section.rows) for panel in panels)
    return max(2.7, 0.2 * most_rows) if panels[0].column is None else 0.7 + 0.2 * most_rows


def _draw(figure: "Figure", table: Table, rows: list[list[_Panel]]) -> None:
    panels = [panel for row in rows for panel in row]
    looks = styles(row for panel in panels for row in _drawn_rows(panel.section))
    one_section = len({panel.section.title for panel in panels}) == 1
    axes: list[Axes] = []
    for row, row_axes in zip(rows, _axes_of_rows(figure, rows), strict=True):
        axes += row_axes[: len(row)]
        for ax in row_axes[len(row) :]:
            ax.set_visible(False)
        for left, panel, ax in zip([None, *row], row, row_axes, strict=False):
            ax.set_title(panel.title(one_section, len(row_axes)), fontsize=8.5, loc="left")
            if panel.column is None:
                _lines(ax, panel.section, looks)
            else:
                _dots(ax, panel.section, panel.column)
                # the panel to the left names the same rows
                ax.tick_params(labelleft=left is None or left.section is not panel.section)
    _share_scales(panels, axes)
    has_legend = panels[0].column is None
    if has_legend:
        _name_rows(figure, looks)
    title = textwrap.fill(table.title, BESIDE_LEGEND if has_legend else TITLE_WIDTH)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    figure.supxlabel(_explanation(table), fontsize=7, color="0.35", x=0.01, ha="left")


def _axes_of_rows(figure: "Figure", rows: list[list[_Panel]]) -> "list[list[Axes]]":
    """The axes of each row of panels, from left to right; a row may have more axes than panels.

    A row of dots is laid out for itself, because long row labels in one row must not push the panels of another apart.
    A row that goes on with the section above keeps the width of the panels there.
    """
    across = max(map(len, rows))
    if rows[0][0].column is None:
        return [list(row_axes) for row_axes in figure.subplots(len(rows), across, squeeze=False)]
    goes_on = [False, *(above[-1].section is row[0].section for above, row in pairwise(rows))]
    parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
    return [
        list(part.subplots(1, across if same else len(row), squeeze=False)[0])
        for part, row, same in zip(parts, rows, goes_on, strict=True)
    ]


def _share_scales(panels: list[_Panel], axes: "list[Axes]") -> None:
    """Gives the panels of dots in one section and metric the same scale, so that the eye can compare them."""
    alike: dict[tuple[str, ...], list[Axes]] = defaultdict(list)
    for panel, ax in zip(panels, axes, strict=False):
        if panel.column is not None:
            metrics = {cell.declared.metric for cell in panel.section.column(panel.column)}
            alike[panel.section.title, *sorted(metrics)].append(ax)
    for group in alike.values():
        limits = [ax.get_xlim() for ax in group]
        for ax in group:
            ax.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))


def _explanation(table: Table) -> str:
    """What the marks mean, in lines that are as long as the picture is wide."""
    text = f"Filled: measured ({notation.what_is_measured(table, '±')})"
    text += "; hollow: published" if table.has_published else ""
    if note := notation.tie_note(table):
        text += f"; {notation.TIE_MARK} {note}"
    return textwrap.fill(f"{text}.", EXPLANATION_WIDTH, break_on_hyphens=False)


def _value(cell: TableCell, value: float | None) -> float | None:
    return None if value is None else value * notation.scale(cell.declared.printed_as)


def _lines(ax: "Axes", section: Section, looks: dict[str, RowStyle]) -> None:
    """A line for each row over the code lengths."""
    bits = dict(zip(section.columns, code_lengths(section), strict=True))
    span = max(bits.values()) - min(bits.values())
    rows = _drawn_rows(section)
    for index, row in enumerate(rows):
        # a little to the side, so that the error bars of two rows do not hide each other
        aside = (index - (len(rows) - 1) / 2) * span * 0.004
        cells = [
            (x + aside, section.cells[row, column]) for column, x in bits.items() if (row, column) in section.cells
        ]
        _mark_published(ax, cells, looks[row])
        _mark_measured(ax, _points(cells), looks[row])
        _mark_ties(ax, cells, looks[row])
    ax.set_xticks(sorted(bits.values()))
    ax.set_xlabel("bits")
    ax.set_ylabel(_unit(section))
    ax.grid(axis="y", color="0.9", linewidth=0.6)


def _points(cells: list[tuple[float, TableCell]]) -> list[tuple[float, float, float]]:
    """(x, mean, std) where there is a measured value, from the left; std 0 with one seed."""
    points = []
    for x, cell in cells:
        mean = _value(cell, cell.measured.mean if cell.measured else None)
        std = _value(cell, cell.measured.std if cell.measured else None)
        if mean is not None:
            points.append((x, mean, std or 0.0))
    return sorted(points)


def _mark_ties(ax: "Axes", cells: list[tuple[float, TableCell]], look: RowStyle) -> None:
    """A small sign beside the measured values that are tie-dependent."""
    for x, mean, _ in _points([(x, cell) for x, cell in cells if notation.is_tie_dependent(cell)]):
        _sign(ax, x, mean, look.colour)


def _sign(ax: "Axes", x: float, y: float, colour: str) -> None:
    ax.annotate(notation.TIE_MARK, (x, y), xytext=(3, 3), textcoords="offset points", color=colour, fontsize=7)


def _mark_measured(ax: "Axes", points: list[tuple[float, float, float]], look: RowStyle) -> None:
    if points:
        x, mean, std = zip(*points, strict=True)
        colour, marker, line = look.colour, look.marker, look.line
        ax.errorbar(
            x,
            mean,
            std,
            color=colour,
            marker=marker,
            linestyle=line,
            markersize=4,
            linewidth=1.2,
            elinewidth=0.8,
            capsize=2,
        )


def _mark_published(ax: "Axes", cells: list[tuple[float, TableCell]], look: RowStyle) -> None:
    points = [(x, _value(cell, cell.declared.published)) for x, cell in cells if cell.declared.published is not None]
    if points:
        x, published = zip(*points, strict=True)
        ax.plot(x, published, look.marker, color=look.colour, markersize=6, markerfacecolor="none", markeredgewidth=0.9)


def _name_rows(figure: "Figure", looks: dict[str, RowStyle]) -> None:
    """A legend to the right of the panels, the rows in the order of the table."""
    from matplotlib.lines import Line2D

    samples = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle=look.line, markersize=4, linewidth=1.2)
        for look in looks.values()
    ]
    figure.legend(samples, list(looks), loc="outside right upper", frameon=False, fontsize=8, handlelength=3)


def _dots(ax: "Axes", section: Section, column: str) -> None:
    """A dot for each row, the first row at the top."""
    cells = [
        (float(index), section.cells[row, column])
        for index, row in enumerate(section.rows)
        if (row, column) in section.cells
    ]
    if points := _points(cells):
        heights, means, stds = zip(*points, strict=True)
        ax.errorbar(means, heights, xerr=stds, color=COLOURS[0], fmt="o", markersize=4, elinewidth=1, capsize=2)
    for height, mean, _ in _points([(height, cell) for height, cell in cells if notation.is_tie_dependent(cell)]):
        _sign(ax, mean, height, COLOURS[0])
    printed = [(_value(cell, cell.declared.published), height) for height, cell in cells]
    if published := [(value, height) for value, height in printed if value is not None]:
        ax.plot(*zip(*published, strict=True), "o", color=COLOURS[1], markersize=7, markerfacecolor="none")
    ax.set_yticks(range(len(section.rows)), section.rows)
    ax.set_ylim(len(section.rows) - 0.5, -0.5)
    ax.grid(axis="both", color="0.9", linewidth=0.6)
    ax.margins(x=0.12)
    ax.locator_params(axis="x", nbins=MOST_TICKS)


def _unit(section: Section) -> str:
    metrics = dict.fromkeys(cell.declared.metric for cell in section.cells.values())
    percent = any(cell.declared.printed_as == "percent" for cell in section.cells.values())
    return ", ".join(metrics) + (" (%)" if percent else "")
