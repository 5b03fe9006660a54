"""How a LaTeX table is cut to fit a page: columns to the width of the text, tabulars to the height of a float.

TeX alone knows the true sizes. These are estimates from the number of signs, a little on the large side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hashbench.tables import notation
from hashbench.tables.notation import Notation
from hashbench.tables.table import Section, TableCell

# in points; a page of the conferences' styles: 6.75 inches, two columns of text, by 9 inches
TEXT_WIDTH = 487.0
TEXT_HEIGHT = 650.0
# \footnotesize: 8 point type
SIGN = 4.25  # the width of a digit
LINE = 9.6
GAP = 6.0  # between two columns: \tabcolsep on either side
RULES = 21.0  # the rules of a tabular, with the space around them
SKIP = 6.0  # below a tabular: \medskip
# the caption: 10 point type
CAPTION_SIGN = 4.8
CAPTION_LINE = 12.0
CAPTION_SPACE = 26.0  # around it
CAPTION_MOST = CAPTION_SPACE + 4 * CAPTION_LINE  # what a tabular of many rows leaves for it


@dataclass(frozen=True)
class Block:
    """Lines of LaTeX that stay together, and the height that they take on the page, in points."""

    lines: tuple[str, ...]
    height: float


def pieces_of(section: Section, how: Notation, side_by_side: bool) -> list[tuple[Sequence[str], tuple[str, ...]]]:
    """The columns and the rows of each tabular of ``section``: as few tabulars as fit a page in width and height."""
    label = SIGN * max(len(notation.plain(row)) for row in section.rows) + GAP
    widths = {column: _column_width(section, column, how, side_by_side) for column in section.columns}

    def fits(columns: tuple[str, ...]) -> bool:
        return label + sum(widths[column] for column in columns) <= TEXT_WIDTH

    most_rows = int((TEXT_HEIGHT - CAPTION_MOST - tabular_height(section, 0, side_by_side)) // LINE)
    rows = notation.split_evenly(section.rows, most_rows)
    return [(columns, part) for columns in notation.fewest_pieces(section.columns, fits) for part in rows]


def tabular_height(section: Section, n_rows: int, side_by_side: bool) -> float:
    """The height of a tabular with ``n_rows`` rows of ``section``, in points."""
    heading = 1 + side_by_side + bool(section.title)
    return (heading + n_rows) * LINE + RULES + SKIP


def text_height(text: str) -> float:
    """The height of a note, in points."""
    return LINE * (1 + len(text) * SIGN // TEXT_WIDTH)


def caption_height(text: str) -> float:
    """The height of a caption with the space around it, in points."""
    return CAPTION_SPACE + CAPTION_LINE * (1 + len(text) * CAPTION_SIGN // TEXT_WIDTH)


def floats_of(blocks: Iterable[Block], caption: float) -> list[list[Block]]:
    """The blocks of each float, in order: as many as fit a page below a caption of that height, at least one."""
    floats: list[list[Block]] = []
    left = 0.0
    for block in blocks:
        if not floats or block.height > left:
            floats.append([])
            left = TEXT_HEIGHT - caption
        floats[-1].append(block)
        left -= block.height
    return floats


def _column_width(section: Section, column: str, how: Notation, side_by_side: bool) -> float:
    """The width of a column, or of the pair that shows its published and its measured values, in points."""
    cells = section.column(column)
    heading = SIGN * len(notation.plain(notation.heading(section, column)))
    measured = [_measured(cell, how) for cell in cells]
    if not side_by_side:
        published = [how.published(cell) for cell in cells]
        return max(heading, SIGN * _longest(*measured, *published)) + GAP
    pair = SIGN * (_longest("paper", *map(how.published, cells)) + _longest("measured", *measured)) + GAP
    return max(heading, pair) + GAP


def _measured(cell: TableCell, how: Notation) -> str:
    """The measured value as it prints, with a sign more for the mark of a value outside its tolerance."""
    return how.measured_text(cell) + ("†" if cell.within_tolerance is False else "")


def _longest(*texts: str) -> int:
    return max(map(len, texts), default=0)
