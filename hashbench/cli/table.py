"""``hashbench table``: tables with the measured values beside the published ones."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Context, Option, echo

from hashbench.cli._command import Answer
from hashbench.cli._terminal import leave_out, print_each_error_once, rows_read
from hashbench.cli.catalogue import complete
from hashbench.cli.figure import filled, filled_figures, requested
from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.files import all_or_none
from hashbench.foundation.progress import note
from hashbench.foundation.registry import refuse
from hashbench.running.tuning.search import names as names_of_searches
from hashbench.showing import search_sheet
from hashbench.showing.figures import Drawing, FigureSpec
from hashbench.showing.report import files
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import spec
from hashbench.showing.tables.collect import Rows, collect, keep_query_scores
from hashbench.showing.tables.notation import outside_tolerance
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.table import Table


def command(
    context: Context,
    tables: Annotated[
        list[str] | None,
        Argument(metavar="TABLE[@BUDGET]...", help="Tables, or searches of tune.", autocompletion=complete("tables")),
    ] = None,
    every: Annotated[bool, Option("--all", help="Every declared table.")] = False,
    interval: Annotated[bool, Option("--interval", help="Show the [worst, best] AP over all orders of ties.")] = False,
    check: Annotated[bool, Option("--check", help="Exit 1 if a cell is outside its tolerance.")] = False,
    write: Annotated[bool, Option("--write", help="Write results/tables/; --all: figures and README.md too.")] = False,
) -> Answer:
    r"""Render tables from the stored rows; a cell without a measurement is blank.

    The values are of runs on the protocol's own split; in a table whose file says repeats = "splits" repeat r is of
    split r. The LaTeX cites papers by \cite; --write puts their BibTeX entries beside it, in hashbench.bib.

    TABLE@cpu is the table at the budget cpu of its methods.

    Of a search of hashbench tune what was chosen is printed; as csv every trial.
    """
    names = requested(tables or [], every, spec.names, "table", "render")
    searches = [name for name in names_of_searches() if every or name in names]
    names = [name for name in names if name not in searches]
    broken = print_each_error_once() if every else refuse
    store = rows_read()
    rows = Rows(store.rows(refuse if check or write else leave_out))  # a kept table needs every row
    written: list[Path] = []

    def collected_table(name: str) -> Table:
        declared = spec.load(name)
        if write:  # the bold values depend on the AP of each query
            written.extend(keep_query_scores(declared, rows, store))
        return collect(declared, rows, store)

    collected = filled(names, collected_table, broken, "table")
    figures: list[tuple[FigureSpec, Drawing]] = []
    n_undrawn = 0
    if every and write:
        figures, n_undrawn = filled_figures(None, rows, store)
    of_searches: list[Sheet] = []
    of_tables: list[Sheet] = []
    if not (every and write):
        of_searches = [search_sheet.named(name) for name in searches]
        for_paper = context.params["output"] == "latex"
        of_tables = [sheet_of(table, interval=interval, for_paper=for_paper) for table in collected]
    if write:
        whole = every and len(collected) == len(names)
        with all_or_none():
            written += map(search_sheet.write, searches)
            written += files.write(
                store.folder,
                collected,
                figures,
                interval=interval,
                broken=broken,
                every=every,
                readme=whole,
            )
    error = _check(collected) if check else None
    if n_broken := len(names) - len(collected):
        error = HashbenchError(f"{n_broken} of {len(names)} tables cannot be rendered: see the errors above")
    elif n_undrawn:
        error = HashbenchError(f"{n_undrawn} figures cannot be drawn: see the errors above")
    sheet = Sheet(parts=[*of_searches, *of_tables], values=lambda: _values(of_searches, of_tables))
    return Answer(sheet, [*map(paths.shown, written)], error)


def _values(searches: list[Sheet], tables: list[Sheet]) -> dict[str, Any]:
    """The object of --json: all tables, and the searches where there are some."""
    values = {"tables": [sheet.values() for sheet in tables if sheet.values is not None]}
    if searches:
        values["searches"] = [sheet.values() for sheet in searches if sheet.values is not None]
    return values


def _check(tables: list[Table]) -> HashbenchError | None:
    """The error where a cell is outside its tolerance, each of which is named on stderr; blank cells do not count.

    A check of nothing fails too.
    """
    n_checked = sum(cell.within_tolerance is not None for table in tables for cell in table.cells())
    outside = [(table.name, cell) for table in tables for cell in outside_tolerance(table)]
    for name, cell in outside:
        declared = cell.declared
        measured = cell.measured
        assert measured is not None
        where = " / ".join(filter(None, (declared.section, declared.row, declared.column)))
        values = f"published {declared.published:.4f}, measured {measured.mean:.4f}, difference {cell.difference:+.4f}"
        echo(f"outside: {name}: {where}: {values}, tolerance {declared.tolerance}", err=True)
    if outside:
        return CheckFailed(f"{len(outside)} of {n_checked} measured cells lie outside their tolerance")
    if not n_checked:
        named = ", ".join(table.name for table in tables)
        return CheckFailed(f"{named}: nothing to check: no measured cell has a published value and a tolerance")
    note(f"measured cells within their tolerance: {n_checked} of {n_checked}")
    return None
