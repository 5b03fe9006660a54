"""``hashbench table``: tables with the measured values beside the published ones."""

from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option, echo

from hashbench.cli._options import Budget, Splits
from hashbench.cli._terminal import json_text, leave_out, print_each_error_once, rows_read
from hashbench.cli.catalogue import complete
from hashbench.cli.figure import filled, filled_figures, requested
from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.files import all_or_none
from hashbench.foundation.progress import note
from hashbench.foundation.registry import refuse

if TYPE_CHECKING:
    from hashbench.tables.table import Table


def command(
    tables: Annotated[
        list[str] | None,
        Argument(metavar="TABLE...", help="Tables, or searches of tune.", autocompletion=complete("tables")),
    ] = None,
    every: Annotated[bool, Option("--all", help="Every declared table.")] = False,
    output: Annotated[Literal["csv", "latex", "markdown", "html"], Option("--format", help="The format.")] = "markdown",
    budget: Budget = None,
    interval: Annotated[bool, Option("--interval", help="Show the [worst, best] AP over all orders of ties.")] = False,
    distinct: Annotated[bool, Option("--distinct", help="Show beside each AP how many codes are distinct.")] = False,
    splits: Splits = 1,
    check: Annotated[bool, Option("--check", help="Exit 1 if a cell is outside its tolerance.")] = False,
    write: Annotated[bool, Option("--write", help="Write results/tables/; --all: results/README.md too.")] = False,
    with_figures: Annotated[bool, Option("--figures", help="With --all --write: write every figure too.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print one JSON object with all tables.")] = False,
) -> None:
    r"""Render tables from the stored rows; a cell without a measurement is blank.

    The values are of runs on the protocol's own split. With --splits N they are means over all runs on N splits, and
    the table says so; so are those of a table whose file says repeats = "splits". The LaTeX cites papers by \cite;
    --write puts their BibTeX entries beside it, in hashbench.bib.

    A search of hashbench tune is printed as markdown (what was chosen) or csv (every trial).
    """
    from hashbench.report import files
    from hashbench.tables import spec
    from hashbench.tables.cell_runs import keep_query_scores
    from hashbench.tables.collect import Rows, collect
    from hashbench.tables.render_csv import json_table
    from hashbench.tuning import render

    if with_figures and not (every and write):
        raise HashbenchError("--figures needs --all and --write; hashbench figure draws single figures")
    names = requested(tables or [], every, spec.names, "table", "render")
    searches = _searches(names, output, every=every, write=write, as_json=as_json)
    names = [name for name in names if name not in searches]
    broken = print_each_error_once() if every else refuse
    shown, store = {"interval": interval, "distinct": distinct}, rows_read()
    rows = Rows(store.rows(refuse if check or write else leave_out))  # a kept table needs every row
    found = filled(names, lambda name: collect(spec.load(name, budget, splits), rows, store), broken, "table")
    figures, undrawn = filled_figures(None, rows, store) if with_figures else ([], 0)
    if as_json:
        echo(json_text({"tables": [json_table(table) for table in found]}))
    elif not (every and write):
        echo("\n".join(files.render(table, output, **shown) for table in found), nl=False)
    if write:
        whole = every and budget is None and splits == 1 and len(found) == len(names)
        with all_or_none():
            written = [*map(render.write, searches)]
            written += [path for name in names for path in keep_query_scores(spec.load(name, budget, splits), store)]
            written += files.write(store.folder, found, figures, broken=broken, readme=whole, **shown)
        for path in written:
            echo(paths.shown(path), err=as_json)
    if check:
        _check(found)
    if n_broken := len(names) - len(found):
        raise HashbenchError(f"{n_broken} of {len(names)} tables cannot be rendered: see the errors above")
    if undrawn:
        raise HashbenchError(f"{undrawn} figures cannot be drawn: see the errors above")


def _searches(names: list[str], output: str, *, every: bool, write: bool, as_json: bool) -> list[str]:
    """Those of ``names`` that are searches (``every``: all of them), which are printed unless all are written."""
    from hashbench.tuning import render, search

    found = [name for name in search.names() if every or name in names]
    if found and as_json and not every:
        raise HashbenchError(f"--json: a search, {found[0]}, is printed as markdown or csv; its file is JSON lines")
    for name in found:
        if not (as_json or (every and (write or output not in render.FORMATS))):
            echo(render.as_text(name, output), nl=False)
    return found


def _check(tables: "list[Table]") -> None:
    """Names each cell outside its tolerance on stderr and raises CheckFailed; blank cells do not count.

    A check of nothing fails too.
    """
    from hashbench.tables.notation import outside_tolerance

    n_checked = sum(cell.within_tolerance is not None for table in tables for cell in table.cells())
    outside = [(table.name, cell) for table in tables for cell in outside_tolerance(table)]
    for name, cell in outside:
        declared, measured = cell.declared, cell.measured
        assert measured is not None
        where = " / ".join(filter(None, (declared.section, declared.row, declared.column)))
        values = f"published {declared.published:.4f}, measured {measured.mean:.4f}, difference {cell.difference:+.4f}"
        echo(f"outside: {name}: {where}: {values}, tolerance {declared.tolerance}", err=True)
    if outside:
        raise CheckFailed(f"{len(outside)} of {n_checked} measured cells lie outside their tolerance")
    if not n_checked:
        named = ", ".join(table.name for table in tables[:3]) + (", ..." if len(tables) > 3 else "")
        if not any(table.has_measured for table in tables):
            raise CheckFailed(f"{named}: nothing is measured; hashbench run measures it")
        raise CheckFailed(f"{named}: nothing to check: no measured cell has a published value and a tolerance")
    note(f"measured cells within their tolerance: {n_checked} of {n_checked}")
