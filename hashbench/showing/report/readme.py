"""The overview of the committed results, results/README.md: each table with how much of it is measured, and on what."""

from collections.abc import Iterable, Iterator

from hashbench.foundation.errors import counted
from hashbench.learning.methods import METHODS
from hashbench.running.runs.settings import method_file
from hashbench.running.tuning import search
from hashbench.showing.ink import write
from hashbench.showing.sheet import Cell, Code, Grid, Link, Number, Sheet, Text
from hashbench.showing.tables import notation
from hashbench.showing.tables.footnotes import network_of
from hashbench.showing.tables.notation import cite
from hashbench.showing.tables.papers import OWN
from hashbench.showing.tables.table import Table
from hashbench.showing.tables.verdicts import sheet_of_verdicts, verdicts

QUICKSTART = ("digits", "digits_all")  # their rows are everybody's own, and are not committed
COLUMNS = ("table", "what it is", "measured", "network or features", "runs")
SEARCH_COLUMNS = ("search", "validation queries of", "methods", "trials of each")
FOLDERS: dict[str, str] = {
    "rows/": " has a row for each run, ",
    "tables/": " the tables as Markdown, CSV and picture, ",
    "figures/": " the figures, ",
    "pages/": " ranked tables with each difference, ",
    "tune/": " the searches of settings, ",
    "evidence/": " histograms of rows, ",
    "weights/": " a network that was trained here, ",
    "benchmarks/": " timings, ",
    "bundles/": " bundles. ",
    "make paper-tables": " writes LaTeX, HTML and PDF, too.",
}
DETAILS = (Code("hashbench leaderboard --verdicts --format csv"), " has a line for each published value.")


def results_readme(tables: Iterable[Table]) -> str:
    """The text of results/README.md; the same tables give the same text."""
    tables = [table for table in tables if table.name not in QUICKSTART]
    n_measured = sum(table.n_measured for table in tables)
    n_cells = sum(table.n_cells for table in tables)
    texts: list[Text] = [
        ("Written by ", Code("hashbench table --all --write"), "; do not edit."),
        f"{n_measured:,} of {n_cells:,} cells are measured, with {methods_measured(tables)}.",
        "A published value is never printed as a measured one: a cell that is not measured is blank.",
        (Link("REPORT.md", "REPORT.md"), " says what the numbers mean."),
        tuple(span for name, text in FOLDERS.items() for span in (Code(name), text)),
    ]
    parts = [
        Sheet("Tables of the papers", [_grid(table for table in tables if table.paper != OWN)]),
        Sheet("Our own tables", [_grid(table for table in tables if table.paper == OWN)]),
    ]
    if judged := verdicts(tables):
        parts += [*sheet_of_verdicts(judged).parts, Sheet(texts=[DETAILS])]
    if searches := list(_searches()):
        parts.append(Sheet("Searches of settings", [Grid(searches, SEARCH_COLUMNS)]))
    return write(Sheet("Results", texts=texts, parts=parts), "markdown", level=1)


def methods_measured(tables: Iterable[Table]) -> str:
    """How many methods have a measured cell, and which references."""
    measured = {row.method for table in tables for cell in table.measured for row in cell.rows}
    references = sorted(
        method_file(name).title for name in measured if name in METHODS.names and method_file(name).is_reference
    )
    text = counted(len(measured) - len(references), "method")
    if references:
        text += f" and {counted(len(references), 'reference')} ({', '.join(references)})"
    return text


def _searches() -> Iterator[list[Cell]]:
    for name in search.names():
        stored = search.Search.named(name)
        question = stored.question
        n_trials = {method: len(stored.of_method(method).keys() - {search.DEFAULTS}) for method in question.spaces}
        data = f"{', '.join(question.left_out)} ({question.protocol})"
        methods = ", ".join(method_file(method).title for method, n in n_trials.items() if n)
        counts = sorted({*n_trials.values()} - {0})
        n_of_each = None
        if counts:
            n_of_each = Number(counts[0], "d", after="".join(f" or {n}" for n in counts[1:]))
        yield [(Link(name, f"tune/{name}.md"),), data, methods, n_of_each]


def _grid(tables: Iterable[Table]) -> Grid:
    rows: list[list[Cell]] = []
    for table in tables:
        stored = [row for measured in table.measured for row in measured.rows]
        networks = ", ".join(sorted({network_of(row) for row in stored})) or "-"
        title = table.title
        if table.paper != OWN:
            title = f"{cite(table.paper).words}, {table.source}: {title}"
        name = (Link(table.name, f"tables/{table.name}.md"),)
        n_measured = Number(table.n_measured, "d", after=f" of {table.n_cells}")
        rows.append([name, title, n_measured, networks, notation.runs(table) or "-"])
    return Grid(rows, COLUMNS)
