"""What the report shows: tables with what is missing of them, figures as small pictures, and rows."""

import io
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from PIL import Image

from hashbench.foundation.errors import HashbenchError, quietly
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import Broken, each_usable
from hashbench.running.runs.command import command_of
from hashbench.running.runs.past import Past
from hashbench.running.runs.row import HEADINGS, Row
from hashbench.running.runs.store import Store
from hashbench.showing import figures
from hashbench.showing.figures import Drawing, FigureSpec
from hashbench.showing.tables import spec
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import run_of
from hashbench.showing.tables.collect import Rows, collect
from hashbench.showing.tables.leaderboard import Panel, leaderboard, tables_of
from hashbench.showing.tables.spec import TableSpec, why_not_here
from hashbench.showing.tables.table import Table

PIXELS_PER_IN = 100  # of the page
SHARPNESS = 2  # pixels of photographs for each of the page, in width and in height
WIDTH = 1380  # pixels of photographs, at most: 6.9 inches, the page of a paper
QUALITY = 80  # of photographs as JPEG

Place = tuple[str, str, str]  # section, row label, column label: one cell of a table
Small = tuple[str, tuple[int, int]]  # a picture as text, and its width and height in pixels of the page
T = TypeVar("T")


def place_of(cell: Cell) -> Place:
    """The place of the cell in its table."""
    return cell.section, cell.row, cell.column


@dataclass
class MissingRun:
    """A run that cells wait for: the first of these cells, why it is missing, and the command that makes it."""

    cell: Cell
    why: str
    command: str | None = None  # None: no command makes it yet
    seconds: float | None = None  # None: no past run tells how long it takes
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class ReportedTable:
    """A filled table, the runs that its empty cells wait for, and its picture where it was named."""

    table: Table
    missing: Sequence[MissingRun]
    picture: Small | None = None


@dataclass(frozen=True)
class Picture:
    """A figure of the report; ``missing`` says what is missing."""

    spec: FigureSpec
    missing: str | None
    data_uri: str = ""  # the picture as text; empty where there is nothing to show
    size: tuple[int, int] = (0, 0)  # in pixels of the page


@dataclass(frozen=True)
class Contents:
    """All that the page shows. ``left_out`` has a line for each row, table or figure that cannot be read.

    ``board`` has the panels of the leaderboard; none on a page of some tables only.
    """

    tables: Sequence[ReportedTable]
    pictures: Sequence[Picture]
    rows: Sequence[Row]
    left_out: Sequence[str]
    board: Sequence[Panel] = ()


def gather(store: Store, broken: Broken, only: Sequence[str] = ()) -> Contents:
    """The contents from all stored rows, declared tables and figures; ``broken`` is called for what is left out.

    Of the tables ``only``, if there are any: these tables with their pictures, the figures drawn of them, and the runs
    in their cells.
    """
    left_out: list[str] = []

    def leave_out(error: HashbenchError) -> None:
        left_out.append(str(error).replace(f"{store.folder}/", ""))  # no folder of this machine on the page
        broken(error)

    def readable(verb: str, kind: str, names: list[str], load: Callable[[str], T]) -> list[T]:
        return [loaded for _, loaded in with_bar(each_usable(names, load, leave_out), verb, kind, len(names))]

    rows = Rows(with_bar(store.rows(leave_out), "read", "row"))
    by_name = {row.run: row for row in rows}
    past = Past.of(by_name.values())

    def fill(name: str) -> ReportedTable:
        declared = spec.load(name)
        table = collect(declared, rows, store)
        small = None
        # of all tables the pictures would be most of a page
        if only and (drawing := figures.drawing_of_table(table)) is not None:
            small = _drawn(drawing)
        missing: dict[tuple[str, str], MissingRun] = {}
        for cell in (filled.declared for filled in table.cells() if filled.measured is None):
            run = _missing_run(cell, declared, by_name, past)
            missing.setdefault((cell.run_key, run.why), run).places.append(place_of(cell))
        return ReportedTable(table, list(missing.values()), small)

    def draw(name: str) -> Picture | None:
        declared = figures.load(name)
        if only and not {declared.name, getattr(declared.file, "table", None)} & {*only}:
            return None
        return picture(declared, declared.fill(rows, store), store.folder)

    tables = readable("collect", "table", [*only] or spec.names(), fill)
    pictures = [drawn for drawn in readable("draw", "figure", figures.names(), draw) if drawn is not None]
    if only:
        used = {row.run for one in tables for measured in one.table.measured for row in measured.rows}
        rows = Rows(row for row in rows if row.run in used)
    # tables of which something is measured come first
    tables.sort(key=lambda reported: not reported.table.has_measured)
    return Contents(tables, pictures, rows, left_out, [] if only else _panels(rows, store, leave_out))


def _panels(rows: Rows, store: Store, broken: Broken) -> list[Panel]:
    """The panels of the leaderboard that rank a method; none, and ``broken`` is called, where their file is wrong."""
    try:
        return [panel for panel in leaderboard(tables_of(rows, store)) if panel.lines]
    except HashbenchError as error:
        broken(error)
        return []


def _missing_run(cell: Cell, declared: TableSpec, stored: Mapping[str, Row], past: Past) -> MissingRun:
    if why_not := why_not_here(cell, declared):
        return MissingRun(cell, why_not)
    run = run_of(cell)
    row = stored.get(str(run.name))
    why = "not run yet"
    if row is not None:
        why = f"failed: {row.reason or 'no reason given'}"
    if is_measured := row is not None and row.status == "ok":
        why = f"its row does not hold {HEADINGS[cell.evaluation]}{cell.metric}"
        if cell.evaluation in ("weighted", "test"):
            return MissingRun(cell, why)
        if cell.evaluation == "database":
            why += ", and the histogram of the run is not here"
    is_more = cell.evaluation == "asymmetric"
    command = command_of(run.name, cell.settings, again=is_measured and not is_more, asymmetric=is_more)
    return MissingRun(cell, why, command, past.of_run(run))


def picture(declared: FigureSpec, drawing: Drawing, results: Path) -> Picture:
    """The figure as a part of the page, or the PNG in ``results`` that was drawn where the files that it needs are."""
    missing = drawing.missing and drawing.missing.replace(f"{results}/", "")  # no folder of this machine on the page
    if not drawing.keeps_files:
        if not drawing.points:
            return Picture(declared, missing)
        return Picture(declared, missing, *_drawn(drawing))
    kept = results / "figures" / f"{declared.name}.png"
    try:
        return Picture(declared, None, *quietly(kept.name, lambda: _photographs(kept.read_bytes())))
    except HashbenchError:
        return Picture(declared, missing)


def _drawn(drawing: Drawing) -> Small:
    """The drawing as text, and its size on the page."""
    width, height = drawing.size_in
    png = b64encode(figures.picture(drawing)).decode()
    return f"data:image/png;base64,{png}", (round(width * PIXELS_PER_IN), round(height * PIXELS_PER_IN))


def _photographs(png: bytes) -> Small:
    """A picture of photographs as JPEG, at most ``WIDTH`` wide, and its size on the page."""
    with Image.open(io.BytesIO(png), formats=["PNG"]) as opened:
        whole = opened.convert("RGB")
    if whole.width > WIDTH:
        whole = whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Image.Resampling.LANCZOS)
    small = io.BytesIO()
    whole.save(small, format="JPEG", quality=QUALITY)
    text = f"data:image/jpeg;base64,{b64encode(small.getvalue()).decode()}"
    return text, (whole.width // SHARPNESS, whole.height // SHARPNESS)
