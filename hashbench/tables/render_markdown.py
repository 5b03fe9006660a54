"""A table as Markdown, aligned so that it can be read as plain text too."""

import re
from collections.abc import Iterable, Mapping, Sequence

from hashbench.foundation.paths import read_once
from hashbench.tables import notation
from hashbench.tables.footnotes import made_how
from hashbench.tables.notation import Notation
from hashbench.tables.papers import cited, papers
from hashbench.tables.table import Section, Table, TableCell

WIDTH = 120  # columns of a terminal; a wider section is cut, and goes on below with the row labels repeated
# the last two: mathematics, which code hosts draw between two dollars, and the name of a sign
_SPECIAL = re.compile(r"[\\|`]|\](?=[(\[:])|\*(?=\S)|<(?=[A-Za-z/!])|(?<!\w)_|_(?!\w)|\$(?=.*\$)|&(?=#?\w+;)")


def render_markdown(table: Table, *, interval: bool = False, distinct: bool = False) -> str:
    """The table as Markdown; each cell is ``published / measured``, or the one kind that the table has.

    A measured value is a mean with the standard deviation over seeds; the best ones are in bold, ‡ marks one that is
    tie-dependent, = one that is the same for every seed. A missing value leaves its side of the slash blank.
    ``interval`` adds the [worst, best] AP over all orders of ties, ``distinct`` the {number of distinct codes}.
    """
    how = Notation.of(table, interval=interval, distinct=distinct)
    legend = f"{notation.legend(table, how)} {escape(made_how(table))}".strip()
    blocks = [f"## {escape(table.title)}", escape(notation.origin(table, cite)), legend]
    for section in table.sections:
        if section.title:
            blocks.append(f"### {escape(section.title)}")
        blocks += _pieces(section, how, table.is_side_by_side)
    if table.notes:
        blocks.append("\n".join(f"- {escape(note)}" for note in table.notes))
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    r"""``text`` on one line, with what Markdown would take for markup escaped.

    >>> print(escape("*a*, AP_T | P@H<=2"))
    \*a\*, AP_T \| P@H<=2
    >>> print(escape("[worst, best] of ![i](http://a.org/i.png)"))
    [worst, best] of ![i\](http://a.org/i.png)
    """
    return _SPECIAL.sub(r"\\\g<0>", notation.plain(text))


def cite(key: str) -> str:
    """The paper of a key with names and year; the key where its entry cannot be read."""
    return cited(key, read_once(papers)(broken=str))  # str: nothing is said of a broken entry


def both(published: str, measured: str, cell: TableCell) -> str:
    """``published / measured``, with ≠ for the slash where they differ by more than the tolerance."""
    slash = "≠" if cell.within_tolerance is False else "/"
    return f"{published} {slash} {measured}".strip() if published or measured else ""


def _pieces(section: Section, how: Notation, side_by_side: bool) -> list[str]:
    """The section, cut into as few grids as fit the width."""
    best = how.best(section)
    columns = {column: [escape(notation.heading(section, column))] for column in section.columns}
    for row in section.rows:
        for column, texts in columns.items():
            cell, text = section.cells.get((row, column)), ""
            if cell is not None:
                text = how.measured_text(cell, "**{}**" if (row, column) in best else "{}")
                published = how.published(cell)
                text = both(published, text, cell) if side_by_side else text or published
            texts.append(text)
    return grids(["", *map(escape, section.rows)], columns)


def grids(labels: Sequence[str], columns: Mapping[str, Sequence[str]]) -> list[str]:
    """The fewest grids that fit the width, each with the ``labels`` of the rows; the first texts are the heading."""
    widths = {column: _width(texts) for column, texts in columns.items()}
    most = WIDTH - 1 - (_width(labels) + 3)
    pieces = notation.fewest_pieces(tuple(columns), lambda piece: sum(widths[column] + 3 for column in piece) <= most)
    return [_aligned([labels, *(columns[column] for column in piece)]) for piece in pieces]


def _width(texts: Iterable[str]) -> int:
    return max(3, *map(len, texts))


def _aligned(columns: Sequence[Sequence[str]]) -> str:
    """The grid of these columns, whose first texts are the heading; the first column has the row labels."""
    padded = []
    for place, texts in enumerate(columns):
        width, align = _width(texts), str.rjust if place else str.ljust
        rule = "-" * (width - 1) + ":" if place else ":" + "-" * (width - 1)
        padded.append([align(texts[0], width), rule, *(align(text, width) for text in texts[1:])])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in zip(*padded, strict=True))
