"""A file of experiments/figures/: the keys that every figure has, and those of a figure that is made of cells."""

from typing import Literal

from pydantic import Field

from hashbench.foundation.config import Strict
from hashbench.tables.file import Group, TableFile

Width = Literal["column", "page"]


class FigureFile(Strict):
    """The keys that every figure has; ``kind`` is the file of hashbench/figures that draws it."""

    kind: str
    title: str
    paper: str  # a key of experiments/papers.toml
    source: str  # which figure of which paper
    notes: list[str] = []
    width: Width = "page"  # of one column of a paper, or of both


class CellsFile(FigureFile, TableFile):
    """A figure made of cells: those of a declared ``table``, or its own, which are written as in a table's file.

    ``sections``, ``rows`` and ``columns`` are the labels of the table's cells that are drawn; empty: all.
    """

    table: str | None = None
    sections: list[str] = []
    rows: list[str] = []
    columns: list[str] = []
    groups: list[Group] = []
    panels_across: int = Field(default=3, ge=1, le=8)
