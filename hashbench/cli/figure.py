"""``hashbench figure``: figures drawn from the stored rows, with the published values where there are some."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli import _rendered
from hashbench.cli._rendered import asked_for
from hashbench.cli._terminal import LeftOutRows, print_each_error_once
from hashbench.cli.catalogue import complete
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.registry import refuse

if TYPE_CHECKING:
    from hashbench.figures import Drawing, FigureSpec
    from hashbench.runs.store import Row, Store

CSV = ".csv"


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

    names = asked_for(figures or [], every, declared.names, "figure", "draw")

    def fill(name: str, rows: "list[Row]", store: "Store") -> "tuple[FigureSpec, Drawing]":
        figure = declared.load(name)
        return figure, figure.fill(rows, store)

    left_out = None if write else LeftOutRows()  # a kept figure needs every row
    filled = _rendered.filled(names, fill, print_each_error_once() if every else refuse, "figure", left_out=left_out)
    for figure, drawing in filled:
        if drawing.missing:
            typer.echo(f"{figure.name}: {drawing.missing}", err=True)
    if as_json:
        typer.echo(_as_json(filled))
    if write:
        for path in _written(filled):
            typer.echo(paths.shown(path), err=as_json)
    elif not as_json:
        _print(filled)
    if n_broken := len(names) - len(filled):
        raise HashbenchError(f"{n_broken} of {len(names)} figures cannot be drawn: see the errors above")
    if left_out is not None:
        left_out.check()


def _print(filled: "list[tuple[FigureSpec, Drawing]]") -> None:
    from hashbench.figures import csv_text

    texts = [csv_text(drawing) for _, drawing in filled]
    typer.echo("\n".join(text for text in texts if text), nl=False)


def _as_json(filled: "list[tuple[FigureSpec, Drawing]]") -> str:
    from hashbench.foundation.config import canonical_json

    keys = ("kind", "title", "paper", "source", "notes")
    return canonical_json(
        {
            "figures": [
                {
                    "name": figure.name,
                    **figure.file.model_dump(include=set(keys)),
                    "n_measured": drawing.n_measured,
                    "missing": drawing.missing,
                    "points": [dict(point) for point in drawing.points],
                }
                for figure, drawing in filled
            ]
        }
    )


def _written(filled: "list[tuple[FigureSpec, Drawing]]") -> Iterator[Path]:
    """Writes each figure and yields the paths."""
    from hashbench.foundation.progress import bar
    from hashbench.runs.store import Store

    folder = Store.default().folder / "figures"
    with bar("write", "figure", len(filled)) as done:
        for figure, drawing in filled:
            yield from _write(folder / figure.name, figure, drawing)
            done.update()


def _write(stem: Path, figure: "FigureSpec", drawing: "Drawing") -> Iterator[Path]:
    """Writes one figure and yields the paths; where there is nothing to draw, what an earlier one left is removed.

    Pictures that were drawn from the same stay as they are.
    """
    from hashbench.figures import csv_text, pictures, stamp_of
    from hashbench.foundation.files import atomic
    from hashbench.tables.stamp import is_stamped

    if drawing.keeps_files:
        return
    if not drawing.points:
        for suffix in (".png", ".pdf", CSV):
            stem.with_name(stem.name + suffix).unlink(missing_ok=True)
        return
    png, pdf, csv = (stem.with_name(stem.name + suffix) for suffix in (".png", ".pdf", CSV))
    stamp = stamp_of(figure, drawing)
    is_drawn = pdf.is_file() and is_stamped(png, stamp)
    drawn = {} if is_drawn else pictures(drawing, stamp)
    for path, content in ((png, drawn.get(".png")), (pdf, drawn.get(".pdf")), (csv, csv_text(drawing).encode())):
        if content is not None:
            with atomic(path) as temporary:
                temporary.write_bytes(content)
        yield path
