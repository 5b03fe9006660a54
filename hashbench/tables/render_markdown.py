"""A table as Markdown, aligned so that it can be read as plain text too."""

import re
from collections.abc import Sequence

from hashbench.tables import notation
from hashbench.tables.notation import Notation
from hashbench.tables.papers import cited, papers
from hashbench.tables.table import Position, Section, Table

WIDTH = 120  # columns of a terminal; a wider section is cut, and goes on below with the row labels repeated
_SPECIAL = re.compile(r"[\\|`]|\*(?=\S)|<(?=[A-Za-z/!])|(?<!\w)_|_(?!\w)")

Grid = list[list[str]]  # the heading, then the rows; the first column holds the row labels


def render_markdown(table: Table, *, interval: bool = False, distinct: bool = False) -> str:
    """The table as Markdown; each cell is ``published / measured``.

    A measured value is a mean with the standard deviation over seeds; the best ones are in bold, and ‡ marks one that
    is tie-dependent. A missing value leaves its side of the slash blank. ``interval`` adds the [worst, best] AP over
    all orders of ties, ``distinct`` the {number of distinct codes}. A table without published values shows the measured
    ones alone, and one of which nothing is measured the published ones, as the paper does.
    """
    how = Notation.of(table, interval=interval, distinct=distinct)
    blocks = [f"## {escape(table.title)}", escape(notation.origin(table, cite)), legend(table, how)]
    for section in table.sections:
        if section.title:
            blocks.append(f"### {escape(section.title)}")
        blocks += [_aligned(grid) for grid in _grids(section, how, table.is_side_by_side)]
    if table.notes:
        blocks.append("\n".join(f"- {escape(note)}" for note in table.notes))
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    r"""``text`` on one line, with what Markdown would take for markup escaped.

    >>> print(escape("*a*, AP_T | P@H<=2"))
    \*a\*, AP_T \| P@H<=2
    """
    return _SPECIAL.sub(r"\\\g<0>", notation.plain(text))


def cite(key: str) -> str:
    """The paper of a key with names and year; the key where its entry cannot be read."""
    return cited(key, papers(broken=str))  # str: nothing is said of a broken entry


def legend(table: Table, how: Notation) -> str:
    """What the cells of ``table`` show and what their marks mean, in plain text."""
    if not table.has_measured:
        return notation.unmeasured(table)
    measured = notation.what_is_measured(table, "±")
    text = f"Each cell: {'published / ' if table.has_published else ''}measured ({measured})"
    if notation.has_intervals(table, how):
        text += " [worst, best AP over all orders of ties]"
    if notation.has_distinct(table, how):
        text += " {distinct codes of the queries, of the database}"
    if any(how.best(section) for section in table.sections):
        text += "; best measured in bold"
    if notation.outside_tolerance(table):
        text += "; ≠ in place of / where the two differ by more than the tolerance"
    if note := notation.tie_note(table):
        text += f"; {notation.TIE_MARK} {note}"
    return text + "."


def _grids(section: Section, how: Notation, side_by_side: bool) -> list[Grid]:
    """The section, cut into as few pieces as fit the width."""
    best = how.best(section)
    columns = {
        label: [
            escape(notation.heading(section, label)),
            *(_cell(section, (row, label), how, best, side_by_side) for row in section.rows),
        ]
        for label in section.columns
    }
    labels = ["", *map(escape, section.rows)]

    def grid_of(piece: tuple[str, ...]) -> Grid:
        return _grid([labels, *(columns[label] for label in piece)])

    pieces = notation.fewest_pieces(section.columns, lambda piece: _width(grid_of(piece)) <= WIDTH)
    return [grid_of(piece) for piece in pieces]


def _cell(
    section: Section,
    position: Position,
    how: Notation,
    best: set[Position],
    side_by_side: bool,
) -> str:
    cell = section.cells.get(position)
    if cell is None:
        return ""
    measured = how.measured_text(cell, "**{}**" if position in best else "{}")
    published = how.published(cell)
    if not side_by_side:
        return measured or published
    slash = "≠" if cell.within_tolerance is False else "/"
    return f"{published} {slash} {measured}".strip() if published or measured else ""


def _grid(columns: Sequence[Sequence[str]]) -> Grid:
    return [list(row) for row in zip(*columns, strict=True)]


def _widths(grid: Grid) -> list[int]:
    return [max(3, *map(len, column)) for column in zip(*grid, strict=True)]


def _width(grid: Grid) -> int:
    return sum(_widths(grid)) + 3 * len(grid[0]) + 1


def _aligned(grid: Grid) -> str:
    widths = _widths(grid)
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_row(cells, widths) for cells in (grid[0], rule, *grid[1:]))


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        cells[0].ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)),
    ]
    return f"| {' | '.join(padded)} |"
