"""What is missing of a table: the runs that its empty cells wait for, why, and the command that makes each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hashbench.runs.command import command_of
from hashbench.runs.store import Row
from hashbench.tables.cell import Cell
from hashbench.tables.collect import run_of
from hashbench.tables.estimate import PastSeconds
from hashbench.tables.names import names_to_come
from hashbench.tables.spec import TableSpec
from hashbench.tables.table import Table

Place = tuple[str, str, str]  # section, row label, column label: one cell of a table


def place_of(cell: Cell) -> Place:
    """Where the cell stands in its table."""
    return cell.section, cell.row, cell.column


@dataclass
class MissingRun:
    """A run that cells wait for: the first of these cells, why it is missing, and the command that makes it.

    ``command`` is None where no command makes it yet, and ``seconds`` where no past run tells how long it takes.
    """

    cell: Cell
    why: str
    command: str | None = None
    seconds: float | None = None
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Stored:
    """What is known of runs: their rows by name, and the seconds that runs took."""

    rows: Mapping[str, Row]
    past: PastSeconds

    @staticmethod
    def of(rows: Iterable[Row]) -> "Stored":
        """What ``rows`` say."""
        by_name = {row.run: row for row in rows}
        return Stored(by_name, PastSeconds.of(by_name.values()))


def missing_runs(spec: TableSpec, table: Table, stored: Stored) -> list[MissingRun]:
    """The runs that the empty cells of ``table`` wait for, in its order, each once."""
    found: dict[tuple[str, str], MissingRun] = {}
    for cell in (filled.declared for filled in table.cells() if filled.measured is None):
        run = _missing_run(cell, spec, stored)
        found.setdefault((cell.run_key, run.why), run).places.append(place_of(cell))
    return list(found.values())


def _missing_run(cell: Cell, spec: TableSpec, stored: Stored) -> MissingRun:
    if needs := names_to_come(cell, spec.to_come):
        return MissingRun(cell, f"needs {', '.join(needs)}, still to come")
    run = run_of(cell)
    row = stored.rows.get(run.run)
    if row is not None and row.status == "ok":
        return _not_in_row(cell, stored)
    why = "not run yet" if row is None else f"failed: {row.reason or 'no reason given'}"
    return MissingRun(cell, why, command_of(run, cell.settings), stored.past.of_run(run))


def _not_in_row(cell: Cell, stored: Stored) -> MissingRun:
    """The run is stored; its row does not hold the metric, which its histogram would give."""
    if cell.evaluation != "database":
        return MissingRun(cell, f"its row does not hold {cell.metric}")
    run = run_of(cell)
    why = f"its row does not hold {cell.metric}, and the histogram of the run is not here"
    return MissingRun(cell, why, command_of(run, cell.settings, again=True), stored.past.of_run(run))
