"""The files of tables and figures in the folder of results; a picture is drawn only where what it shows has changed."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import prod
from multiprocessing import get_context
from pathlib import Path

from hashbench.foundation.files import all_or_none, write_bytes, write_text
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import Broken, refuse
from hashbench.showing import ink
from hashbench.showing.figures import (
    Drawing,
    FigureSpec,
    csv_text,
    drawing_of_table,
    is_stamped,
    picture,
    pictures,
    stamp_of,
)
from hashbench.showing.ink import Format
from hashbench.showing.inks.latex import BIBLIOGRAPHY
from hashbench.showing.report import pages
from hashbench.showing.report.readme import results_readme
from hashbench.showing.tables import papers
from hashbench.showing.tables.cell import CELLS
from hashbench.showing.tables.sheet import sheet_of
from hashbench.showing.tables.table import Table

SUFFIXES: dict[Format, str] = {"csv": ".csv", "latex": ".tex", "markdown": ".md", "html": ".html"}
FEW = 4  # pictures, which are drawn before other processes have started


@dataclass(frozen=True)
class _Picture:
    """A picture by the paths of its files: a figure as PNG and PDF, a table as PNG."""

    png: Path
    drawing: Drawing
    stamp: str
    pdf: Path | None = None

    @property
    def is_outdated(self) -> bool:
        return not (is_stamped(self.png, self.stamp) and (self.pdf is None or self.pdf.is_file()))

    def drawn(self) -> dict[Path, bytes]:
        """The content of its files."""
        if self.pdf is None:
            return {self.png: picture(self.drawing, self.stamp)}
        drawn = pictures(self.drawing, self.stamp)
        return {self.png.with_suffix(suffix): content for suffix, content in drawn.items()}


def write(
    folder: Path,
    tables: Sequence[Table],
    figures: Sequence[tuple[FigureSpec, Drawing]] = (),
    *,
    interval: bool = False,
    broken: Broken = refuse,  # is called for a paper that cannot be read
    every: bool = False,  # of all tables: of those that declare no picture, only pictures that are there are drawn
    readme: bool = False,  # the overview of ``folder`` and the pages behind the report are written too
) -> list[Path]:
    """Writes tables and their papers to ``folder``/tables, figures to ``folder``/figures, all or none.

    Returns the paths. The pictures of tables and figures that have nothing to show any more are removed.
    """
    texts: dict[Path, str] = {}
    drawn: list[_Picture] = []
    written: list[Path] = []  # in the order in which they are named
    gone: list[Path] = []  # pictures that would show rows that are not there any more
    for table in tables:
        stem = folder / "tables" / table.name
        sheet = sheet_of(table, interval=interval)
        for_paper = sheet_of(table, interval=interval, for_paper=True)
        outputs = {output: ink.write(sheet, output) for output in SUFFIXES}
        outputs["latex"] = ink.write(for_paper, "latex")
        texts |= {stem.with_name(stem.name + suffix): outputs[output] for output, suffix in SUFFIXES.items()}
        written += [stem.with_name(stem.name + suffix) for suffix in SUFFIXES.values()]
        png = stem.with_name(f"{stem.name}.png")
        if every and table.picture != CELLS and not png.exists():
            continue
        drawing = drawing_of_table(table)
        if drawing is None:
            gone.append(png)
        else:
            drawn.append(_Picture(png, drawing, stamp_of(outputs["csv"], outputs["markdown"])))
            written.append(png)
    for spec, drawing in figures:
        stem = folder / "figures" / spec.name
        png, pdf, csv = (stem.with_name(stem.name + suffix) for suffix in (".png", ".pdf", ".csv"))
        if drawing.points and not drawing.keeps_files:
            texts[csv] = csv_text(drawing)
            stamp = stamp_of(texts[csv], str(drawing.missing), spec.path.read_text(encoding="utf-8"))
            drawn.append(_Picture(png, drawing, stamp, pdf))
            written += [png, pdf, csv]
        elif not drawing.keeps_files:
            gone += [png, pdf, csv]
    if tables:
        texts[bib := folder / "tables" / f"{BIBLIOGRAPHY}.bib"] = papers.all_bibtex(broken)
        written.append(bib)
    if readme:
        overviews = {folder / "README.md": results_readme(tables)}
        overviews |= {folder / "pages" / f"{name}.md": text for name, text in pages.texts(tables).items()}
        texts |= overviews
        written += overviews
    with all_or_none():
        _write_changed(texts)
        _draw([one for one in drawn if one.is_outdated])
    for path in gone:
        path.unlink(missing_ok=True)
    return written


def _write_changed(texts: Mapping[Path, str]) -> None:
    """Writes the files whose content is another one: to write a file costs ten times its reading."""
    for path, text in texts.items():
        if not (path.is_file() and path.read_bytes() == text.encode()):
            write_text(path, text)


def _draw(outdated: Sequence[_Picture]) -> None:
    """Writes the pictures, drawn several at a time where there are many: to draw them is most of a command's time."""
    workers = min(available_cores(), len(outdated))
    with ExitStack() as stack:
        drawn: Iterator[dict[Path, bytes]] = map(_Picture.drawn, outdated)
        if workers > 1 and len(outdated) >= FEW:
            # spawned, because this process may have threads; Ctrl-C ends the command, and that ends its workers
            no_interrupts = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
            pool = stack.enter_context(ProcessPoolExecutor(workers, get_context("spawn"), no_interrupts))
            largest_first = sorted(outdated, key=lambda one: -prod(one.drawing.size_in))
            drawn = pool.map(_Picture.drawn, largest_first)
        for contents in with_bar(drawn, "draw", "picture", len(outdated)):
            for path, content in contents.items():
                write_bytes(path, content)
