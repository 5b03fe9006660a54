"""Figures declared by a test, and rows of runs that never happened for their cells."""

import os
from pathlib import Path
from typing import Any

from support.fake_rows import row_of_cell

from hashbench.running.runs.row import Row
from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.figures import Drawing, FigureSpec
from hashbench.showing.tables.cell import Cell

HEAD = """kind = "{kind}"
title = "Tiny"
paper = "he2018tieaware"
source = "Figure 0"
"""
# two methods at two lengths, with published values, on data that needs no download
CELLS = """
[defaults]
dataset = "digits"
protocol = "s1"
metric = "ap"
tie_aware = true
[[groups]]
section = "Digits: AP"
columns = [{ label = "24 bits", settings = { bits = 24 } }, { label = "12 bits", settings = { bits = 12 } }]
rows = [
  { label = "LSH", method = "lsh", values = [0.5, 0.25] },
  { label = "ITQ", method = "itq", values = [0.75, "-"] },
]
"""
# the same at one length
ONE_COLUMN = (
    CELLS.replace('{ label = "24 bits", settings = { bits = 24 } }, ', "")
    .replace("values = [0.5, 0.25]", "values = [0.5]")
    .replace('values = [0.75, "-"]', "values = [0.75]")
)


def declare(folder: Path, kind: str, keys: str = "", cells: str = CELLS, name: str = "tiny") -> Path:
    """Writes a figure into a root of its own, which is looked up before hashbench's, and returns its file."""
    path = folder / "root" / "experiments" / "figures" / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD.format(kind=kind) + keys + cells)
    os.environ["HASHBENCH_ROOT"] = str(folder / "root")  # tests/conftest.py puts it back
    return path


def tiny(folder: Path, kind: str, keys: str = "", cells: str = CELLS) -> FigureSpec:
    """The figure that :func:`declare` writes, loaded."""
    declare(folder, kind, keys, cells)
    return figures.load("tiny")


def cell_at(figure: FigureSpec, row: str, column: str) -> Cell:
    """The one cell at this place."""
    (only,) = (cell for cell in figure.cells if (cell.row, cell.column) == (row, column))
    return only


def row_of(figure: FigureSpec, row: str, column: str, seed: int = 0, **means: float) -> Row:
    """The row of a run that fills the cell at this place."""
    return row_of_cell(cell_at(figure, row, column), seed, **means)


def filled(figure: FigureSpec, *rows: Row) -> Drawing:
    """The figure with these rows alone."""
    return figure.fill(list(rows), Store.default())


def measured(folder: Path, kind: str, keys: str = "") -> Drawing:
    """A figure of which some is measured: with a spread over seeds, with a tie range, and a blank cell."""
    figure = tiny(folder, kind, keys)
    rows = [
        row_of(figure, "LSH", "12 bits", 0, ap=0.2, ap_worst=0.1, ap_best=0.4),
        row_of(figure, "LSH", "12 bits", 1, ap=0.3, ap_worst=0.2, ap_best=0.5),
        row_of(figure, "ITQ", "12 bits", 0, ap=0.0),
        row_of(figure, "ITQ", "24 bits", 0, ap=0.7, ap_worst=0.65, ap_best=0.8),
    ]
    return filled(figure, *rows)


def axes_of(drawing: Drawing) -> Any:
    """The figure of matplotlib that the drawing gives."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=drawing.size_in, layout="constrained")
    drawing.draw(figure)
    return figure
