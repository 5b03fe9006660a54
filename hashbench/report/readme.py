"""The overview of the committed results, results/README.md: each table with how much of it is measured, and on what."""

from collections.abc import Iterable, Iterator

from hashbench.foundation.errors import counted
from hashbench.methods import METHODS
from hashbench.runs.settings import method_file
from hashbench.tables import notation
from hashbench.tables.footnotes import network_of
from hashbench.tables.papers import OWN
from hashbench.tables.render_leaderboard import markdown
from hashbench.tables.render_markdown import cite, escape
from hashbench.tables.table import Table
from hashbench.tables.verdicts import render as verdicts_text
from hashbench.tables.verdicts import verdicts
from hashbench.tuning import search

QUICKSTART = ("digits", "digits_all")  # their rows are everybody's own, and are not committed
HEAD = """# Results

Written by `hashbench table --all --write`; do not edit.
{measured:,} of {declared:,} cells are measured, with {methods}.
A published value is never printed as a measured one: a cell that is not measured is blank.
[REPORT.md](REPORT.md) says what the numbers mean.

`rows/` has a row for each run, `tables/` the tables as Markdown, CSV and picture, `figures/` the figures,
`tune/` the searches of settings, `evidence/` histograms of rows, `weights/` a network that was trained here,
`benchmarks/` timings, `bundles/` bundles. `make paper-tables` writes LaTeX, HTML and PDF, too.
"""
COLUMNS = "| table | what it is | measured | network or features | runs |\n| :--- | :--- | ---: | :--- | :--- |"
OWN_HEAD = f"## Our own tables\n\n{COLUMNS}"
DETAILS = "\n`hashbench leaderboard --verdicts --format csv` has a line for each published value."
SEARCHES_HEAD = """## Searches of settings

| search | queries held out of | methods | trials of each |
| :--- | :--- | :--- | ---: |"""


def results_readme(tables: Iterable[Table]) -> str:
    """The text of results/README.md; the same tables give the same text."""
    shown = [table for table in tables if table.name not in QUICKSTART]
    measured, declared = (sum(getattr(table, n) for table in shown) for n in ("n_measured", "n_cells"))
    head = HEAD.format(measured=measured, declared=declared, methods=methods_measured(shown))
    of_papers = _lines(table for table in shown if table.paper != OWN)
    own = _lines(table for table in shown if table.paper == OWN)
    lines = [head, f"## Tables of the papers\n\n{COLUMNS}", *of_papers, f"\n{OWN_HEAD}", *own]
    searches = list(_searches())
    found = verdicts(shown)
    lines += [f"\n{verdicts_text(found, markdown).rstrip()}", DETAILS] if found else []
    return "\n".join([*lines, *([f"\n{SEARCHES_HEAD}", *searches] if searches else [])]) + "\n"


def methods_measured(tables: Iterable[Table]) -> str:
    """How many methods have a measured cell, and which references."""
    measured = {row.method for table in tables for cell in table.measured for row in cell.rows}
    references = sorted(
        method_file(name).title for name in measured if name in METHODS.names and method_file(name).is_reference
    )
    text = counted(len(measured) - len(references), "method")
    return f"{text} and {counted(len(references), 'reference')} ({', '.join(references)})" if references else text


def _searches() -> Iterator[str]:
    for name in search.names():
        found = search.Search.named(name)
        n_trials = {method: len(found.of_method(method).keys() - {search.DEFAULTS}) for method in found.question.spaces}
        data = f"{', '.join(found.question.left_out)} ({found.question.protocol})"
        methods = ", ".join(method_file(method).title for method, n in n_trials.items() if n)
        counts = " or ".join(map(str, sorted({*n_trials.values()} - {0})))
        yield f"| [{name}](tune/{name}.md) | {data} | {methods} | {counts} |"


def _lines(tables: Iterable[Table]) -> Iterator[str]:
    for table in tables:
        rows = [row for measured in table.measured for row in measured.rows]
        networks = ", ".join(sorted({network_of(row) for row in rows})) or "-"
        origin = "" if table.paper == OWN else f"{cite(table.paper)}, {table.source}: "
        name, counts = f"[{table.name}](tables/{table.name}.md)", f"{table.n_measured} of {table.n_cells}"
        what = escape(f"{origin}{table.title}")
        yield f"| {name} | {what} | {counts} | {escape(networks)} | {notation.runs(table) or '-'} |"
