"""A figure of two panels with a line for each row, drawn from the working files of runs: one cell for each row."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hashbench.figures._declared import FigureSpec
from hashbench.figures._drawing import WIDTHS_IN, Drawing, Figure, explain, legend, legend_height_in, nothing
from hashbench.figures._looks import looks_of
from hashbench.figures._panels import line_samples
from hashbench.foundation.errors import HashbenchError
from hashbench.runs.row import Row
from hashbench.runs.store import Store
from hashbench.showing.sheet import Value
from hashbench.tables.cell_runs import cell_hash
from hashbench.tables.notation import least_to_most

HEIGHT_IN = 2.2  # of the panels

Floats = NDArray[np.float64]
Axes = tuple[dict[str, Any], dict[str, Any]]  # the labels and limits of each panel
S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Curve:
    """A line with a marker at ``every`` so many points, and the band around it; ``is_whole``: x has no fractions."""

    x: NDArray[Any]
    y: Floats
    every: int
    band: tuple[Floats, Floats] | None = None
    is_whole: bool = False


@dataclass(frozen=True, eq=False)
class Series:
    """What is made of the runs of one cell: its line in each panel, and its lines in the CSV."""

    curves: tuple[Curve, Curve]
    points: Sequence[Mapping[str, Value]]
    n_runs: int


def fill(
    figure: FigureSpec,
    rows: Sequence[Row],
    store: Store,
    *,
    read: Callable[[Row], S | None],  # None: the files of the run are not here
    mean: Callable[[str, list[S]], Series],  # of the label of a cell and what was read of its runs
    axes: Axes,
    explanation: str,  # with {cell}, {runs} and {spread}
) -> Drawing:
    """The figure of what is read of the runs of each cell; where all files of one are elsewhere, pictures stay."""
    from hashbench.runs.guard import not_here

    series: dict[str, Series] = {}
    for cell in figure.cells:
        digest = cell_hash(cell)
        measured = [row for row in rows if row.cell_hash == digest and row.status == "ok"]
        try:
            values = [value for row in measured if (value := read(row)) is not None]
            if values:
                series[cell.row] = mean(cell.row, values)
            elif measured:
                raise not_here(min(measured, key=lambda row: row.seed), store)
        except HashbenchError as error:  # the rows are kept in the repository, the working files are not
            return nothing(f"not drawn here: {error}", keeps_files=True)
    if not series:
        return nothing("nothing is measured; nothing is drawn")
    first = figure.cells[0]
    width = WIDTHS_IN[figure.file.width]
    n_cells = len(figure.cells)
    methods = {cell.row: cell.method for cell in figure.cells if cell.row in series}
    counts = [of_cell.n_runs for of_cell in series.values()]
    text = explanation.format(
        cell=f"{first.dataset} {first.protocol}, {first.column}",
        runs=least_to_most(counts, "run"),
        spread="; shaded: least to most of them" * (max(counts) > 1),
    )
    return Drawing(
        points=[point for of_cell in series.values() for point in of_cell.points],
        size_in=(width, HEIGHT_IN + legend_height_in(len(series), width)),
        draw=partial(_draw, series, methods, axes, text),
        n_measured=len(series),
        missing=None if len(series) == n_cells else f"{len(series)} of {n_cells} methods are measured",
    )


def check(figure: FigureSpec) -> None:
    labels = [cell.row for cell in figure.cells]
    if again := next((label for label in labels if labels.count(label) > 1), None):
        raise figure.error(f"row {again!r} has several cells; a figure of curves draws one run of each row")
    if len({(cell.section, cell.dataset, cell.protocol) for cell in figure.cells}) > 1:
        raise figure.error("several sections or data sets; a figure of curves shows one")


def _draw(series: Mapping[str, Series], methods: Mapping[str, str], axes: Axes, text: str, figure: Figure) -> None:
    looks = looks_of(methods)
    panels = figure.subplots(1, 2)
    for label, of_cell in series.items():
        for ax, curve in zip(panels, of_cell.curves, strict=True):
            ax.plot(curve.x, curve.y, **looks[label], linewidth=1, markersize=3, markevery=curve.every)
            if curve.band is not None:
                ax.fill_between(curve.x, *curve.band, color=looks[label]["color"], alpha=0.2, linewidth=0)
            if curve.is_whole:
                ax.locator_params(axis="x", integer=True)
    for ax, properties in zip(panels, axes, strict=True):
        ax.set(**properties)
        ax.grid(axis="y")
    legend(figure, line_samples(looks))
    explain(figure, text)
