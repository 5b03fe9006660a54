"""``hashbench table``: tables with the measured values beside the published ones."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench import paths
from hashbench.errors import CheckFailed, HashbenchError

if TYPE_CHECKING:
    from hashbench.tables.table import Table, TableCell


class Format(StrEnum):
    """The text formats of a table."""

    csv = "csv"
    latex = "latex"
    markdown = "markdown"


SUFFIXES = {Format.csv: ".csv", Format.latex: ".tex", Format.markdown: ".md"}


def command(
    tables: Annotated[list[str] | None, typer.Argument(metavar="TABLE...", help="See hashbench list tables.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every declared table.")] = False,
    output: Annotated[Format, typer.Option("--format", help="What to print.")] = Format.markdown,
    budget: Annotated[
        str | None, typer.Option(help="Show runs at this budget, not at the table's own; the table says so.")
    ] = None,
    interval: Annotated[
        bool, typer.Option("--interval", help="Show the [worst, best] AP over all orders of ties.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Exit 1 if a cell is outside its tolerance.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Write .csv, .tex, .md and .png to results/tables/.")] = False,
) -> None:
    """Render tables from the stored rows; a cell without a measurement is blank."""
    filled = _collect(_names(tables or [], every), budget, whole=check or write)
    if not (every and write):
        typer.echo("\n".join(_text(table, output, interval) for table in filled), nl=False)
    if write:
        for path in [path for table in filled for path in _write(table, interval)]:
            typer.echo(paths.shown(path))
    if check:
        _check(filled)


def _names(named: list[str], every: bool) -> list[str]:
    from hashbench.tables import spec

    if bool(named) == every:
        raise HashbenchError("name the tables to render, or --all for every one: hashbench list tables")
    return spec.names() if every else named


def _collect(names: list[str], budget: str | None, whole: bool) -> "list[Table]":
    from hashbench.runs.store import Store
    from hashbench.tables import spec
    from hashbench.tables.collect import collect

    specs = [spec.load(name, budget) for name in names]
    store = Store.default()
    rows = list(store.rows(None if whole else _leave_out))  # a table that is kept or checked needs every row
    return [collect(declared, rows, store) for declared in specs]


def _leave_out(error: HashbenchError) -> None:
    typer.echo(f"left out: {error}", err=True)


def _text(table: "Table", output: Format, interval: bool) -> str:
    from hashbench.tables.render_csv import render_csv
    from hashbench.tables.render_latex import render_latex
    from hashbench.tables.render_markdown import render_markdown

    if output is Format.csv:
        return render_csv(table)
    render = render_latex if output is Format.latex else render_markdown
    return render(table, interval=interval)


def _write(table: "Table", interval: bool) -> Iterator[Path]:
    """Writes the table in every format and yields the paths; a picture only of something measured."""
    from hashbench.files import atomic, write_text
    from hashbench.runs.store import Store
    from hashbench.tables.render_png import render_png

    stem = Store.default().folder / "tables" / table.name
    for output, suffix in SUFFIXES.items():
        path = stem.with_name(stem.name + suffix)
        write_text(path, _text(table, output, interval))
        yield path
    picture, path = render_png(table), stem.with_name(stem.name + ".png")
    if picture is None:
        path.unlink(missing_ok=True)  # an old picture would show rows that are gone
        return
    with atomic(path) as temporary:
        temporary.write_bytes(picture)
    yield path


def _check(tables: "list[Table]") -> None:
    """Names each cell outside its tolerance on stderr and raises CheckFailed; blank cells do not count."""
    from hashbench.tables.notation import outside_tolerance

    n_checked = n_outside = 0
    for table in tables:
        n_checked += sum(cell.within_tolerance is not None for cell in table.cells())
        for cell in outside_tolerance(table):
            n_outside += 1
            typer.echo(f"outside: {table.name}: {_verdict(cell)}", err=True)
    if n_outside:
        raise CheckFailed(f"{n_outside} of {n_checked} measured cells lie outside their tolerance")
    typer.echo(f"measured cells within their tolerance: {n_checked} of {n_checked}", err=True)


def _verdict(cell: "TableCell") -> str:
    declared, measured = cell.declared, cell.measured
    assert measured is not None
    where = " / ".join(filter(None, (declared.section, declared.row, declared.column)))
    return (
        f"{where}: published {declared.published:.4f}, measured {measured.mean:.4f}, "
        f"difference {cell.difference:+.4f}, tolerance {declared.tolerance}"
    )
