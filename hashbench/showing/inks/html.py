"""HTML: a fragment in ASCII that any page can hold, and that a browser shows right by itself."""

from collections.abc import Iterator, Mapping
from html import escape as escape_markup

from hashbench.showing.ink import Ink
from hashbench.showing.sheet import Cell, Code, Grid, Link, Number, Pair, Sheet, plain


def escape(text: str) -> str:
    """``text`` on one line as HTML prints it literally, inside an element or a quoted attribute.

    >>> print(escape('<b onclick="x">  & more'))
    &lt;b onclick=&quot;x&quot;&gt; &amp; more
    """
    return escape_markup(plain(text))


def element_attributes(values: Mapping[str, str]) -> str:
    """The attributes of an element, with the space before each.

    >>> element_attributes({"data-bits": "12", "title": "a < b"})
    ' data-bits="12" title="a &lt; b"'
    """
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def sorted_by(value: float | None) -> str:
    """The attribute by which the page sorts a cell of a list, with the space before it; empty without a value."""
    if value is None:
        return ""
    return f' data-measured="{value:.6f}"'


class Html(Ink):
    """A ``section`` element: headings, paragraphs, a table for each grid, which the page of the report can sort."""

    def write(self, sheet: Sheet) -> str:
        """The sheet; what is not ASCII is written as character references."""
        text = "\n".join(self.section(sheet, self.level)) + "\n"
        return text.encode("ascii", "xmlcharrefreplace").decode()

    def section(self, sheet: Sheet, level: int) -> Iterator[str]:
        """The lines of the element."""
        name = f' id="{escape(sheet.name)}"' if sheet.name else ""
        yield f'<section class="hashbench-table"{name}>'
        if sheet.title:
            yield f"<h{level}>{self.words(sheet.title)}</h{level}>"
        if sheet.source:
            yield f'<p class="origin">{self.words(sheet.source)}</p>'
        yield from (f'<p class="legend">{self.words(text)}</p>' for text in sheet.texts)
        for grid in sheet.grids:
            if grid.rows:
                yield from self.grid(grid)
        if sheet.notes:
            yield from ("<ul>", *(f"<li>{self.words(note)}</li>" for note in sheet.notes), "</ul>")
        yield from (f"<pre>{escape(command)}</pre>" for command in sheet.commands)
        for part in sheet.parts:
            yield from self.section(part, level + bool(sheet.title))
        yield "</section>"

    def _literal(self, text: str) -> str:
        return escape(text)

    def _strong(self, text: str) -> str:
        return f"<b>{text}</b>"

    def _published(self, text: str) -> str:
        return f'<i class="published">{text}</i>'

    def _code(self, code: Code) -> str:
        return f"<code>{escape(code.text)}</code>"

    def _link(self, link: Link) -> str:
        return f'<a href="{escape(link.address)}">{escape(link.text)}</a>'

    def grid(self, grid: Grid) -> Iterator[str]:
        """The lines of a table, which scrolls in its box."""
        holds_pairs = any(isinstance(cell, Pair) for row in grid.rows for cell in row)
        kind = "" if holds_pairs else ' class="list sortable"'
        yield f'<div class="scroll"><table{kind}>'
        if grid.title:
            yield f"<caption>{escape(grid.title)}</caption>"
        if grid.columns:
            corner, *headings = map(escape, grid.columns)
            head = f'<th scope="col">{corner}</th>' if corner else "<td></td>"
            for text, is_number in zip(headings, grid.is_number[1:], strict=True):
                right = ' class="number"' if is_number and not holds_pairs else ""
                head += f'<th scope="col"{right}>{text}</th>'
            yield f"<thead><tr>{head}</tr></thead>"
        yield "<tbody>"
        for label, *cells_of_row in grid.rows:
            yield f'<tr><th scope="row">{self.cell(label)}</th>{"".join(map(self._element, cells_of_row))}</tr>'
        yield "</tbody>\n</table></div>"

    def _element(self, cell: Cell) -> str:
        if isinstance(cell, Pair):
            return f"<td{element_attributes(cell.attributes or {})}>{self._pair(cell)}</td>"
        if isinstance(cell, Number):
            attributes = f' class="number"{sorted_by(cell.value)}'
        elif isinstance(cell, int):
            attributes = f' class="number"{sorted_by(cell)}'
        else:
            attributes = ""
        return f"<td{attributes}>{self.cell(cell)}</td>"


INK = Html
