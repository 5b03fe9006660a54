"""Text for a terminal: columns one below the other, long texts in lines that fit."""

from collections.abc import Iterator

from hashbench.showing.ink import Ink
from hashbench.showing.layout import NARROW, WIDE, padded, pieces_of, widths, wrapped
from hashbench.showing.sheet import Code, Grid, Sheet, plain

BETWEEN = "  "  # two columns
KEPT = "\u00a0"  # a space at which no line is cut, until all is written


class PlainText(Ink):
    """Every part is written as it is."""

    def write(self, sheet: Sheet) -> str:
        """The blocks of the sheet, a blank line between two."""
        blocks = [list(block) for block in self._blocks(sheet)]
        text = "\n\n".join("\n".join(block) for block in blocks if block).replace(KEPT, " ")
        return f"{text}\n" if text else ""

    def _code(self, code: Code) -> str:
        return plain(code.text).replace(" ", KEPT)

    def _blocks(self, sheet: Sheet) -> Iterator[Iterator[str]]:
        head = [sheet.title, sheet.source, *sheet.texts]
        yield (line for text in head if text for line in wrapped("", self.words(text), self.width))
        for grid in sheet.grids:
            if grid.rows:
                yield self.grid(grid)
        yield (line for note in sheet.notes for line in wrapped("- ", self.words(note), self.width))
        yield (f"$ {command}" for command in sheet.commands)
        for part in sheet.parts:
            yield from self._blocks(part)

    def grid(self, grid: Grid) -> Iterator[str]:
        """The lines of a grid: its title, then its rows, below a title with a small indent."""
        indent = ""
        if grid.title:
            yield grid.title
            indent = BETWEEN
        columns = [[self.cell(cell) for cell in cells] for cells in grid.columns_of_cells]
        if grid.columns:
            columns = [[heading, *texts] for heading, texts in zip(grid.columns, columns, strict=True)]
        flush_right = grid.is_number
        column_widths = widths(columns)
        if len(columns) > 1 and not flush_right[-1]:
            yield from self._rows_with_text(grid, columns, indent)
            return
        pieces = [list(range(len(columns)))]
        if all(flush_right[1:]):
            pieces = pieces_of(column_widths, len(BETWEEN), max(self.width, WIDE) - len(indent))
        for piece in pieces:
            texts = [padded(columns[at], column_widths[at], right=flush_right[at]) for at in piece]
            for row in zip(*texts, strict=True):
                yield f"{indent}{BETWEEN.join(row)}".rstrip()

    def _rows_with_text(self, grid: Grid, columns: list[list[str]], indent: str) -> Iterator[str]:
        """The rows of a grid whose last column is a text: it goes on below itself where it is long."""
        flush_right = grid.is_number
        column_widths = widths(columns)
        texts = [padded(columns[at], column_widths[at], right=flush_right[at]) for at in range(len(columns) - 1)]
        leads = [indent + "".join(f"{text}{BETWEEN}" for text in row) for row in zip(*texts, strict=True)]
        if grid.columns:
            heading, *leads = leads
            yield f"{heading}{grid.columns[-1]}".rstrip()
        for lead, row in zip(leads, grid.rows, strict=True):
            has_room = len(lead) <= self.width - NARROW or not grid.columns  # below a heading a text stays in its line
            if isinstance(row[-1], str | tuple) and has_room:
                yield from wrapped(lead, self.words(row[-1]), self.width)
            else:
                yield f"{lead}{self.cell(row[-1])}".rstrip()


INK = PlainText
