r"""LaTeX: booktabs, published values in italics beside the measured ones, cut to fit pages.

TeX alone knows the true sizes. The sizes here are estimates from the number of signs, a little on the large side.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

from hashbench.showing.ink import Ink
from hashbench.showing.inks.text import PlainText
from hashbench.showing.layout import pieces_of, split_evenly
from hashbench.showing.sheet import Cell, Cite, Code, Grid, Number, Pair, Sheet, Sign, plain

PLAIN = PlainText()
BIBLIOGRAPHY = "hashbench"  # \bibliography{hashbench}: the file of all entries beside the tables
SPECIAL = {
    **{sign: f"\\{sign}" for sign in "{}&%$#_"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"*": r"{*}", "[": r"{[}"},  # a row that begins so would be read as an argument of the \\ before it
    **{"±": r"$\pm$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$"},
    **{"∞": r"$\infty$", "α": r"$\alpha$", "λ": r"$\lambda$"},
}
ESCAPES = str.maketrans(SPECIAL)
DAGGER = r"$^\dagger$"

# in points; a page of the conferences' styles: 6.75 inches, two columns of text, by 9 inches
TEXT_WIDTH = 487.0
TEXT_HEIGHT = 650.0
# \footnotesize, 8 point type: the width of a digit, and the height of a line
SIGN = 4.25
LINE = 9.6
GAP = 6.0  # between two columns: \tabcolsep on either side
RULES = 21.0  # of a tabular, with the space around them
SKIP = 6.0  # \medskip below it
NARROWEST = 100.0  # of a column of texts that go on below
# the caption, 10 point type
CAPTION_SIGN = 4.8
CAPTION_LINE = 12.0
CAPTION_SPACE = 26.0
CAPTION_MOST = CAPTION_SPACE + 4 * CAPTION_LINE  # what a tabular of many rows leaves for it


def escape(text: str) -> str:
    r"""``text`` on one line as LaTeX prints it literally.

    >>> print(escape("AP_T & 5%"))
    AP\_T \& 5\%
    """
    literal = plain(text).translate(ESCAPES)
    return re.sub("-(?=-)", "-{}", literal)  # two hyphens would become a dash


@dataclass(frozen=True)
class Block:
    """Lines of LaTeX that stay together, and the height that they take on the page, in points."""

    lines: Sequence[str]
    height: float


@dataclass(frozen=True)
class Column:
    """A column of a grid: its heading and cells, its width in points, and whether its pairs are two columns."""

    heading: str
    cells: list[Cell]
    width: float
    is_pair: bool
    is_number: bool
    is_wrapped: bool = False  # a text that goes on below itself

    @property
    def letters(self) -> str:
        """What the head of its tabular says of it."""
        if self.is_wrapped:
            return f"p{{{self.width:.0f}pt}}"
        letter = "r" if self.is_number else "l"
        return letter * (1 + self.is_pair)

    def n_lines(self, place: int) -> int:
        """The number of lines that its cell in a row takes."""
        if not self.is_wrapped:
            return 1
        return 1 + int(SIGN * len(PLAIN.cell(self.cells[place])) // self.width)


class Latex(Ink):
    """``table`` environments, for a document that loads booktabs and has the entries of the papers.

    A grid that is wider than the text is several tabulars, and a sheet that is higher than a page several floats with
    one number.
    """

    signs: ClassVar = {
        Sign.BOTH: "In italics: published. Upright: measured",
        Sign.OUTSIDE: rf"{DAGGER}: further from the published value than the tolerance",
        Sign.TIE: r"$^\ddagger$",
        Sign.SAME: "$^=$",
        Sign.ONE_SPLIT: "$^1$",
    }

    def write(self, sheet: Sheet) -> str:
        """The sheet."""
        head = rf"% needs \usepackage{{booktabs}}, and \bibliography{{{BIBLIOGRAPHY}}} with a \bibliographystyle"
        return "\n".join([head, *self._floats(sheet)]) + "\n"

    def _literal(self, text: str) -> str:
        return escape(text)

    def _strong(self, text: str) -> str:
        return rf"\textbf{{{text}}}"

    def _published(self, text: str) -> str:
        return rf"\textit{{{text}}}"

    def _code(self, code: Code) -> str:
        return rf"\texttt{{{escape(code.text)}}}"

    def _cite(self, cite: Cite) -> str:
        return rf"\cite{{{cite.key}}}"

    def _number(self, number: Number) -> str:
        text = number.text
        if number.is_best:
            text = self._strong(text)
        if number.spread is not None:
            text += rf"\,$\pm$\,{number.spread_text}"
        marks = "".join(map(self._sign, number.marks))
        return f"{text}{marks}{self._behind(number)}"

    def _floats(self, sheet: Sheet) -> Iterator[str]:
        """The floats of the sheet, then those of its parts."""
        caption = self.words(sheet.title)
        if sheet.source:
            caption += f" ({self.words(sheet.source)})"
        blocks = [block for grid in sheet.grids if grid.rows for block in self._tabulars(grid)]
        notes = [self.words(text) for text in (*sheet.texts, *sheet.notes)]
        notes += [self._code(Code(command)) for command in sheet.commands]
        if notes:
            lines = r"\begin{minipage}{\linewidth}", "\\\\\n".join(notes), r"\end{minipage}"
            blocks.append(Block(lines, sum(LINE * (1 + len(note) * SIGN // TEXT_WIDTH) for note in notes)))
        caption_height = CAPTION_SPACE + CAPTION_LINE * (1 + len(caption) * CAPTION_SIGN // TEXT_WIDTH)
        for place, blocks_of_float in enumerate(_that_fit(blocks, TEXT_HEIGHT - caption_height)):
            yield from (r"\begin{table}[htbp]", r"\centering")
            yield from _caption(sheet, caption, is_first=place == 0)
            yield from (r"\par\medskip", r"\footnotesize", r"\setlength{\tabcolsep}{3pt}")
            yield from chain.from_iterable(block.lines for block in blocks_of_float)
            yield r"\end{table}"
        for part in sheet.parts:
            yield from self._floats(part)

    def _tabulars(self, grid: Grid) -> Iterator[Block]:
        columns = self._columns(grid)
        is_pair = any(column.is_pair for column in columns)
        around = (1 + is_pair + bool(grid.title)) * LINE + RULES + SKIP
        most_rows = int((TEXT_HEIGHT - CAPTION_MOST - around) // LINE)
        for piece in pieces_of([column.width for column in columns], 0, TEXT_WIDTH):
            columns_of_piece = [columns[at] for at in piece]
            for places in split_evenly(range(len(grid.rows)), most_rows):
                rows = [row_of(self._texts_of_row(columns_of_piece, place)) for place in places]
                head = self._head(grid, columns_of_piece)
                lines = [*head, *rows, r"\bottomrule", r"\end{tabular}", r"\par\medskip"]
                n_lines = sum(max(column.n_lines(place) for column in columns_of_piece) for place in places)
                yield Block(lines, around + n_lines * LINE)

    def _columns(self, grid: Grid) -> list[Column]:
        """The columns; one of texts takes the width that the others leave, where it is long."""
        headings = grid.columns or [""] * len(grid.rows[0])
        columns = []
        for heading, cells, is_number in zip(headings, grid.columns_of_cells, grid.is_number, strict=True):
            is_pair = any(isinstance(cell, Pair) and cell.is_both for cell in cells)
            width = max(SIGN * len(plain(heading)), _width(cells, is_pair=is_pair)) + GAP
            columns.append(Column(heading, cells, width, is_pair, is_number))
        widest = max(columns[1:] or columns, key=lambda column: column.width)
        too_much = sum(column.width for column in columns) - TEXT_WIDTH
        if too_much > 0 and not widest.is_number:
            narrow = replace(widest, width=max(NARROWEST, widest.width - too_much), is_wrapped=True)
            columns = [narrow if column is widest else column for column in columns]
        return columns

    def _head(self, grid: Grid, columns: Sequence[Column]) -> Iterator[str]:
        n_columns = sum(1 + column.is_pair for column in columns)
        letters = "".join(column.letters for column in columns)
        yield from (rf"\begin{{tabular}}{{{letters}}}", r"\toprule")
        if grid.title:
            yield from (rf"\multicolumn{{{n_columns}}}{{l}}{{{escape(grid.title)}}} \\", r"\midrule")
        if not grid.columns:
            return
        if n_columns == len(columns):
            yield row_of(escape(column.heading) for column in columns)
        else:
            corner, *others = columns
            titles = (rf"\multicolumn{{2}}{{c}}{{{escape(column.heading)}}}" for column in others)
            yield row_of([escape(corner.heading), *titles])
            yield " ".join(rf"\cmidrule(lr){{{at}-{at + 1}}}" for at in range(2, 2 + 2 * len(others), 2))
            yield row_of(["", *[r"\textit{paper}", "measured"] * len(others)])
        yield r"\midrule"

    def _texts_of_row(self, columns: Sequence[Column], place: int) -> Iterator[str]:
        for column in columns:
            cell = column.cells[place]
            if column.is_pair:
                yield from self._both(cell)
            elif isinstance(cell, Pair) and cell.measured is None and cell.published is not None:
                yield cell.published.text
            else:
                yield self.cell(cell)

    def _both(self, cell: Cell) -> tuple[str, str]:
        """The published value in italics, and the measured one with a dagger where the two differ."""
        if not isinstance(cell, Pair):
            return "", ""
        published = ""
        if cell.published is not None:
            published = self._published(cell.published.text)
        measured = cell.measured
        if measured is None:
            return published, ""
        text = self._number(replace(measured, marks=(), after=""))
        if cell.differs:
            text += DAGGER
        marks = "".join(map(self._sign, measured.marks))
        return published, f"{text}{marks}{self._behind(measured)}"


def _width(cells: Sequence[Cell], *, is_pair: bool) -> float:
    """The width of cells, or of the two columns of pairs with the space between them, in points."""
    if not is_pair:
        return SIGN * max(len(PLAIN.cell(cell)) for cell in cells)
    pairs = [cell for cell in cells if isinstance(cell, Pair)]
    published = [len(PLAIN.cell(pair.published)) for pair in pairs]
    # a sign more for the mark of a value outside its tolerance
    measured = [len(PLAIN.cell(pair.measured)) + pair.differs for pair in pairs]
    return SIGN * (max(len("paper"), *published) + max(len("measured"), *measured)) + GAP


def _that_fit(blocks: Iterable[Block], height: float) -> list[list[Block]]:
    """The blocks of each float, in order: as many as fit into that height, at least one."""
    floats: list[list[Block]] = []
    left = 0.0
    for block in blocks:
        if not floats or block.height > left:
            floats.append([])
            left = height
        floats[-1].append(block)
        left -= block.height
    return floats


def _caption(sheet: Sheet, caption: str, *, is_first: bool) -> Iterator[str]:
    """The caption; floats after the first have the number of that, and "continued"."""
    if not is_first:
        yield from (r"\addtocounter{table}{-1}", rf"\caption{{{caption}, continued.}}")
    elif caption:
        yield rf"\caption{{{caption}.}}"
        if sheet.name:
            yield rf"\label{{tab:{sheet.name.replace('_', '-')}}}"


def row_of(cells: Iterable[str]) -> str:
    """A line of a tabular."""
    return rf"{' & '.join(cells)} \\".lstrip()


INK = Latex
