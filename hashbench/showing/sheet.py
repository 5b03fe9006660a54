"""A sheet: a title, texts, grids of cells, notes and commands. It says what is shown; an ink says how it looks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any


class Sign(Enum):
    """A mark of a number, or words of a legend, that inks write differently; the value is what most of them write."""

    TIE = "‡"
    SAME = "="
    ONE_SPLIT = "¹"
    BOTH = "Each cell: published / measured"
    MEASURED = "Each cell: measured"
    BEST = "in bold"
    OUTSIDE = "≠ in place of / where the two differ by more than the tolerance"


@dataclass(frozen=True)
class Link:
    """A text that leads to an address."""

    text: str
    address: str


@dataclass(frozen=True)
class Cite:
    """A paper by its key, and in words for inks without a bibliography."""

    key: str
    words: str


@dataclass(frozen=True)
class Code:
    """A command or a path, which is to be copied: no ink cuts it into lines."""

    text: str


Text = str | tuple["str | Link | Cite | Code | Sign", ...]


@dataclass(frozen=True)
class Number:
    """A number, written by ``form``, a format of Python: the one place where it is rounded.

    ``spread`` is written with the same form, after ±; ``after`` stands behind the marks.

    >>> Number(0.7).text, Number(-0.00001, "+.4f").text, Number(1234, ",").text, Number(1, "d", after=" of 2").text
    ('0.7000', '0.0000', '1,234', '1')
    """

    value: float
    form: str = ".4f"
    spread: float | None = None
    marks: tuple[Sign, ...] = ()
    is_best: bool = False
    after: str = ""

    @property
    def text(self) -> str:
        """The value as it is rounded; what rounds to zero has no sign."""
        return formatted(self.value, self.form)

    @property
    def spread_text(self) -> str:
        """The spread as it is rounded; empty without one."""
        if self.spread is None:
            return ""
        return formatted(self.spread, self.form)


@dataclass(frozen=True)
class Range:
    """The two ends of an interval, each written by ``form``."""

    low: float
    high: float
    form: str = ".4f"


@dataclass(frozen=True)
class Pair:
    """A published value beside the measured one; ``differs`` where they differ by more than the tolerance.

    ``is_both`` is whether the grid shows both kinds; where it does not, a cell shows the one that there is.
    ``attributes`` are those of the cell's element in HTML.
    """

    published: Number | None
    measured: Number | None
    differs: bool = False
    is_both: bool = True
    attributes: Mapping[str, str] | None = None


Cell = Text | int | Number | Range | Pair | None
Value = str | int | float | bool | None  # of a record


@dataclass(frozen=True)
class Grid:
    """Rows of cells below the headings of their columns; the first cell of a row is its label.

    Without ``columns`` a grid has no headings: names with what is said of each. None is a blank cell.
    """

    rows: Sequence[Sequence[Cell]]
    columns: Sequence[str] = ()
    title: str = ""

    @property
    def columns_of_cells(self) -> list[list[Cell]]:
        """The cells of each column, from the top."""
        return [list(cells) for cells in zip(*self.rows, strict=True)]

    @property
    def is_number(self) -> list[bool]:
        """For each column, whether it holds numbers, which stand flush right; the labels never do."""
        kinds = [_holds_numbers(cells, or_texts=bool(self.columns)) for cells in self.columns_of_cells]
        return [False, *kinds[1:]]


NUMBERS = (int, Number, Pair)


def _holds_numbers(cells: Sequence[Cell], *, or_texts: bool) -> bool:
    """Whether the cells that are not blank are numbers; with ``or_texts`` whether one of them is, or none is a text."""
    is_number = [isinstance(cell, NUMBERS) for cell in cells if cell not in (None, "")]
    return all(is_number) or (or_texts and any(is_number))


def records(columns: Iterable[str], lines: Iterable[Iterable[Value]], form: str = ".6f") -> Grid:
    """A grid for other programs: numbers have six decimals, for their last bits may depend on the machine."""
    rows = [[Number(value, form) if isinstance(value, float) else value for value in line] for line in lines]
    return Grid(rows, [*columns])


def facts(values: Mapping[str, Cell], title: str = "") -> Grid:
    """A grid without headings of what is known; what is None or empty is left out."""
    return Grid([(name, value) for name, value in values.items() if value not in (None, "")], title=title)


@dataclass(frozen=True)
class Sheet:
    """What a command prints or a file holds.

    ``source`` says where the numbers are from, ``texts`` are paragraphs above the grids, ``notes`` a list below them,
    ``commands`` are to be copied. ``parts`` are sheets that follow, one heading lower. ``values`` is what the JSON
    holds, and ``records`` what the CSV holds, in place of the grids: all that is known, not rounded for reading.
    """

    title: Text = ""
    grids: Sequence[Grid] = ()
    texts: Sequence[Text] = ()
    notes: Sequence[Text] = ()
    commands: Sequence[str] = ()
    parts: "Sequence[Sheet]" = ()
    name: str = ""
    source: Text = ""
    values: Callable[[], Any] | None = None
    records: Callable[[], Grid] | None = None

    def begun_with(self, program: str) -> "Sheet":
        """The sheet with ``program`` in its commands, such as hashbench --root X, so that they work when pasted."""

        def typed(text: str) -> str:
            if not text.startswith("hashbench "):
                return text
            return f"{program}{text.removeprefix('hashbench')}"

        def typed_in(cell: Cell) -> Cell:
            if not isinstance(cell, tuple):
                return cell
            return tuple(Code(typed(span.text)) if isinstance(span, Code) else span for span in cell)

        grids = [replace(grid, rows=[[*map(typed_in, row)] for row in grid.rows]) for grid in self.grids]
        values = None if self.values is None else self.values()
        for key in ("commands", "steps"):
            if values is not None and key in values:
                values = {**values, key: [*map(typed, values[key])]}
        return replace(self, grids=grids, commands=[*map(typed, self.commands)], values=lambda: values)


def formatted(value: float, form: str) -> str:
    """``value`` in a format of Python; what rounds to zero has no sign."""
    text = format(value, form)
    if not text.strip("+-0.,%"):
        return text.lstrip("+-")
    return text


def plain(text: str) -> str:
    r"""``text`` on one line, with ? for each sign that cannot be printed.

    >>> plain("two\n  lines"), plain("a\x1b[2Jb")
    ('two lines', 'a?[2Jb')
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else "?" for sign in line)
