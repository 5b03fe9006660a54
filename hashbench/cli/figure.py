"""``hashbench figure``: figures drawn from the stored rows, with the published values where there are some."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from typer import Argument, Option, echo

from hashbench.cli._command import Answer
from hashbench.cli._terminal import leave_out, print_each_error_once, rows_read
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import Broken, each_usable, refuse
from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing import figures as declared
from hashbench.showing.figures import Drawing, FigureSpec
from hashbench.showing.report import files
from hashbench.showing.sheet import Sheet, records
from hashbench.showing.tables.collect import Rows

T = TypeVar("T")


def command(
    figures: Annotated[
        list[str] | None,
        Argument(metavar="FIGURE...", help="See hashbench list figures.", autocompletion=complete("figures")),
    ] = None,
    every: Annotated[bool, Option("--all", help="Every declared figure.")] = False,
    write: Annotated[bool, Option("--write", help="Write .png, .pdf and .csv to results/figures/.")] = False,
) -> Answer:
    """Draw figures from the stored rows; without --write, print their points as CSV.

    Where nothing is measured, the published values are drawn, or the theoretical bound; a figure without any is left
    out, and a line says so.
    """
    names = requested(figures or [], every, declared.names, "figure", "draw")
    store = rows_read()
    rows = Rows(store.rows(refuse if write else leave_out))  # a kept figure needs every row
    drawn, _ = filled_figures(None if every else names, rows, store)
    written: list[Path] = []
    parts: list[Sheet] = []
    if write:
        written = files.write(store.folder, [], drawn)
    else:
        for figure, drawing in drawn:
            if drawing.points:
                grid = records(drawing.points[0], (point.values() for point in drawing.points))
                parts.append(Sheet(figure.file.title, [grid], name=figure.name))
    sheet = Sheet(parts=parts, values=lambda: {"figures": [_values(figure, drawing) for figure, drawing in drawn]})
    n_broken = len(names) - len(drawn)
    error = None
    if n_broken:
        error = HashbenchError(f"{n_broken} of {len(names)} figures cannot be drawn: see the errors above")
    return Answer(sheet, [*map(paths.shown, written)], error)


def requested(named: list[str], every: bool, names: Callable[[], list[str]], what: str, verb: str) -> list[str]:
    """The entries of the kind ``what`` that are ``named``, or every one; not both and not neither."""
    if bool(named) == every:
        raise HashbenchError(f"name the {what}s to {verb}, or use --all (hashbench list {what}s shows their names)")
    return names() if every else named


def filled(names: list[str], fill: Callable[[str], T], broken: Broken, what: str) -> list[T]:
    """Each of ``names`` filled in, with a bar; ``broken`` is called for those that cannot be."""
    return [entry for _, entry in with_bar(each_usable(names, fill, broken), "collect", what, len(names))]


def filled_figures(named: list[str] | None, rows: Rows, store: Store) -> tuple[list[tuple[FigureSpec, Drawing]], int]:
    """The figures (None: all) filled in from ``rows``, and how many cannot be; prints what is missing of a figure."""

    def fill(name: str) -> tuple[FigureSpec, Drawing]:
        figure = figures.load(name)
        return figure, figure.fill(rows, store)

    broken: Broken = refuse
    if named is None:
        named = figures.names()
        broken = print_each_error_once()
    drawings = filled(named, fill, broken, "figure")
    for figure, drawing in drawings:
        if drawing.missing:
            echo(f"{figure.name}: {drawing.missing}", err=True)
    return drawings, len(named) - len(drawings)


def _values(figure: FigureSpec, drawing: Drawing) -> dict[str, Any]:
    values = figure.file.model_dump(include={"kind", "title", "paper", "source", "notes"})
    values |= {"name": figure.name, "n_measured": drawing.n_measured, "missing": drawing.missing}
    return {**values, "points": [dict(point) for point in drawing.points]}
