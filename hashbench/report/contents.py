"""What the report shows: tables with what is missing of them, figures and rows, filled from the stored rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hashbench import figures
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.keeping import keeping
from hashbench.foundation.progress import bar
from hashbench.foundation.registry import Broken, each_usable
from hashbench.report.missing import MissingRun, Stored, missing_runs
from hashbench.report.pictures import Picture, picture
from hashbench.runs.store import Row, Store
from hashbench.tables import spec
from hashbench.tables.collect import collect
from hashbench.tables.table import Table


@dataclass(frozen=True)
class ReportedTable:
    """A filled table, and the runs that its empty cells wait for."""

    table: Table
    missing: Sequence[MissingRun]

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return sum(1 for _ in self.table.cells())

    @property
    def n_measured(self) -> int:
        """The number of cells that are measured."""
        return sum(cell.measured is not None for cell in self.table.cells())


@dataclass(frozen=True)
class Contents:
    """All that the page shows. ``left_out`` has a line for each row, table or figure that cannot be read."""

    tables: Sequence[ReportedTable]
    pictures: Sequence[Picture]
    rows: Sequence[Row]
    left_out: Sequence[str]


def gather(store: Store, broken: Broken) -> Contents:
    """The contents from all stored rows and all declared tables and figures; ``broken`` is told what is left out.

    Tables of which something is measured come first.
    """
    left_out: list[str] = []

    def leave_out(error: HashbenchError) -> None:
        left_out.append(str(error).replace(f"{store.folder}/", ""))  # no folder of this machine on the page
        broken(error)

    rows: list[Row] = []
    with bar("read", "row") as done:
        for row in store.rows(leave_out):
            rows.append(row)
            done.update()
    stored = Stored.of(rows)
    with keeping():
        tables = sorted(_tables(rows, store, stored, leave_out), key=lambda each: each.n_measured == 0)
        pictures = list(_pictures(rows, store, leave_out))
    return Contents(tables, pictures, rows, left_out)


def _tables(rows: Sequence[Row], store: Store, stored: Stored, broken: Broken) -> Iterator[ReportedTable]:
    def fill(name: str) -> ReportedTable:
        declared = spec.load(name)
        table = collect(declared, rows, store)
        return ReportedTable(table, missing_runs(declared, table, stored))

    names = spec.names()
    with bar("collect", "table", len(names)) as done:
        for _, each in each_usable(names, fill, broken):
            yield each
            done.update()


def _pictures(rows: Sequence[Row], store: Store, broken: Broken) -> Iterator[Picture]:
    def draw(name: str) -> Picture:
        declared = figures.load(name)
        return picture(declared, declared.fill(rows, store), store.folder)

    names = figures.names()
    with bar("draw", "figure", len(names)) as done:
        for _, each in each_usable(names, draw, broken):
            yield each
            done.update()
