"""A table as LaTeX: booktabs, published values in italics beside the measured ones, cut to fit pages.

TeX alone knows the true sizes. The sizes here are estimates from the number of signs, a little on the large side.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from hashbench.tables import notation
from hashbench.tables.footnotes import footnotes
from hashbench.tables.notation import Notation
from hashbench.tables.papers import BIBLIOGRAPHY
from hashbench.tables.table import Section, Table, TableCell

SPECIAL = {
    **{sign: f"\\{sign}" for sign in "{}&%$#_"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"},
    **{"*": r"{*}", "[": r"{[}"},  # a row that begins so would be read as an argument of the \\ before it
    **{"±": r"$\pm$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "→": r"$\rightarrow$"},
    **{"∞": r"$\infty$", "α": r"$\alpha$", "λ": r"$\lambda$"},
}
WORDS = notation.Words(
    both="In italics: published. Upright: measured",
    plus_minus=r"$\pm$",
    interval="{[}worst, best AP over all orders of ties]",
    distinct=r"\{distinct codes of the queries, of the database\}",
    outside=r"$^\dagger$: further from the published value than the tolerance",
    tie_mark=r"$^\ddagger$:",
    same_mark=r"$^=$:",
    one_split_mark=r"$^1$:",
)
ESCAPES = str.maketrans(SPECIAL)

# in points; a page of the conferences' styles: 6.75 inches, two columns of text, by 9 inches
TEXT_WIDTH, TEXT_HEIGHT = 487.0, 650.0
# \footnotesize, 8 point type: the width of a digit, and the height of a line
SIGN, LINE = 4.25, 9.6
GAP = 6.0  # between two columns: \tabcolsep on either side
RULES, SKIP = 21.0, 6.0  # the rules of a tabular with the space around them; below it: \medskip
# the caption, 10 point type
CAPTION_SIGN, CAPTION_LINE, CAPTION_SPACE = 4.8, 12.0, 26.0
CAPTION_MOST = CAPTION_SPACE + 4 * CAPTION_LINE  # what a tabular of many rows leaves for it


@dataclass(frozen=True)
class _Block:
    """Lines of LaTeX that stay together, and the height that they take on the page, in points."""

    lines: Sequence[str]
    height: float


def render_latex(table: Table, *, interval: bool = False, distinct: bool = False) -> str:
    """The table as a ``table`` environment, for a document that loads booktabs and has the entries of the papers.

    Published values are in italics, measured ones upright with their standard deviation over seeds. The best measured
    values are in bold; a dagger marks values outside their tolerance, a double dagger tie-dependent ones, an = those
    that are the same for every seed. A missing value is blank. ``interval`` adds the [worst, best] AP over all
    orders of ties, ``distinct`` the {number of distinct codes}. A section that is wider than the text is several
    tabulars, and a table that is higher than a page several floats with one number.
    """
    how = Notation.of(table, interval=interval, distinct=distinct)
    origin = notation.origin(replace(table, source=escape(table.source)), lambda key: rf"\cite{{{key}}}")
    caption = f"{escape(table.title)} ({origin})"
    blocks = [block for section in table.sections for block in _tabulars(section, how, table.is_side_by_side)]
    notes = [notation.legend(table, how, WORDS), *map(escape, (*footnotes(table), *table.notes))]
    lines = r"\begin{minipage}{\linewidth}", "\\\\\n".join(notes), r"\end{minipage}"
    blocks.append(_Block(lines, sum(LINE * (1 + len(note) * SIGN // TEXT_WIDTH) for note in notes)))
    text = [rf"% needs \usepackage{{booktabs}}, and \bibliography{{{BIBLIOGRAPHY}}} with a \bibliographystyle"]
    caption_height = CAPTION_SPACE + CAPTION_LINE * (1 + len(caption) * CAPTION_SIGN // TEXT_WIDTH)
    for place, float_blocks in enumerate(_floats(blocks, TEXT_HEIGHT - caption_height)):
        text += _float(table, caption, float_blocks, is_first=place == 0)
    return "\n".join(text) + "\n"


def escape(text: str) -> str:
    r"""``text`` on one line as LaTeX prints it literally.

    >>> print(escape("AP_T & 5%"))
    AP\_T \& 5\%
    """
    literal = notation.plain(text).translate(ESCAPES)
    return re.sub("-(?=-)", "-{}", literal)  # two hyphens would become a dash


def _floats(blocks: Iterable[_Block], height: float) -> list[list[_Block]]:
    """The blocks of each float, in order: as many as fit into that height, at least one."""
    floats: list[list[_Block]] = []
    left = 0.0
    for block in blocks:
        if not floats or block.height > left:
            floats.append([])
            left = height
        floats[-1].append(block)
        left -= block.height
    return floats


def _float(table: Table, caption: str, blocks: Sequence[_Block], *, is_first: bool) -> Iterator[str]:
    """One ``table`` environment; those after the first have its number and its caption with "continued"."""
    yield from (r"\begin{table}[htbp]", r"\centering")
    if is_first:
        yield from (rf"\caption{{{caption}.}}", rf"\label{{tab:{table.name.replace('_', '-')}}}")
    else:
        yield from (r"\addtocounter{table}{-1}", rf"\caption{{{caption}, continued.}}")
    yield from (r"\par\medskip", r"\footnotesize", r"\setlength{\tabcolsep}{3pt}")
    yield from chain.from_iterable(block.lines for block in blocks)
    yield r"\end{table}"


def _tabulars(section: Section, how: Notation, side_by_side: bool) -> Iterator[_Block]:
    best = how.best(section)
    texts = {place: _cell(each, how, side_by_side, is_best=place in best) for place, each in section.cells.items()}
    empty = [""] * (1 + side_by_side)
    label = SIGN * max(len(notation.plain(row)) for row in section.rows) + GAP
    widths = {column: _column_width(section, column, how, side_by_side) for column in section.columns}
    column_pieces = notation.fewest_pieces(
        section.columns, lambda columns: label + sum(widths[column] for column in columns) <= TEXT_WIDTH
    )
    around = (1 + side_by_side + bool(section.title)) * LINE + RULES + SKIP
    most_rows = int((TEXT_HEIGHT - CAPTION_MOST - around) // LINE)
    for columns in column_pieces:
        for rows in notation.split_evenly(section.rows, most_rows):
            lines = [*_head(section, columns, side_by_side)]
            for row in rows:
                cells = (texts.get((row, column), empty) for column in columns)
                lines.append(_row(escape(row), *chain.from_iterable(cells)))
            yield _Block([*lines, r"\bottomrule", r"\end{tabular}", r"\par\medskip"], around + len(rows) * LINE)


def _column_width(section: Section, column: str, how: Notation, side_by_side: bool) -> float:
    """The width of a column, or of the pair that shows its published and its measured values, in points."""
    cells = section.column(column)
    heading = SIGN * len(notation.plain(notation.heading(section, column)))
    # a sign more for the mark of a value outside its tolerance
    measured = [how.measured_text(cell) + ("†" if cell.within_tolerance is False else "") for cell in cells]
    published = [how.published(cell) for cell in cells]
    if not side_by_side:
        return max(heading, SIGN * max(map(len, [*measured, *published]))) + GAP
    pair = SIGN * (max(map(len, ["paper", *published])) + max(map(len, ["measured", *measured]))) + GAP
    return max(heading, pair) + GAP


def _head(section: Section, columns: Sequence[str], side_by_side: bool) -> Iterator[str]:
    span = 2 if side_by_side else 1
    yield from (rf"\begin{{tabular}}{{l{'r' * span * len(columns)}}}", r"\toprule")
    if section.title:
        yield from (rf"\multicolumn{{{1 + span * len(columns)}}}{{l}}{{{escape(section.title)}}} \\", r"\midrule")
    headings = [escape(notation.heading(section, column)) for column in columns]
    if side_by_side:
        yield _row("", *(rf"\multicolumn{{2}}{{c}}{{{heading}}}" for heading in headings))
        yield " ".join(rf"\cmidrule(lr){{{first}-{first + 1}}}" for first in range(2, 2 + 2 * len(columns), 2))
        yield _row("", *[r"\textit{paper}", "measured"] * len(columns))
    else:
        yield _row("", *headings)
    yield r"\midrule"


def _row(*cells: str) -> str:
    return rf"{' & '.join(cells)} \\".lstrip()


def _cell(cell: TableCell, how: Notation, side_by_side: bool, *, is_best: bool) -> list[str]:
    published, measured = how.published(cell), _measured(cell, how, is_best=is_best)
    if not side_by_side:
        return [measured or published]
    return [rf"\textit{{{published}}}" if published else "", measured]


def _measured(cell: TableCell, how: Notation, *, is_best: bool) -> str:
    measured = cell.measured
    if measured is None:
        return ""
    mean = how.measured(cell, measured.mean)
    text = rf"\textbf{{{mean}}}" if is_best else mean
    text += "" if measured.spread is None else rf"\,$\pm$\,{how.measured(cell, measured.spread)}"
    text += r"$^\dagger$" if cell.within_tolerance is False else ""
    text += r"$^\ddagger$" if measured.is_tie_dependent else ""
    text += r"$^=$" if measured.is_same else ""
    text += "$^1$" if measured.lacks_splits else ""
    if interval := how.interval_of(cell):
        text += f" {{[}}{interval}]"
    if distinct := how.distinct_of(cell):
        text += rf" \{{{distinct}\}}"
    return text
