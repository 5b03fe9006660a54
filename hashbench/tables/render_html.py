"""A table as HTML: a fragment in ASCII that any page can hold, and that a browser shows right by itself."""

from collections.abc import Callable, Iterator, Mapping
from html import escape as escape_markup

from hashbench.tables import notation
from hashbench.tables.footnotes import made_how
from hashbench.tables.notation import Notation
from hashbench.tables.render_markdown import both, cite
from hashbench.tables.table import Section, Table, TableCell

Attributes = Callable[[TableCell], Mapping[str, str]]  # what else the element of a cell says about it


def render_html(
    table: Table,
    *,
    interval: bool = False,
    distinct: bool = False,
    counts: bool = False,
    attributes: Attributes | None = None,
) -> str:
    """The table as a ``section`` element with the words and marks of the Markdown, each section one ``table``.

    ``interval`` adds the [worst, best] AP over all orders of ties, ``distinct`` the {number of distinct codes},
    ``counts`` the (number of runs). ``attributes`` gives more attributes of a cell's element. All text is escaped, and
    what is not ASCII is written as character references.
    """
    how = Notation.of(table, interval=interval, distinct=distinct)
    lines = [
        f'<section class="hashbench-table" id="{escape(table.name)}">',
        f"<h2>{escape(table.title)}</h2>",
        f'<p class="origin">{escape(notation.origin(table, cite))}</p>',
        f'<p class="legend">{escape(f"{notation.legend(table, how)} {made_how(table)}")}</p>',
    ]
    for section in table.sections:
        best = how.best(section)
        cells = {
            place: f"<td{'' if attributes is None else element_attributes(attributes(cell))}>"
            f"{_content(cell, how, table.is_side_by_side, counts, '<b>{}</b>' if place in best else '{}')}</td>"
            for place, cell in section.cells.items()
        }
        lines += _section(section, cells)
    if table.notes:
        lines += ["<ul>", *(f"<li>{escape(note)}</li>" for note in table.notes), "</ul>"]
    text = "\n".join([*lines, "</section>"]) + "\n"
    return text.encode("ascii", "xmlcharrefreplace").decode()


def escape(text: str) -> str:
    """``text`` on one line as HTML prints it literally, inside an element or a quoted attribute.

    >>> print(escape('<b onclick="x">  & more'))
    &lt;b onclick=&quot;x&quot;&gt; &amp; more
    """
    return escape_markup(notation.plain(text))


def element_attributes(values: Mapping[str, str]) -> str:
    """The attributes of an element, with the space before each.

    >>> element_attributes({"data-bits": "12", "title": "a < b"})
    ' data-bits="12" title="a &lt; b"'
    """
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def sorted_by(value: float | None) -> str:
    """The attribute by which the page sorts a cell of a list, with the space before it; empty without a value."""
    return "" if value is None else f' data-measured="{value:.6f}"'


def _section(section: Section, cells: Mapping[tuple[str, str], str]) -> Iterator[str]:
    yield '<div class="scroll"><table>'
    if section.title:
        yield f"<caption>{escape(section.title)}</caption>"
    headings = (f'<th scope="col">{escape(notation.heading(section, column))}</th>' for column in section.columns)
    yield from (f"<thead><tr><td></td>{''.join(headings)}</tr></thead>", "<tbody>")
    for row in section.rows:
        of_row = "".join(cells.get((row, column), "<td></td>") for column in section.columns)
        yield f'<tr><th scope="row">{escape(row)}</th>{of_row}</tr>'
    yield "</tbody>\n</table></div>"


def _content(cell: TableCell, how: Notation, side_by_side: bool, counts: bool, style: str) -> str:
    measured = how.measured_text(cell, style, counts=counts)
    published = how.published(cell)
    published = f'<i class="published">{published}</i>' if published else ""
    return both(published, measured, cell) if side_by_side else published or measured
