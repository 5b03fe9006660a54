"""The ink that all others are made of: how the parts of a sheet are written where nothing has to be escaped."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import ClassVar, Literal

from hashbench.showing.sheet import Cell, Cite, Code, Link, Number, Pair, Range, Sheet, Sign, Text, plain

Format = Literal["text", "markdown", "latex", "html", "csv", "json"]


@dataclass(frozen=True)
class Ink:
    """One format. Each overrides what it writes in another way.

    Lines of text have ``width`` columns, and the title of a sheet is a heading of ``level``.
    """

    width: int = 80
    level: int = 2
    signs: ClassVar[Mapping[Sign, str]] = {}

    def write(self, sheet: Sheet) -> str:
        """The whole sheet, which ends with a line end."""
        raise NotImplementedError

    def _literal(self, text: str) -> str:
        """The text on one line, as the format shows it literally."""
        return plain(text)

    def _strong(self, text: str) -> str:
        return text

    def _published(self, text: str) -> str:
        return text

    def _code(self, code: Code) -> str:
        return self._literal(code.text)

    def _link(self, link: Link) -> str:
        return self._literal(link.text)

    def _cite(self, cite: Cite) -> str:
        return self._literal(cite.words)

    def _sign(self, sign: Sign) -> str:
        return self.signs.get(sign, sign.value)

    def words(self, text: Text) -> str:
        """A text, its links and signs among it."""
        if isinstance(text, str):
            return self._span(text)
        return "".join(map(self._span, text))

    def _span(self, span: str | Link | Cite | Code | Sign) -> str:
        match span:
            case Link():
                return self._link(span)
            case Cite():
                return self._cite(span)
            case Code():
                return self._code(span)
            case Sign():
                return self._sign(span)
        # the spaces at its ends part it from its neighbours
        before = " " * (span[:1] == " ")
        after = " " * (span[-1:] == " " and bool(span.strip()))
        return f"{before}{self._literal(span)}{after}"

    def _number(self, number: Number) -> str:
        """The number with its spread, its marks and what stands behind them."""
        text = number.text
        if number.spread is not None:
            text += f"±{number.spread_text}"
        if number.is_best:
            text = self._strong(text)
        marks = "".join(map(self._sign, number.marks))
        return f"{text}{marks}{self._behind(number)}"

    def _behind(self, number: Number) -> str:
        return self._span(number.after) if number.after else ""

    def _pair(self, pair: Pair) -> str:
        """``published / measured``, with ≠ for the slash where they differ; or the one kind that the grid shows."""
        published = ""
        if pair.published is not None:
            published = self._published(pair.published.text)
        measured = self.cell(pair.measured)
        if not pair.is_both or not (published or measured):
            return measured or published
        slash = "≠" if pair.differs else "/"
        return f"{published} {slash} {measured}".strip()

    def cell(self, cell: Cell) -> str:
        """The text of a cell; blank for None."""
        match cell:
            case None:
                return ""
            case Number():
                return self._number(cell)
            case Pair():
                return self._pair(cell)
            case Range():
                ends = Number(cell.low, cell.form), Number(cell.high, cell.form)
                return self._literal(f"[{ends[0].text}, {ends[1].text}]")
            case int():
                return f"{cell:,}"
        return self.words(cell)


def write(sheet: Sheet, ink: Format, *, width: int = 80, level: int = 2) -> str:
    """The sheet in a format: lines of ``width`` columns where that matters, its title a heading of ``level``."""
    kind: type[Ink] = import_module(f"hashbench.showing.inks.{ink}").INK
    return kind(width, level).write(sheet)
