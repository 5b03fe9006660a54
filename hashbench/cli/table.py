"""``hashbench table``: tables with the measured values beside the published ones."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli import figure
from hashbench.cli._options import Splits
from hashbench.cli._rendered import asked_for, stored_rows
from hashbench.cli._rendered import filled as fill_in
from hashbench.cli._terminal import LeftOutRows, print_each_error_once
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import CheckFailed, HashbenchError
from hashbench.foundation.registry import refuse

if TYPE_CHECKING:
    from hashbench.tables.table import Table, TableCell


class Format(StrEnum):
    """The text formats of a table."""

    csv = "csv"
    latex = "latex"
    markdown = "markdown"
    html = "html"


def command(
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="TABLE...", help="See hashbench list tables.", autocompletion=complete("tables")),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every declared table.")] = False,
    output: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.markdown,
    budget: Annotated[
        str | None, typer.Option(help="Show runs at this budget, not at the table's own; the table says so.")
    ] = None,
    interval: Annotated[
        bool, typer.Option("--interval", help="Show the [worst, best] AP over all orders of ties.")
    ] = False,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Show beside each AP how many distinct codes queries and database have.")
    ] = False,
    splits: Splits = 1,
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a cell is outside its tolerance.")] = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Write .csv, .tex, .md, .html, .png to results/tables/, and a .bib; --all: results/README.md.",
        ),
    ] = False,
    with_figures: Annotated[
        bool, typer.Option("--figures", help="With --all --write: write every figure too, as hashbench figure does.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with all tables.")] = False,
) -> None:
    r"""Render tables from the stored rows; a cell without a measurement is blank.

    Values are those of the protocol's own split. With --splits N they are means over all runs on N splits, and the
    table says so. The LaTeX cites papers by \cite; --write puts their BibTeX entries beside it, in hashbench.bib.
    """
    from hashbench.foundation.config import canonical_json
    from hashbench.report import files
    from hashbench.tables import spec
    from hashbench.tables.collect import collect
    from hashbench.tables.render_csv import json_table

    if with_figures and not (every and write):
        raise HashbenchError("--figures needs --all and --write; hashbench figure draws single figures")
    names = asked_for(tables or [], every, spec.names, "table", "render")
    broken = print_each_error_once() if every else refuse
    left_out = None if check or write else LeftOutRows()  # a kept table needs every row
    shown = {"interval": interval, "distinct": distinct}
    with stored_rows(left_out) as (rows, store):
        filled = fill_in(names, lambda name: collect(spec.load(name, budget, splits), rows, store), broken, "table")
        figures, undrawn = figure.filled(None, rows, store) if with_figures else ([], 0)
    if as_json:
        typer.echo(canonical_json({"tables": [json_table(table) for table in filled]}))
    elif not (every and write):
        typer.echo("\n".join(files.render(table, output, **shown) for table in filled), nl=False)
    if write:
        whole = every and budget is None and splits == 1 and len(filled) == len(names)
        for path in files.write(store.folder, filled, figures, broken=broken, readme=whole, **shown):
            typer.echo(paths.shown(path), err=as_json)
    if check:
        _check(filled)
    if n_broken := len(names) - len(filled):
        raise HashbenchError(f"{n_broken} of {len(names)} tables cannot be rendered: see the errors above")
    if undrawn:
        raise HashbenchError(f"{undrawn} figures cannot be drawn: see the errors above")
    if left_out is not None:
        left_out.check()


def _check(tables: "list[Table]") -> None:
    """Names each cell outside its tolerance on stderr and raises CheckFailed; blank cells do not count.

    A check of nothing fails too.
    """
    from hashbench.foundation.progress import note
    from hashbench.tables.notation import outside_tolerance

    n_checked = n_outside = 0
    for table in tables:
        n_checked += sum(cell.within_tolerance is not None for cell in table.cells())
        for cell in outside_tolerance(table):
            n_outside += 1
            typer.echo(f"outside: {table.name}: {_verdict(cell)}", err=True)
    if n_outside:
        raise CheckFailed(f"{n_outside} of {n_checked} measured cells lie outside their tolerance")
    if not n_checked:
        named = ", ".join(table.name for table in tables[:3]) + (", ..." if len(tables) > 3 else "")
        if not any(table.has_measured for table in tables):
            raise CheckFailed(f"{named}: nothing is measured; hashbench run measures it")
        raise CheckFailed(f"{named}: nothing to check: no measured cell has a published value and a tolerance")
    note(f"measured cells within their tolerance: {n_checked} of {n_checked}")


def _verdict(cell: "TableCell") -> str:
    declared, measured = cell.declared, cell.measured
    assert measured is not None
    where = " / ".join(filter(None, (declared.section, declared.row, declared.column)))
    return (
        f"{where}: published {declared.published:.4f}, measured {measured.mean:.4f}, "
        f"difference {cell.difference:+.4f}, tolerance {declared.tolerance}"
    )
