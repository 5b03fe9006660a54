"""What is stored of the runs that a table needs, and how long the others will take, by the seconds of past runs."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hashbench.runs.past import Past
from hashbench.runs.row import IMPORTED, Row
from hashbench.runs.run import Run
from hashbench.tables.cell import Cell
from hashbench.tables.cell_runs import CellRuns, cell_runs
from hashbench.tables.spec import TableSpec

UNKNOWN = "unknown"  # in place of hours


State = Literal["done", "partly", "failed", "missing", "not available yet"]


@dataclass(frozen=True)
class CellStatus:
    """What is stored of the runs that a cell, and each other one with these runs, needs, by seed.

    ``0 of split 1`` is seed 0 on another split.
    """

    cell: Cell
    unavailable: str | None  # why no seed can be run yet
    done: list[int | str] = field(default_factory=list)
    failed: dict[int | str, str] = field(default_factory=dict)  # seed -> reason
    missing: list[int | str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)  # the names of all of them

    @property
    def state(self) -> State:
        """Whether all its runs are done; a cell with a failed run has failed, whatever else is done."""
        if self.unavailable is not None:
            return "not available yet"
        if self.failed or not self.missing:
            return "failed" if self.failed else "done"
        return "partly" if self.done else "missing"

    def as_json(self) -> dict[str, Any]:
        """The cell as --json prints it."""
        named = self.cell.model_dump(include={"dataset", "protocol", "method", "settings", "budget"})
        runs = {"done": self.done, "failed": self.failed, "missing": self.missing}
        return {**named, **runs, "unavailable": self.unavailable}


@dataclass(frozen=True)
class TableStatus:
    """What is stored of the runs that a table needs, each run once."""

    spec: TableSpec
    cells: Mapping[str, CellStatus]  # by their run_key
    hours_left: float  # that the missing and the failed runs will take, one after the other
    n_unknown: int  # of these runs: no past run tells how long they take

    def counts(self) -> dict[str, int]:
        """The number of runs that are done, failed and missing, and of the table's cells that cannot be run yet."""
        totals = Counter(done=0, failed=0, missing=0, unavailable=self.cell_states()["not available yet"])
        for cell in self.cells.values():
            totals.update(done=len(cell.done), failed=len(cell.failed), missing=len(cell.missing))
        return dict(totals)

    def cell_states(self) -> Counter[State]:
        """The number of the table's cells in each state; cells that show several metrics of one run count each."""
        return Counter(self.cells[cell.run_key].state for cell in self.spec.cells)

    def as_json(self, seeds: int) -> dict[str, Any]:
        """The table as a whole as --json prints it."""
        left = {"hours_left": round(self.hours_left, 3), "runs_of_unknown_duration": self.n_unknown}
        of_each, splits = (1, seeds) if self.spec.repeats == "splits" else (seeds, self.spec.n_splits)
        return {"table": self.spec.name, "seeds": of_each, "splits": splits, **self.counts(), **left}

    def hours(self) -> str:
        """The hours left: ``unknown`` where no past run tells, ``> 1.5`` where none tells of some."""
        if self.n_unknown:
            return f"> {self.hours_left:.1f}" if self.hours_left >= 0.05 else UNKNOWN
        return "< 0.1" if 0 < self.hours_left < 0.05 else f"{self.hours_left:.1f}"


def table_status(spec: TableSpec, stored: Mapping[str, Row], past: Past, seeds: int = 1) -> TableStatus:
    """What the ``stored`` rows, by run, hold of the runs that a table needs, and how long the others will take."""
    todo: list[Run] = []
    cells = {each.cell.run_key: _cell_status(each, stored, todo) for each in cell_runs(spec, seeds)}
    seconds = [past.of_run(run) for run in todo]
    return TableStatus(spec, cells, sum(filter(None, seconds)) / 3600, seconds.count(None))


def _cell_status(needed: CellRuns, stored: Mapping[str, Row], todo: list[Run]) -> CellStatus:
    """The status of a cell; its runs that are not done are added to ``todo``."""
    found = CellStatus(needed.cell, needed.unavailable)
    for run in needed.runs:
        name, row = run.name, stored.get(str(run.name))
        found.runs.append(str(name))
        seed = name.seed if name.split_seed is None else f"{name.seed} of split {name.split_seed}"
        if row is not None and row.status == "ok" and run.is_filled_by(row):
            found.done.append(seed)
            continue
        todo += [run] * (name.budget != IMPORTED)  # nobody knows how long codes from elsewhere take
        if row is None or row.status == "ok":
            found.missing.append(seed)
        else:
            found.failed[seed] = row.reason or "no reason given"
    return found
