"""The pages behind the report, ``results/pages``: whole tables, each difference from the best of a column, commands."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from hashbench.foundation import paths
from hashbench.foundation.config import Strict, parse, read_toml
from hashbench.foundation.errors import unknown
from hashbench.showing.ink import write
from hashbench.showing.sheet import Cell, Code, Grid, Number, Range, Sheet, Text
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.table import Compared, Section, Table

FILE = "pages.toml"  # in experiments/
FORM = ".3f"
COLUMNS = ("", "less than the highest by", "95% interval", "p (Holm)")
SOURCE: Text = ("Written from the stored rows by ", Code("hashbench table --all --write"), "; do not edit.")
TEST = (
    "A difference is that of the highest mean of a column and the mean of the line, with its 95% interval by the "
    "paired t-test over splits; p is corrected by Holm for all lines of its column."
)


class Page(Strict):
    """A page as it is declared; ``ranked_by`` is the column that gives the order of rows, where a section has it."""

    title: str
    about: str
    tables: list[str] = Field(min_length=1)
    ranked_by: str = ""
    commands: list[str] = []


class PagesFile(Strict):
    """The whole file: its pages by name."""

    pages: dict[str, Page]


def declared() -> dict[str, Page]:
    """The declared pages of all roots by name; of two with one name that of the first root."""
    pages: dict[str, Page] = {}
    for root in reversed(paths.roots()):
        path = root / "experiments" / FILE
        if path.is_file():
            pages |= parse(PagesFile, read_toml(path), str(path)).pages
    return pages


def texts(tables: Iterable[Table]) -> dict[str, str]:
    """Each declared page as Markdown, by its name; raises HashbenchError for a table that is not among ``tables``."""
    by_name = {table.name: table for table in tables}
    written: dict[str, str] = {}
    for name, page in declared().items():
        for table in page.tables:
            if table not in by_name:
                raise unknown(f"table of the page {name}", table, by_name)
        written[name] = write(sheet_of_page(page, [by_name[table] for table in page.tables]), "markdown", level=1)
    return written


def sheet_of_page(page: Page, tables: Sequence[Table]) -> Sheet:
    """The page: each table with the rows in the order of their means, and what is significantly below the highest."""
    parts = [_part(table, page.ranked_by) for table in tables]
    if page.commands:
        parts.insert(0, Sheet("Commands", commands=page.commands))
    texts: list[Text] = [page.about]
    if any(group.test for table in tables for section in table.sections for group in section.compared):
        texts.append(TEST)
    return Sheet(page.title, texts=texts, parts=parts, source=SOURCE)


def _part(table: Table, ranked_by: str) -> Sheet:
    sheet = sheet_of(table)
    grids: list[Grid] = []
    for section, grid in zip(table.sections, sheet.grids, strict=True):
        means = {row: _mean(section, row, ranked_by) for row in section.rows}
        grids.append(replace(grid, rows=sorted(grid.rows, key=lambda row: -means[str(row[0])])))
        grids += [_differences(section, group) for group in section.compared if group.test is not None]
    return replace(sheet, grids=grids)


def _mean(section: Section, row: str, column: str) -> float:
    cell = section.cells.get((row, column))
    if cell is None or cell.measured is None:
        return 0.0
    return cell.measured.mean


def _differences(section: Section, group: Compared) -> Grid:
    """The lines that have a test, from the highest mean downwards."""
    assert group.test is not None
    columns = dict.fromkeys(column for _, column in group.test.p)
    (best,) = group.test.p.keys() - group.test.below.keys()
    title = f"{section.title}, {', '.join(columns)}: below {best[0]}, over {group.test.n_splits} splits"
    return Grid(list(_lines(group)), COLUMNS, title)


def _lines(group: Compared) -> Iterator[list[Cell]]:
    assert group.test is not None
    in_order = sorted(group.test.below.items(), key=lambda item: item[1].difference)
    for position, paired in in_order:
        p = Number(group.test.p[position], ".4f")
        yield [position[0], Number(paired.difference, FORM), Range(paired.low, paired.high, FORM), p]
