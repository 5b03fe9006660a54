"""Text for a terminal: columns one below the other, long texts in lines that fit."""

from collections.abc import Iterator

from hashbench.showing.ink import Ink
from hashbench.showing.layout import WIDE, padded, pieces_of, widths, wrapped
from hashbench.showing.sheet import Cell, Code, Grid, Sheet, Text, formatted

BETWEEN = "  "  # two columns


class PlainText(Ink):
    """Every part is written as it is."""

    def write(self, sheet: Sheet) -> str:
        """The blocks of the sheet, a blank line between two."""
        blocks = [list(block) for block in self._blocks(sheet)]
        text = "\n\n".join("\n".join(block) for block in blocks if block)
        return f"{text}\n" if text else ""

    def _blocks(self, sheet: Sheet) -> Iterator[Iterator[str]]:
        head = [sheet.title, sheet.source, *sheet.texts]
        yield (line for text in head if text for line in self._lines("", text))
        for grid in sheet.grids:
            if grid.rows:
                yield self.grid(grid)
        yield (line for note in sheet.notes for line in self._lines("", note))
        yield (f"$ {command}" for command in sheet.commands)
        for part in sheet.parts:
            yield from self._blocks(part)

    def _lines(self, lead: str, text: Text) -> Iterator[str]:
        """The text beside ``lead``, in lines that fit; one line where it holds what is to be copied."""
        written = self.words(text)
        if isinstance(text, tuple) and any(isinstance(span, Code) for span in text):
            yield f"{lead}{written}"
        else:
            yield from wrapped(lead, written, self.width)

    def grid(self, grid: Grid) -> Iterator[str]:
        """The lines of a grid: its title, then its rows, below a title with a small indent."""
        if grid.title:
            yield grid.title
        indent = BETWEEN if grid.title else ""
        columns = [[self.cell(cell) for cell in cells] for cells in grid.columns_of_cells]
        if grid.columns:
            columns = [[heading, *texts] for heading, texts in zip(grid.columns, columns, strict=True)]
        flush_right = grid.is_number
        column_widths = widths(columns)
        if not all(flush_right[1:]):
            yield from self._rows_with_text(grid, columns, indent)
            return
        most = max(self.width, WIDE) - len(indent)
        for piece in pieces_of(column_widths, len(BETWEEN), most):
            texts = [padded(columns[at], column_widths[at], right=flush_right[at]) for at in piece]
            for row in zip(*texts, strict=True):
                yield f"{indent}{BETWEEN.join(row)}".rstrip()

    def _rows_with_text(self, grid: Grid, columns: list[list[str]], indent: str) -> Iterator[str]:
        """The rows of a grid whose last column is a text: it goes on below itself where it is long."""
        flush_right = grid.is_number
        column_widths = widths(columns)
        texts = [padded(columns[at], column_widths[at], right=flush_right[at]) for at in range(len(columns) - 1)]
        n_headings = len(columns[0]) - len(grid.rows)
        last_cells: list[Cell] = [*grid.columns[-1:][:n_headings], *(row[-1] for row in grid.rows)]
        for *row, last in zip(*texts, last_cells, strict=True):
            lead = indent + "".join(f"{text}{BETWEEN}" for text in row)
            if isinstance(last, str | tuple):
                yield from self._lines(lead, last)
            else:
                yield f"{lead}{self.cell(last)}".rstrip()


def number(value: float | None, form: str = ".4f") -> str:
    """A number in a line of text, or a dash for what has no value."""
    return "-" if value is None else formatted(value, form)


INK = PlainText
