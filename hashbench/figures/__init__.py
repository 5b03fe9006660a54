"""The figures of papers, and our own: declared in experiments/figures/, drawn from stored rows.

Each public file of this folder is a kind of figure, exporting ``KIND``.
"""

from hashbench.figures._declared import KINDS, cells_of, load, names, names_with_own_cells
from hashbench.figures._drawing import Drawing
from hashbench.figures._file import CellsFile, FigureFile
from hashbench.figures._kind import FigureSpec, Kind
from hashbench.figures._render import csv_text, pictures, preview, stamp_of

__all__ = [
    "KINDS",
    "CellsFile",
    "Drawing",
    "FigureFile",
    "FigureSpec",
    "Kind",
    "cells_of",
    "csv_text",
    "load",
    "names",
    "names_with_own_cells",
    "pictures",
    "preview",
    "stamp_of",
]
