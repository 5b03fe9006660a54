"""``hashbench figure``: figures drawn from the stored rows, with the published values where there are some."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashbench.cli._rendered import asked_for, stored_rows
from hashbench.cli._rendered import filled as fill_in
from hashbench.cli._terminal import LeftOutRows, print_each_error_once
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import refuse

if TYPE_CHECKING:
    from hashbench.figures import Drawing, FigureSpec
    from hashbench.runs.row import Row
    from hashbench.runs.store import Store


def command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="FIGURE...", help="See hashbench list figures.", autocompletion=complete("figures")),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every declared figure.")] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write .png, .pdf and .csv to results/figures/ and print the paths.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object with the points of all.")] = False,
) -> None:
    """Draw figures from the stored rows; without --write, print their points as CSV.

    Where nothing is measured, the published values are drawn, or the theoretical bound; a figure without any is left
    out, and a line says so.
    """
    from hashbench import figures as declared
    from hashbench.foundation.config import canonical_json
    from hashbench.report import files

    names = asked_for(figures or [], every, declared.names, "figure", "draw")
    left_out = None if write else LeftOutRows()  # a kept figure needs every row
    with stored_rows(left_out) as (rows, store):
        drawn, n_broken = filled(None if every else names, rows, store)
    if as_json:
        typer.echo(canonical_json({"figures": [_values(figure, drawing) for figure, drawing in drawn]}))
    if write:
        for path in files.write(store.folder, [], drawn):
            typer.echo(paths.shown(path), err=as_json)
    elif not as_json:
        texts = [declared.csv_text(drawing) for _, drawing in drawn]
        typer.echo("\n".join(text for text in texts if text), nl=False)
    if n_broken:
        raise HashbenchError(f"{n_broken} of {len(names)} figures cannot be drawn: see the errors above")
    if left_out is not None:
        left_out.check()


def filled(
    named: list[str] | None, rows: "list[Row]", store: "Store"
) -> "tuple[list[tuple[FigureSpec, Drawing]], int]":
    """The figures filled in from ``rows``, and how many cannot be; None as ``named``: every figure.

    A line on stderr says what is missing of a figure.
    """
    from hashbench import figures

    def fill(name: str) -> "tuple[FigureSpec, Drawing]":
        figure = figures.load(name)
        return figure, figure.fill(rows, store)

    names = figures.names() if named is None else named
    found = fill_in(names, fill, print_each_error_once() if named is None else refuse, "figure")
    for figure, drawing in found:
        if drawing.missing:
            typer.echo(f"{figure.name}: {drawing.missing}", err=True)
    return found, len(names) - len(found)


def _values(figure: "FigureSpec", drawing: "Drawing") -> dict[str, Any]:
    return {
        "name": figure.name,
        **figure.file.model_dump(include={"kind", "title", "paper", "source", "notes"}),
        "n_measured": drawing.n_measured,
        "missing": drawing.missing,
        "points": [dict(point) for point in drawing.points],
    }
