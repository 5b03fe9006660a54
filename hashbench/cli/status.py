"""``hashbench status``: which runs of all tables, or of the cells of one, are done or missing."""

from typing import Annotated

from typer import Argument, Context, Option

from hashbench.cli._options import TABLES, program
from hashbench.cli._terminal import leave_out, rows_read
from hashbench.foundation.progress import with_bar
from hashbench.foundation.registry import each_usable
from hashbench.running.runs.interrupted import interrupted
from hashbench.running.runs.past import Past
from hashbench.running.runs.store import RowsByRun
from hashbench.showing import figures
from hashbench.showing.sheet import Sheet
from hashbench.showing.tables import spec
from hashbench.showing.tables.status import TableStatus, overview, sheet_of, table_status


def command(
    context: Context,
    table: Annotated[
        str | None, Argument(metavar="TABLE[@BUDGET]", help="A table or figure.", autocompletion=TABLES)
    ] = None,
    seeds: Annotated[int, Option(min=1, help="Look for seeds 0 .. SEEDS - 1.")] = 1,
) -> Sheet:
    """Show which cells of a table are done, partly done, failed, missing or not available yet: a sign for each cell.

    A cell is done when all its runs are; cells that show several metrics of a run share it. Without TABLE: a line for
    each table, and for each figure that has cells of its own: cells measured, runs done and failed, hours left; with
    TABLE also the data sets and weights that its missing runs need and that are not here. The hours are those that
    runs of the same method, data set and code size took before, one at a time.
    """
    store = rows_read()
    cut_off = list(interrupted(store, program(context)))
    lines = list(store.lines(leave_out))
    stored = RowsByRun(lines, leave_out)
    past = Past.of_lines(lines)
    if table is not None:
        status = table_status(figures.cells_of(table), stored, past, seeds)
        runs = {run for cell in status.cells.values() for run in cell.runs}
        return sheet_of(status, seeds, [run for run in cut_off if run.run in runs])

    def status_of(name: str) -> TableStatus:
        return table_status(figures.cells_of(name), stored, past, seeds)

    names = [*spec.names(), *figures.names_with_own_cells()]
    usable = each_usable(names, status_of, leave_out)
    return overview([status for _, status in with_bar(usable, "status", "table", len(names))], seeds, cut_off)
