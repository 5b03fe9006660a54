"""JSON, for other programs: the values of a sheet, or else all its parts, with numbers that are not rounded."""

from typing import Any

from hashbench.foundation.config import canonical_json
from hashbench.showing.ink import Ink
from hashbench.showing.sheet import Cell, Grid, Number, Pair, Range, Sheet


class Json(Ink):
    """One object on one line."""

    def write(self, sheet: Sheet) -> str:
        """The values."""
        return canonical_json(self.values(sheet)) + "\n"

    def values(self, sheet: Sheet) -> Any:
        """The values that the sheet names, or all that it shows."""
        if sheet.values is not None:
            return sheet.values()
        parts = [self.values(part) for part in sheet.parts]
        texts = {
            "title": self.words(sheet.title),
            "source": self.words(sheet.source),
            "texts": [*map(self.words, sheet.texts)],
        }
        below = {"notes": [*map(self.words, sheet.notes)], "commands": [*sheet.commands]}
        return {**texts, "grids": [*map(self._grid, sheet.grids)], **below, "parts": parts}

    def _grid(self, grid: Grid) -> dict[str, Any]:
        rows = [[self._value(cell) for cell in row] for row in grid.rows]
        return {"title": grid.title, "columns": [*grid.columns], "rows": rows}

    def _value(self, cell: Cell) -> Any:
        match cell:
            case Number(spread=None, after=""):
                return cell.value
            case Number():
                return {"value": cell.value, "spread": cell.spread, "after": cell.after}
            case Range():
                return [cell.low, cell.high]
            case Pair():
                return {"published": self._value(cell.published), "measured": self._value(cell.measured)}
            case str() | tuple():
                return self.words(cell)
        return cell


INK = Json
