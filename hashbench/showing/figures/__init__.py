"""The figures and the pictures of tables, drawn from stored rows; a public file is a kind, exporting ``KIND``."""

from hashbench.showing.figures._declared import (
    KINDS,
    CellsFile,
    FigureSpec,
    cells_of,
    load,
    names,
    names_with_own_cells,
)
from hashbench.showing.figures._drawing import Drawing, csv_text, is_stamped, picture, pictures, stamp_of
from hashbench.showing.figures._table import drawing_of_table
from hashbench.showing.figures._vectors import drawing_of_vectors

__all__ = ["KINDS", "CellsFile", "Drawing", "FigureSpec", "cells_of", "csv_text", "drawing_of_table"]
__all__ += [
    "drawing_of_vectors",
    "is_stamped",
    "load",
    "names",
    "names_with_own_cells",
    "picture",
    "pictures",
    "stamp_of",
]
