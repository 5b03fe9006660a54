"""What is stored of the runs that a table needs, how long the others will take, and both as a sheet."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from hashbench.running.runs.interrupted import Interrupted
from hashbench.running.runs.needs import missing_inputs
from hashbench.running.runs.past import Past
from hashbench.running.runs.row import IMPORTED, Row
from hashbench.running.runs.run import Run
from hashbench.showing.sheet import Cell as SheetCell
from hashbench.showing.sheet import Code, Grid, Number, Sheet, Value, records
from hashbench.showing.tables.cell import Cell
from hashbench.showing.tables.cell_runs import CellRuns, cell_runs, state_of
from hashbench.showing.tables.spec import TableSpec

UNKNOWN = "unknown"  # in place of hours


State = Literal["done", "partly", "failed", "missing", "not available yet"]
SIGNS: dict[State, str] = {"done": "#", "partly": "+", "failed": "x", "missing": ".", "not available yet": "-"}
MOST_OF_HEADINGS = 48  # signs of all headings of a map; longer ones are numbers, and stand below it


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
        if self.failed:
            return "failed"
        if not self.missing:
            return "done"
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
    todo: Sequence[Run]  # these runs

    @cached_property
    def inputs(self) -> list[str]:
        """What these runs need and is not here: data sets, weights, packages. Weights need PyTorch, so it is slow."""
        inputs = [need.name for needs in missing_inputs(self.todo).values() for need in needs]
        return list(dict.fromkeys(inputs))

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
        splits = 1
        if self.spec.repeats == "splits":
            splits = seeds
            seeds = 1
        cells = {"n_cells": len(self.spec.cells), "n_cells_measured": self.cell_states()["done"]}
        named = {"table": self.spec.name, "seeds": seeds, "splits": splits}
        return {**named, **cells, **self.counts(), **left}

    def hours(self) -> str:
        """The hours left: ``unknown`` where no past run tells, ``> 1.5`` where none tells of some."""
        hours = f"{self.hours_left:.1f}"
        if self.n_unknown:
            return f"> {hours}" if self.hours_left >= 0.05 else UNKNOWN
        return "< 0.1" if 0 < self.hours_left < 0.05 else hours


def table_status(spec: TableSpec, stored: Mapping[str, Row], past: Past, seeds: int = 1) -> TableStatus:
    """What the ``stored`` rows, by run, hold of the runs that a table needs, and how long the others will take."""
    todo: list[Run] = []
    cells = {needed.cell.run_key: _cell_status(needed, stored, todo) for needed in cell_runs(spec, seeds)}
    seconds = [past.of_run(run) for run in todo]
    hours = sum(filter(None, seconds)) / 3600
    return TableStatus(spec, cells, hours, seconds.count(None), todo)


def _cell_status(needed: CellRuns, stored: Mapping[str, Row], todo: list[Run]) -> CellStatus:
    """The status of a cell; its runs that are not done are added to ``todo``."""
    status = CellStatus(needed.cell, needed.unavailable)
    for run in needed.runs:
        name = str(run.name)
        row = stored.get(name)
        status.runs.append(name)
        seed: int | str = run.name.seed
        if run.name.split_seed is not None:
            seed = f"{seed} of split {run.name.split_seed}"
        state = state_of(run, row)
        if state == "measured":
            status.done.append(seed)
        elif state == "missing":
            status.missing.append(seed)
        elif row is not None:
            status.failed[seed] = row.reason or "no reason given"
        if state != "measured" and run.name.budget != IMPORTED:  # nobody knows how long codes from elsewhere take
            todo.append(run)
    return status


def sheet_of(status: TableStatus, seeds: int, interrupted: Sequence[Interrupted]) -> Sheet:
    """The cells and the runs of a table, what its runs need, a map of each section, and what was interrupted."""
    totals = status.counts()
    states = status.cell_states()
    of_cells = [f"{states['done']} measured"]
    of_cells += [f"{number} {state}" for state, number in states.items() if state != "done"]
    n_runs = totals["done"] + totals["failed"] + totals["missing"]
    hours = status.hours()
    if hours == UNKNOWN:
        hours += ": no stored row tells; hashbench speed measures a run"
    facts: list[list[SheetCell]] = [
        ["cells", f"{len(status.spec.cells)}: {', '.join(of_cells)}"],
        ["runs", f"{n_runs}: {totals['done']} done, {totals['failed']} failed, {totals['missing']} missing"],
        ["hours left", hours],
    ]
    if status.inputs:
        facts.append(["to get", f"{', '.join(status.inputs)} (hashbench show {status.spec.name} says how)"])
    sections: dict[str, dict[str, dict[str, CellStatus]]] = {}
    for cell in status.spec.cells:
        row = sections.setdefault(cell.section, {}).setdefault(cell.row, {})
        row[cell.column] = status.cells[cell.run_key]
    legend = Grid([[", ".join(f"{sign} {state}" for state, sign in SIGNS.items())]])
    values = {
        **status.as_json(seeds),
        "to_get": ", ".join(status.inputs),
        "cells": [cell.as_json() for cell in status.cells.values()],
        "interrupted": [asdict(run) for run in interrupted],
    }
    return Sheet(
        texts=[status.spec.name],
        grids=[Grid(facts), *(_map(title, rows) for title, rows in sections.items()), legend, _continued(interrupted)],
        values=lambda: values,
        records=lambda: records(("section", "row", "column", "state"), _states(sections)),
    )


def overview(tables: Sequence[TableStatus], seeds: int, interrupted: Sequence[Interrupted]) -> Sheet:
    """A row for each table, with the numbers of its cells and of its runs; and what was interrupted."""
    rows: list[list[SheetCell]] = []
    for table in tables:
        totals = table.counts()
        n_runs = totals["done"] + totals["failed"] + totals["missing"]
        measured = Number(table.cell_states()["done"], "d", after=f" of {len(table.spec.cells)}")
        done = Number(totals["done"], "d", after=f" of {n_runs}")
        rows.append([table.spec.name, measured, done, totals["failed"], table.hours()])
    headings = ("table", "cells measured", "runs done", "failed", "hours left")
    values = [table.as_json(seeds) for table in tables]
    return Sheet(
        grids=[Grid(rows, headings), _continued(interrupted)],
        values=lambda: {"tables": values, "interrupted": [asdict(run) for run in interrupted]},
        records=lambda: records(values[0] if values else ["table"], (table.values() for table in values)),
    )


def _continued(interrupted: Sequence[Interrupted]) -> Grid:
    return Grid([[(Code(run.line),)] for run in interrupted])


def _states(sections: Mapping[str, Mapping[str, Mapping[str, CellStatus]]]) -> Iterator[tuple[Value, ...]]:
    for section, rows in sections.items():
        for row, cells in rows.items():
            for column, cell in cells.items():
                yield section, row, column, cell.state


def _map(title: str, rows: Mapping[str, Mapping[str, CellStatus]]) -> Grid:
    """A section: the signs of each row, how many of its cells are measured, and why the others are not."""
    columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
    headings = columns
    if sum(map(len, columns)) > MOST_OF_HEADINGS:
        headings = [str(number) for number in range(1, len(columns) + 1)]
    lines: list[list[SheetCell]] = []
    for label, cells in rows.items():
        signs = [SIGNS[cells[column].state] if column in cells else None for column in columns]
        lines.append([label, *signs, _measured(list(cells.values()))])
    if headings != columns:
        legend = ", ".join(f"{number} {column}" for number, column in zip(headings, columns, strict=True))
        title = f"{title} ({legend})" if title else legend
    return Grid(lines, ["", *headings, "measured"], title)


def _measured(cells: Sequence[CellStatus]) -> str:
    """How many of the cells have all their runs, and why the others have not."""
    parts = [f"{sum(cell.state == 'done' for cell in cells)} of {len(cells)}"]
    failures = {failure for cell in cells for failure in cell.failed.items()}
    in_order = sorted(failures, key=lambda failure: (isinstance(failure[0], str), failure))
    parts += [f"seed {seed} failed: {reason}" for seed, reason in in_order]
    reasons = dict.fromkeys(cell.unavailable for cell in cells if cell.unavailable is not None)
    return "; ".join([*parts, *(f"not available yet: {reason}" for reason in reasons)])
