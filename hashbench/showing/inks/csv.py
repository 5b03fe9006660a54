"""CSV, for other programs: the records of a sheet, or else its grids."""

from collections.abc import Iterable, Iterator

from hashbench.foundation.files import csv_text
from hashbench.showing.ink import Ink
from hashbench.showing.sheet import Cell, Grid, Number, Sheet, Value, records

FORMULA = ("=", "+", "-", "@")  # a spreadsheet runs a field that begins so


class Csv(Ink):
    """Values alone, without marks; what is above and below the grids is left out."""

    def write(self, sheet: Sheet) -> str:
        """The records or grids, a blank line between two."""
        return "\n".join(self._texts(sheet))

    def _texts(self, sheet: Sheet) -> Iterator[str]:
        if sheet.records is not None:
            sheet = Sheet(grids=[sheet.records()])
        for grid in sheet.grids:
            if grid.rows or grid.columns:
                yield self.grid(grid)
        for part in sheet.parts:
            yield from self._texts(part)

    def grid(self, grid: Grid) -> str:
        """The lines of a grid; one without headings has names and values."""
        columns = grid.columns or ("name", *("value" for _ in grid.rows[0][1:]))
        return csv_text(map(self.cell, columns), (map(self.cell, row) for row in grid.rows))

    def cell(self, cell: Cell) -> str:
        """The text of a cell: an apostrophe before what a spreadsheet would run, numbers without commas.

        >>> [Csv().cell(cell) for cell in (None, True, 3000, Number(0.25, ".6f"), "12 bits", "=1+1")]
        ['', 'true', '3000', '0.250000', '12 bits', "'=1+1"]
        """
        match cell:
            case bool():
                return str(cell).lower()
            case int():
                return str(cell)
            case Number():
                return self._number(cell)
            case str() | tuple():
                text = self.words(cell)
                return f"'{text}" if text.startswith(FORMULA) else text
        return super().cell(cell)

    def _number(self, number: Number) -> str:
        text = number.text.replace(",", "")
        if number.spread is not None:
            text += f"±{number.spread_text}"
        return f"{text}{number.after}"


INK = Csv


def csv_of(columns: Iterable[str], lines: Iterable[Iterable[Value]]) -> str:
    """The text of a CSV file of records."""
    return Csv().grid(records(columns, lines))
