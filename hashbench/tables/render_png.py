"""A table as a picture: measured values as filled marks with their spread over seeds, published ones hollow."""

import io
import textwrap
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from hashbench.tables import notation
from hashbench.tables.table import Section, Table, TableCell

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by the colour-blind; brown for their yellow, which is faint on white
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D46")
MARKERS = "osD^vPX*"
WIDTH_IN, DPI = 8.0, 150  # 1200 pixels
LINES_ACROSS, DOTS_ACROSS = 2, 4  # panels side by side
Styles = dict[str, tuple[str, str]]  # row label -> colour and marker, the same in all panels


@dataclass(frozen=True)
class _Panel:
    """One set of axes: a whole section over code lengths, or one of its columns as dots."""

    section: Section
    column: str | None = None

    def title(self, one_section: bool) -> str:
        """The section's title and the column's, as far as they are not the whole picture's."""
        section = "" if one_section and self.column else self.section.title
        column = notation.heading(self.section, self.column) if self.column else ""
        return textwrap.fill(": ".join(filter(None, (section, column))), 26 if self.column else 60)


def render_png(table: Table) -> bytes | None:
    """The picture as a PNG of 1200 pixels width; None where nothing was measured.

    A section whose columns are code lengths is a panel with a line for each row; any other is a panel of dots for
    each column. The same table gives the same bytes under one version of matplotlib, whatever the user's settings.
    """
    panels = _panels(table)
    if not panels:
        return None
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False})
        down = -(-len(panels) // (DOTS_ACROSS if panels[0].column else LINES_ACROSS))
        across = -(-len(panels) // down)
        figure = Figure(figsize=(WIDTH_IN, 0.7 + down * _height(panels)), dpi=DPI, layout="constrained")
        _draw(figure, table, panels, (down, across))
        image = io.BytesIO()
        figure.savefig(image, format="png", metadata={"Software": None})
    return image.getvalue()


def _panels(table: Table) -> list[_Panel]:
    """Those with something measured: all lines where every section can be, else all dots."""
    sections = [section for section in table.sections if _any_measured(section.cells.values())]
    if all(code_lengths(section) for section in sections):
        return [_Panel(section) for section in sections]
    return [
        _Panel(section, column)
        for section in sections
        for column in section.columns
        if _any_measured(section.column(column))
    ]


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


def _height(panels: list[_Panel]) -> float:
    """The height of a panel, in inches."""
    most_rows = max(len(panel.section.rows) for panel in panels)
    return max(2.7, 0.3 * most_rows) if panels[0].column is None else 0.7 + 0.2 * most_rows


def _draw(figure: "Figure", table: Table, panels: list[_Panel], shape: tuple[int, int]) -> None:
    labels = dict.fromkeys(row for section in table.sections for row in section.rows)
    styles = {row: (COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]) for index, row in enumerate(labels)}
    one_section = len({panel.section.title for panel in panels}) == 1
    axes = list(figure.subplots(*shape, squeeze=False).flat)
    for index, (panel, ax) in enumerate(zip(panels, axes, strict=False)):
        ax.set_title(panel.title(one_section), fontsize=8.5, loc="left")
        if panel.column is None:
            _lines(ax, panel.section, styles)
        else:
            _dots(ax, panel.section, panel.column)
        if index % shape[1] and panel.column and panels[index - 1].section is panel.section:
            ax.tick_params(labelleft=False)  # the rows have their names in the panel to the left
    for ax in axes[len(panels) :]:
        ax.set_visible(False)
    _share_scales(panels, axes)
    figure.suptitle(table.title, fontsize=10, x=0.01, ha="left")
    figure.supxlabel(_legend(table), fontsize=7, color="0.35", x=0.01, ha="left")


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


def _legend(table: Table) -> str:
    spread_over = notation.what_is_measured(table, "±")
    return f"Filled: measured ({spread_over})" + ("; hollow: published" if table.has_published else "") + "."


def _value(cell: TableCell, value: float | None) -> float | None:
    return None if value is None else value * notation.scale(cell.declared.printed_as)


def _lines(ax: "Axes", section: Section, styles: Styles) -> None:
    """A line for each row over the code lengths, its label at its right end."""
    bits = dict(zip(section.columns, code_lengths(section), strict=True))
    span = max(bits.values()) - min(bits.values())
    ends: dict[str, tuple[float, float]] = {}
    for index, row in enumerate(section.rows):
        # a little to the side, so that the error bars of neighbours do not hide each other
        dodge = (index - (len(section.rows) - 1) / 2) * span * 0.004
        cells = [
            (x + dodge, section.cells[row, column]) for column, x in bits.items() if (row, column) in section.cells
        ]
        _mark_published(ax, cells, styles[row])
        points = _points(cells)
        if points:
            _mark_measured(ax, points, styles[row])
            ends[row] = points[-1][:2]
    ax.set_xticks(sorted(bits.values()))
    ax.set_xlabel("bits")
    ax.set_ylabel(_unit(section))
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    _label_ends(ax, ends, styles)


def _points(cells: list[tuple[float, TableCell]]) -> list[tuple[float, float, float]]:
    """(x, mean, std) where there is a measured value, from the left; std 0 with one seed."""
    points = []
    for x, cell in cells:
        mean = _value(cell, cell.measured.mean if cell.measured else None)
        std = _value(cell, cell.measured.std if cell.measured else None)
        if mean is not None:
            points.append((x, mean, std or 0.0))
    return sorted(points)


def _mark_measured(ax: "Axes", points: list[tuple[float, float, float]], style: tuple[str, str]) -> None:
    x, mean, std = zip(*points, strict=True)
    colour, marker = style
    ax.errorbar(x, mean, std, color=colour, marker=marker, markersize=4, linewidth=1.2, elinewidth=0.8, capsize=2)


def _mark_published(ax: "Axes", cells: list[tuple[float, TableCell]], style: tuple[str, str]) -> None:
    points = [(x, _value(cell, cell.declared.published)) for x, cell in cells if cell.declared.published is not None]
    if points:
        x, published = zip(*points, strict=True)
        colour, marker = style
        ax.plot(x, published, marker, color=colour, markersize=6, markerfacecolor="none", markeredgewidth=0.9)


def _label_ends(ax: "Axes", ends: dict[str, tuple[float, float]], styles: Styles) -> None:
    """Writes each row's label beside the end of its line, moved apart where lines end close together."""
    low, high = ax.get_ylim()
    left, right = ax.get_xlim()
    heights = apart({row: value for row, (_, value) in ends.items()}, low, high, (high - low) * 0.06)
    for row, end in ends.items():
        colour, _ = styles[row]
        ax.annotate(
            row,
            xy=end,
            xytext=(right + (right - left) * 0.02, heights[row]),
            color=colour,
            fontsize=7.5,
            va="center",
            annotation_clip=False,
            # relpos: the line ends at the label's left edge, not under its letters
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.5,
                "shrinkA": 1,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def apart(values: dict[str, float], low: float, high: float, gap: float) -> dict[str, float]:
    """The heights nearest to ``values`` (least squares) that are ``gap`` apart and, if they fit, in [low, high].

    Less i gaps, the i-th height from below must not fall: that is isotonic regression, solved by pooling.

    >>> apart({"a": 0.5, "b": 0.5, "c": 0.0}, 0.0, 1.0, 0.25)
    {'c': 0.0, 'a': 0.375, 'b': 0.625}
    """
    names = sorted(values, key=lambda name: values[name])
    pools: list[list[float]] = []
    for index, name in enumerate(names):
        pools.append([values[name] - index * gap])
        while len(pools) > 1 and fmean(pools[-2]) > fmean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    top = max(low, high - (len(names) - 1) * gap)
    levels = [min(max(fmean(pool), low), top) for pool in pools for _ in pool]
    return {name: level + index * gap for index, (name, level) in enumerate(zip(names, levels, strict=True))}


def _dots(ax: "Axes", section: Section, column: str) -> None:
    """A dot for each row, the first row at the top."""
    for index, row in enumerate(section.rows):
        cell = section.cells.get((row, column))
        if cell is None:
            continue
        for _, mean, std in _points([(0.0, cell)]):
            ax.errorbar(mean, index, xerr=std, color=COLOURS[0], marker="o", markersize=4, elinewidth=1, capsize=2)
        published = _value(cell, cell.declared.published)
        if published is not None:
            ax.plot(published, index, "o", color=COLOURS[1], markersize=7, markerfacecolor="none")
    ax.set_yticks(range(len(section.rows)), section.rows)
    ax.set_ylim(len(section.rows) - 0.5, -0.5)
    ax.grid(axis="both", color="0.9", linewidth=0.6)
    ax.margins(x=0.12)


def _unit(section: Section) -> str:
    metrics = dict.fromkeys(cell.declared.metric for cell in section.cells.values())
    percent = any(cell.declared.printed_as == "percent" for cell in section.cells.values())
    return ", ".join(metrics) + (" (%)" if percent else "")
