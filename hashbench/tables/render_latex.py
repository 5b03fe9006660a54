"""A table as LaTeX: booktabs, published values in italics beside the measured ones."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hashbench.tables import latex_page, notation
from hashbench.tables.latex_page import Block
from hashbench.tables.made_with import made_with
from hashbench.tables.notation import Notation
from hashbench.tables.papers import BIBLIOGRAPHY
from hashbench.tables.table import Position, Section, Table, TableCell

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "*": r"{*}",  # a row that begins with * or [ would be read as an argument of the \\ before it
    "[": r"{[}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "∞": r"$\infty$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
}
ESCAPES = str.maketrans(SPECIAL)


def render_latex(table: Table, *, interval: bool = False, distinct: bool = False) -> str:
    """The table as a ``table`` environment, for a document that loads booktabs and has the entries of the papers.

    Published values are in italics, measured ones upright with their standard deviation over seeds. The best measured
    values are in bold, and the second best underlined where they are clearly below; a dagger marks those outside their
    tolerance, a double dagger those that are tie-dependent. A missing value is blank. A table of which nothing is
    measured shows the published values alone, as the paper does. The footnotes say what the measured values were made
    with. ``interval`` adds the [worst, best] AP over all orders of ties, ``distinct`` the {number of
    distinct codes}. Each section is one tabular, or several where it is wider than the text. A table that is higher
    than a page is several floats with one number.
    """
    how = Notation.of(table, interval=interval, distinct=distinct)
    caption = f"{escape(table.title)} ({_origin(table)})"
    blocks = [block for section in table.sections for block in _tabulars(section, how, table.is_side_by_side)]
    blocks.append(_notes(table, how))
    floats = latex_page.floats_of(blocks, latex_page.caption_height(caption))
    lines = [rf"% needs \usepackage{{booktabs}}, and \bibliography{{{BIBLIOGRAPHY}}} with a \bibliographystyle"]
    for place, float_blocks in enumerate(floats):
        lines += _float(table, caption, float_blocks, is_first=place == 0)
    return "\n".join(lines) + "\n"


def _float(table: Table, caption: str, blocks: Sequence[Block], *, is_first: bool) -> Iterator[str]:
    """One ``table`` environment; those after the first have its number and its caption with "continued"."""
    yield r"\begin{table}[htbp]"
    yield r"\centering"
    if is_first:
        yield rf"\caption{{{caption}.}}"
        yield rf"\label{{tab:{table.name.replace('_', '-')}}}"
    else:
        yield r"\addtocounter{table}{-1}"
        yield rf"\caption{{{caption}, continued.}}"
    yield r"\par\medskip"
    yield r"\footnotesize"
    yield r"\setlength{\tabcolsep}{3pt}"
    for block in blocks:
        yield from block.lines
    yield r"\end{table}"


def _origin(table: Table) -> str:
    r"""The paper and its table, each paper as \\cite{key}."""
    source = replace(table, source=escape(table.source))
    return notation.origin(source, lambda key: rf"\cite{{{key}}}")


def escape(text: str) -> str:
    r"""``text`` on one line as LaTeX prints it literally.

    >>> print(escape("AP_T & 5%"))
    AP\_T \& 5\%
    """
    literal = notation.plain(text).translate(ESCAPES)
    return re.sub("-(?=-)", "-{}", literal)  # two hyphens would become a dash


def _legend(table: Table, how: Notation) -> str:
    if not table.has_measured:
        return notation.unmeasured(table)
    measured = notation.what_is_measured(table, r"$\pm$")
    text = f"{'In italics: published. Upright' if table.has_published else 'Each cell'}: measured ({measured})"
    if notation.has_intervals(table, how):
        text += " {[}worst, best AP over all orders of ties]"
    if notation.has_distinct(table, how):
        text += r" \{distinct codes of the queries, of the database\}"
    if any(how.best(section) for section in table.sections):
        text += "; best measured in bold"
    if any(how.second(section) for section in table.sections):
        text += "; second best underlined where it is below the best by more than the standard deviation of either"
    if notation.outside_tolerance(table):
        text += r"; $^\dagger$: further from the published value than the tolerance"
    if note := notation.tie_note(table):
        text += rf"; $^\ddagger$: {note}"
    return text + "."


def _notes(table: Table, how: Notation) -> Block:
    notes = [_legend(table, how), *map(escape, (*made_with(table), *table.notes))]
    lines = r"\begin{minipage}{\linewidth}", "\\\\\n".join(notes), r"\end{minipage}"
    return Block(lines, sum(map(latex_page.text_height, notes)))


def _tabulars(section: Section, how: Notation, side_by_side: bool) -> Iterator[Block]:
    marks = _marks(section, how)
    for columns, rows in latex_page.pieces_of(section, how, side_by_side):
        lines = (*_tabular(section, columns, rows, how, marks, side_by_side), r"\par\medskip")
        yield Block(lines, latex_page.tabular_height(section, len(rows), side_by_side))


def _marks(section: Section, how: Notation) -> dict[Position, str]:
    r"""The commands that mark measured means: \\textbf the best ones, \\underline the second best."""
    return dict.fromkeys(how.second(section), r"\underline") | dict.fromkeys(how.best(section), r"\textbf")


def _tabular(
    section: Section,
    columns: Sequence[str],
    rows: Sequence[str],
    how: Notation,
    marks: Mapping[Position, str],
    side_by_side: bool,
) -> Iterator[str]:
    span = 2 if side_by_side else 1
    yield rf"\begin{{tabular}}{{l{'r' * span * len(columns)}}}"
    yield r"\toprule"
    if section.title:
        yield rf"\multicolumn{{{1 + span * len(columns)}}}{{l}}{{{escape(section.title)}}} \\"
        yield r"\midrule"
    headings = [escape(notation.heading(section, column)) for column in columns]
    if side_by_side:
        yield _row("", [rf"\multicolumn{{2}}{{c}}{{{heading}}}" for heading in headings])
        yield " ".join(rf"\cmidrule(lr){{{first}-{first + 1}}}" for first in range(2, 2 + 2 * len(columns), 2))
        yield _row("", [r"\textit{paper}", "measured"] * len(columns))
    else:
        yield _row("", headings)
    yield r"\midrule"
    for row in rows:
        places = [(row, column) for column in columns]
        texts = [_cell(section.cells.get(place), how, marks.get(place, ""), side_by_side) for place in places]
        yield _row(escape(row), [text for pair in texts for text in pair])
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _row(label: str, cells: list[str]) -> str:
    return rf"{' & '.join([label, *cells])} \\".lstrip()


def _cell(cell: TableCell | None, how: Notation, mark: str, side_by_side: bool) -> list[str]:
    """The LaTeX of a cell: published and measured, or the one of them that the table has."""
    measured = "" if cell is None else _measured(cell, how, mark)
    published = "" if cell is None else how.published(cell)
    if not side_by_side:
        return [measured or published]
    return [rf"\textit{{{published}}}" if published else "", measured]


def _measured(cell: TableCell, how: Notation, mark: str) -> str:
    measured = cell.measured
    if measured is None:
        return ""
    mean = how.measured(cell, measured.mean)
    text = rf"{mark}{{{mean}}}" if mark else mean
    if measured.std is not None:
        text += rf"\,$\pm$\,{how.measured(cell, measured.std)}"
    if cell.within_tolerance is False:
        text += r"$^\dagger$"
    if notation.is_tie_dependent(cell):
        text += r"$^\ddagger$"
    if interval := how.interval_of(cell):
        text += f" {{[}}{interval}]"
    if distinct := how.distinct_of(cell):
        text += rf" \{{{distinct}\}}"
    return text
