"""The range of AP over all orders of tied items: a bar for each method from the worst to the best, a dot at AP_T."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from hashbench.figures import _panels
from hashbench.figures._declared import CellsFile, FigureSpec, Kind
from hashbench.figures._drawing import WIDTHS_IN, Drawing, Figure, explain
from hashbench.figures._panels import Panel, Point
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.tables import notation
from hashbench.tables.table import Table

ROW_IN, AROUND_IN = 0.17, 0.62  # the height of a bar, and of the title and the axis of a panel


def _fill(figure: FigureSpec, rows: Sequence[Row], store: Store) -> Drawing:
    """The figure with what ``rows`` hold; where nothing is measured, with the published AP alone."""
    file, table = figure.file, _panels.filled(figure, rows, store)
    panels = _by_bits(table)
    labels = _panels.labels_of(panels)
    published = "drawn: the published AP_T, without ranges, which the paper does not print"
    otherwise = published if table.has_published else "nothing is drawn: the paper prints no values"
    across = min(file.panels_across, len(panels))
    text = _panels.only_published(table, "published tie-aware AP")
    if table.has_measured:
        text = f"Bar: worst to best mAP over all orders of ties; dot: tie-aware AP ({notation.runs(table)})"
        text += "; hollow: published." if table.has_published else "."
    return Drawing(
        points=[line for panel in panels for line in panel.lines()] if table.n_measured or table.has_published else [],
        size_in=(WIDTHS_IN[file.width], 0.15 + (AROUND_IN + ROW_IN * len(labels)) * -(-len(panels) // across)),
        draw=partial(_draw, panels, labels, text, across),
        n_measured=table.n_measured,
        missing=_panels.share_missing(table, otherwise),
    )


def _check(figure: FigureSpec) -> None:
    for cell in figure.cells:
        if (cell.metric, cell.evaluation) != ("ap", "database"):
            has = f"cell ({cell.row}, {cell.column}) has metric {cell.metric}, evaluation {cell.evaluation}"
            raise figure.error(f"{has}: tie_ranges draws ap of the database")
        if _panels.place_of(cell, "bits") is None:
            raise figure.error(f"cell ({cell.row}, {cell.column}) has no bits: tie_ranges has a panel for each number")


def _by_bits(table: Table) -> list[Panel]:
    """A panel for each number of bits; its title names the section where there are several."""
    series: dict[tuple[str, int | None], dict[str, list[Point]]] = defaultdict(dict)
    for section in table.sections:
        for (row, _), cell in section.cells.items():
            bits = _panels.place_of(cell.declared, "bits")
            series[section.title, bits].setdefault(row, []).append(Point(bits, cell))
    several = len(table.sections) > 1
    return [
        Panel(f"{section}, {bits} bits" if several else f"{bits} bits", "bits", "mAP", of_panel)
        for (section, bits), of_panel in series.items()
    ]


def _draw(panels: list[Panel], labels: list[str], text: str, across: int, figure: Figure) -> None:
    for ax, panel in zip(_panels.axes_of(figure, panels, across, share=True), panels, strict=True):
        _panels.draw_dots(ax, panel, labels, ranges=True)
    explain(figure, text)


KIND = Kind("AP over all orders of ties: a bar from the worst to the best, a dot at AP_T", CellsFile, _fill, _check)
