"""Markdown, aligned so that it can be read as plain text too."""

import re
from collections.abc import Iterator

from hashbench.showing.ink import Ink
from hashbench.showing.layout import WIDE, padded, pieces_of, widths
from hashbench.showing.sheet import Code, Grid, Link, Sheet, plain

# the last two: mathematics, which code hosts draw between two dollars, and the name of a sign
SPECIAL = re.compile(r"[\\|`]|\](?=[(\[:])|\*(?=\S)|<(?=[A-Za-z/!])|(?<!\w)_|_(?!\w)|\$(?=.*\$)|&(?=#?\w+;)")
NARROWEST = 3  # of a column: its rule has two signs and a colon
EDGES = 4  # around a row, with the spaces inside


def escape(text: str) -> str:
    r"""``text`` on one line, with what Markdown would take for markup escaped.

    >>> print(escape("*a*, AP_T | P@H<=2"))
    \*a\*, AP_T \| P@H<=2
    >>> print(escape("[worst, best] of ![i](http://a.org/i.png)"))
    [worst, best] of ![i\](http://a.org/i.png)
    """
    return SPECIAL.sub(r"\\\g<0>", plain(text))


class Markdown(Ink):
    """A heading, paragraphs, pipe tables, a list of notes, and the commands as code."""

    def write(self, sheet: Sheet) -> str:
        """The sheet: a grid of numbers is cut at 120 columns."""
        return "\n\n".join(self._blocks(sheet, self.level)) + "\n"

    def _blocks(self, sheet: Sheet, level: int) -> Iterator[str]:
        if sheet.title:
            yield f"{'#' * level} {self.words(sheet.title)}"
        below = level + bool(sheet.title)
        yield from (self.words(text) for text in (sheet.source, *sheet.texts) if text)
        for grid in sheet.grids:
            if grid.rows:
                yield from self.grid(grid, below)
        if sheet.notes:
            yield "\n".join(f"- {self.words(note)}" for note in sheet.notes)
        if sheet.commands:
            yield "\n".join(f"    {command}" for command in sheet.commands)
        for part in sheet.parts:
            yield from self._blocks(part, below)

    def _literal(self, text: str) -> str:
        return escape(text)

    def _strong(self, text: str) -> str:
        return f"**{text}**"

    def _code(self, code: Code) -> str:
        return f"`{plain(code.text)}`"

    def _link(self, link: Link) -> str:
        return f"[{escape(link.text)}]({link.address})"

    def grid(self, grid: Grid, level: int) -> Iterator[str]:
        """The title of the grid and its pieces; one with long texts is one piece, and not aligned."""
        if grid.title:
            yield f"{'#' * level} {escape(grid.title)}"
        headings = grid.columns or [""] * len(grid.rows[0])
        columns = [
            [escape(heading), *map(self.cell, cells)]
            for heading, cells in zip(headings, grid.columns_of_cells, strict=True)
        ]
        flush_right = grid.is_number
        column_widths = widths(columns, NARROWEST)
        fits = sum(column_widths) + 3 * len(columns) + 1 <= WIDE
        if fits or all(flush_right[1:]):
            for piece in pieces_of(column_widths, 3, WIDE - EDGES):
                yield "\n".join(self._aligned(columns, column_widths, flush_right, piece))
        else:
            rules = ["---:" if is_number else ":---" for is_number in flush_right]
            texts = [[heading, rule, *cells] for (heading, *cells), rule in zip(columns, rules, strict=True)]
            yield "\n".join(row_of(row) for row in zip(*texts, strict=True))

    def _aligned(
        self, columns: list[list[str]], column_widths: list[int], flush_right: list[bool], piece: list[int]
    ) -> Iterator[str]:
        """The lines of some columns of a grid, as wide as their longest text."""
        texts = []
        for at in piece:
            dashes = "-" * (column_widths[at] - 1)
            rule = f"{dashes}:" if flush_right[at] else f":{dashes}"
            heading, *cells = padded(columns[at], column_widths[at], right=flush_right[at])
            texts.append([heading, rule, *cells])
        return (row_of(row) for row in zip(*texts, strict=True))


def row_of(cells: tuple[str, ...]) -> str:
    """A line of a pipe table."""
    return f"| {' | '.join(cells)} |"


INK = Markdown
