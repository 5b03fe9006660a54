"""The files of tables and figures in the folder of results; a picture is drawn only where what it shows has changed."""

import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from hashbench.figures import (
    Drawing,
    FigureSpec,
    csv_text,
    drawing_of_table,
    is_stamped,
    pictures,
    preview,
    stamp_of,
)
from hashbench.foundation.files import atomic, write_text
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import bar
from hashbench.foundation.registry import Broken, refuse
from hashbench.report.readme import results_readme
from hashbench.tables import papers
from hashbench.tables.render_csv import render_csv
from hashbench.tables.render_html import render_html
from hashbench.tables.render_latex import render_latex
from hashbench.tables.render_markdown import render_markdown
from hashbench.tables.table import Table

SUFFIXES = {"csv": ".csv", "latex": ".tex", "markdown": ".md", "html": ".html"}
FEW = 4  # pictures, which are drawn before other processes have started


@dataclass(frozen=True)
class _Picture:
    """A picture to be drawn: a figure as PNG and PDF, a table as PNG; ``png`` is its path."""

    png: Path
    drawing: Drawing
    stamp: str
    with_pdf: bool

    def write(self) -> None:
        drawn = pictures(self.drawing, self.stamp) if self.with_pdf else {".png": preview(self.drawing, self.stamp)}
        for suffix, content in drawn.items():
            with atomic(self.png.with_suffix(suffix)) as temporary:
                temporary.write_bytes(content)


def render(table: Table, output: str, *, interval: bool = False, distinct: bool = False) -> str:
    """The table as text in the format csv, latex, markdown or html; the CSV has all columns always."""
    if output == "csv":
        return render_csv(table)
    renderers = {"latex": render_latex, "markdown": render_markdown, "html": render_html}
    return renderers[output](table, interval=interval, distinct=distinct)


def write(
    folder: Path,
    tables: Sequence[Table],
    figures: Sequence[tuple[FigureSpec, Drawing]] = (),
    *,
    interval: bool = False,
    distinct: bool = False,
    broken: Broken = refuse,
    readme: bool = False,
) -> list[Path]:
    """Writes the tables to ``folder``/tables and the figures to ``folder``/figures; returns the paths.

    The papers that tables cite are beside them, in a file for BibTeX; ``broken`` is called for an entry that cannot be
    read. With ``readme``, which is for all tables, the overview of ``folder`` is written too. Where there is nothing to
    draw, what an earlier drawing left is removed. Pictures of the same stay as they are.
    """
    outdated: list[_Picture] = []
    written: list[Path] = []
    for table in tables:
        written += _write_table(folder / "tables" / table.name, table, interval, distinct, outdated)
    for spec, drawing in figures:
        written += _write_figure(folder / "figures" / spec.name, spec, drawing, outdated)
    if tables:
        write_text(path := folder / "tables" / f"{papers.BIBLIOGRAPHY}.bib", papers.all_bibtex(broken))
        written.append(path)
    if readme:
        write_text(path := folder / "README.md", results_readme(tables))
        written.append(path)
    with bar("draw", "picture", len(outdated)) as done:
        for _ in _drawn(outdated):
            done.update()
    return written


def _write_table(stem: Path, table: Table, interval: bool, distinct: bool, outdated: list[_Picture]) -> Iterator[Path]:
    texts = {output: render(table, output, interval=interval, distinct=distinct) for output in SUFFIXES}
    for output, suffix in SUFFIXES.items():
        write_text(path := stem.with_name(stem.name + suffix), texts[output])
        yield path
    png, drawing = stem.with_name(f"{stem.name}.png"), drawing_of_table(table)
    if drawing is None:
        png.unlink(missing_ok=True)  # an old picture would show rows that are gone
        return
    if not is_stamped(png, stamp := stamp_of(texts["csv"], texts["markdown"])):
        outdated.append(_Picture(png, drawing, stamp, with_pdf=False))
    yield png


def _write_figure(stem: Path, spec: FigureSpec, drawing: Drawing, outdated: list[_Picture]) -> Iterator[Path]:
    if drawing.keeps_files:
        return
    png, pdf, csv = (stem.with_name(stem.name + suffix) for suffix in (".png", ".pdf", ".csv"))
    if not drawing.points:
        for path in (png, pdf, csv):
            path.unlink(missing_ok=True)
        return
    text = csv_text(drawing)
    stamp = stamp_of(text, str(drawing.missing), spec.path.read_text(encoding="utf-8"))
    if not (pdf.is_file() and is_stamped(png, stamp)):
        outdated.append(_Picture(png, drawing, stamp, with_pdf=True))
    write_text(csv, text)
    yield from (png, pdf, csv)


def _drawn(outdated: Sequence[_Picture]) -> Iterator[None]:
    """Writes the pictures, several at a time where there are many: to draw them is most of the time of a command."""
    workers = min(available_cores(), len(outdated))
    if workers < 2 or len(outdated) < FEW:
        yield from map(_Picture.write, outdated)
        return
    # spawned, because this process may have threads; the largest pictures first
    context = get_context("spawn")
    largest = sorted(outdated, key=lambda picture: -picture.drawing.size_in[0] * picture.drawing.size_in[1])
    with ProcessPoolExecutor(workers, context, _leave_interrupts) as pool:
        yield from pool.map(_Picture.write, largest)


def _leave_interrupts() -> None:
    """Ctrl-C ends the command, and that ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
