"""``hashbench status``: what is measured of all tables, or of the rows of one; what is missing, and for how long."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hashbench.cli._options import Splits
from hashbench.cli._status_map import State, legend, section_map
from hashbench.cli._terminal import print_each_error_once, print_error
from hashbench.cli.catalogue import complete
from hashbench.foundation.registry import each_usable

if TYPE_CHECKING:
    from hashbench.foundation.config import Setting
    from hashbench.runs.row import Row
    from hashbench.tables.cell import Cell
    from hashbench.tables.cell_runs import CellRuns
    from hashbench.tables.estimate import PastSeconds
    from hashbench.tables.spec import TableSpec

COUNTS = ("done", "failed", "missing", "unavailable")
HEADINGS = ("table", "runs done", "missing", "failed", "not yet", "hours left")


@dataclass
class CellStatus:
    """What is stored of the runs that one cell needs, by seed; other cells may need the same runs.

    A run on another split than the protocol's own is called ``0 of split 1``, for seed 0 and the split's seed 1.
    """

    dataset: str
    protocol: str
    method: str
    settings: "dict[str, Setting]"
    budget: str
    done: list[int | str] = field(default_factory=list)
    failed: dict[int | str, str] = field(default_factory=dict)  # seed -> reason
    missing: list[int | str] = field(default_factory=list)
    unavailable: str | None = None  # why no seed can be run yet

    @property
    def is_measured(self) -> bool:
        """Whether all its runs are done."""
        return self.unavailable is None and not self.missing and not self.failed

    @property
    def state(self) -> State:
        """Its sign on the map; of a cell with a failed run that it failed, whatever else is done."""
        if self.unavailable is not None:
            return State.unavailable
        if self.failed:
            return State.failed
        if not self.missing:
            return State.done
        return State.partly if self.done else State.missing


@dataclass
class TableStatus:
    """What is stored of the runs that a table needs, each run once.

    ``hours_left`` is the time that the missing and the failed runs will take, one after the other, where runs of their
    methods have taken some before; ``n_unknown`` of them have no such past.
    """

    spec: "TableSpec"
    cells: list[CellStatus]
    hours_left: float
    n_unknown: int

    def counts(self) -> dict[str, int]:
        """The number of runs that are done, failed and missing, and of cells that cannot be run yet."""
        totals = Counter(dict.fromkeys(COUNTS, 0))
        for cell in self.cells:
            totals.update(done=len(cell.done), failed=len(cell.failed), missing=len(cell.missing))
            totals["unavailable"] += cell.unavailable is not None
        return dict(totals)

    def as_json(self, seeds: int) -> dict[str, Any]:
        """What is printed with --json of the table as a whole."""
        left = {"hours_left": round(self.hours_left, 3), "runs_of_unknown_duration": self.n_unknown}
        return {"table": self.spec.name, "seeds": seeds, "splits": self.spec.n_splits, **self.counts(), **left}

    def hours(self) -> str:
        """The hours left: ``?`` where no past run tells, ``> 1.5`` where none tells of some."""
        if self.n_unknown:
            return f"> {self.hours_left:.1f}" if self.hours_left >= 0.05 else "?"
        return "< 0.1" if 0 < self.hours_left < 0.05 else f"{self.hours_left:.1f}"


def command(
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE",
            help="A table or a figure: hashbench list tables, hashbench list figures.",
            autocompletion=complete("tables", "figures"),
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Look for seeds 0 .. SEEDS - 1.")] = 1,
    splits: Splits = 1,
    budget: Annotated[str | None, typer.Option(help="Look for runs at this budget, not at the table's own.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object; that of one table has all its cells.")
    ] = False,
) -> None:
    """Show which cells of a table are done, partly done, failed, missing or not available yet: a sign for each cell.

    The signs have colours on a terminal; NO_COLOR turns them off. Without TABLE: a line for each table, and for each
    figure that has cells of its own. The hours left are those that runs of the same method, data set and code size took
    before, one at a time.
    """
    from hashbench import figures
    from hashbench.foundation.config import canonical_json
    from hashbench.runs.store import Store
    from hashbench.tables import spec
    from hashbench.tables.estimate import PastSeconds

    stored = {row.run: row for row in Store.default().rows(print_error)}
    past = PastSeconds.of(stored.values())
    if table is None:
        names = [*spec.names(), *figures.names_with_own_cells()]
        found = _all(names, lambda name: status(figures.cells_of(name, budget, splits), stored, past, seeds))
        as_text = "\n".join(_overview(found))
        objects: dict[str, Any] = {"tables": [each.as_json(seeds) for each in found]}
    else:
        one = status(figures.cells_of(table, budget, splits), stored, past, seeds)
        as_text = "\n".join(_of_table(one))
        objects = {**one.as_json(seeds), "cells": [asdict(cell) for cell in one.cells]}
    typer.echo(canonical_json(objects) if as_json else as_text)


def _all(names: list[str], status_of: "Callable[[str], TableStatus]") -> list[TableStatus]:
    """The status of each table; one that is broken is a line on stderr."""
    from hashbench.foundation.progress import bar

    found = []
    with bar("status", "table", len(names)) as done:
        for _, each in each_usable(names, status_of, print_each_error_once()):
            found.append(each)
            done.update()
    return found


def status(declared: "TableSpec", stored: "Mapping[str, Row]", past: "PastSeconds", seeds: int) -> TableStatus:
    """What the ``stored`` rows, by run, hold of the runs that a table needs, and how long the others will take."""
    from hashbench.tables.cell_runs import cell_runs

    needed = cell_runs(declared, seeds)
    runs = (spec for cell in needed for spec in cell.runs)
    todo = [spec for spec in runs if str(spec.name) not in stored or stored[str(spec.name)].status != "ok"]
    seconds = [past.of_run(spec) for spec in todo]
    hours = sum(each for each in seconds if each is not None) / 3600
    return TableStatus(declared, [_status(each, stored) for each in needed], hours, seconds.count(None))


def _status(needed: "CellRuns", stored: "Mapping[str, Row]") -> CellStatus:
    cell = needed.cell
    found = CellStatus(cell.dataset, cell.protocol, cell.method, dict(cell.settings), cell.budget)
    found.unavailable = needed.unavailable
    for spec in needed.runs:
        row = stored.get(str(spec.name))
        seed = spec.name.seed if spec.name.split_seed is None else f"{spec.name.seed} of split {spec.name.split_seed}"
        if row is None:
            found.missing.append(seed)
        elif row.status == "ok":
            found.done.append(seed)
        else:
            found.failed[seed] = row.reason or "no reason given"
    return found


def _overview(tables: list[TableStatus]) -> Iterator[str]:
    """A heading and a line for each table."""
    width = max([len(HEADINGS[0]), *(len(each.spec.name) for each in tables)])
    yield _line(HEADINGS, width)
    for each in tables:
        of = each.counts()
        done = f"{of['done']} of {of['done'] + of['failed'] + of['missing']}"
        yield _line((each.spec.name, done, of["missing"], of["failed"], of["unavailable"], each.hours()), width)


def _line(values: tuple[object, ...], width: int) -> str:
    name, done, *others = values
    return f"{name!s:{width}}  {done!s:>10}  " + "  ".join(f"{value!s:>{max(7, len(str(value)))}}" for value in others)


def _of_table(found: TableStatus) -> Iterator[str]:
    """The map of each section of the table, a row with how many of its cells are measured; then the sum."""
    by_key = {_key(cell): cell for cell in found.cells}
    sections: dict[str, dict[str, dict[str, CellStatus]]] = {}
    for cell in found.spec.cells:
        row = sections.setdefault(cell.section, {}).setdefault(cell.row, {})
        row[cell.column] = by_key[_key(cell)]
    width = max((len(cell.row) for cell in found.spec.cells), default=0)
    for title, rows in sections.items():
        columns = list(dict.fromkeys(column for cells in rows.values() for column in cells))
        lines = {row: (_states(cells), _counts(list(cells.values()))) for row, cells in rows.items()}
        yield from section_map(title, columns, lines, width)
    yield legend()
    of = found.counts()
    yield (
        f"{found.spec.name}: {of['done']} runs done, {of['failed']} failed, {of['missing']} missing; "
        f"{of['unavailable']} of {len(found.cells)} cells not available yet; hours left: {found.hours()}"
    )


def _states(cells: "Mapping[str, CellStatus]") -> "dict[str, State]":
    return {column: cell.state for column, cell in cells.items()}


def _key(cell: "CellStatus | Cell") -> tuple[Any, ...]:
    return cell.dataset, cell.protocol, cell.method, tuple(sorted(cell.settings.items())), cell.budget


def _counts(cells: list[CellStatus]) -> str:
    """How many of the cells have all their runs, and why the others have not."""
    parts = [f"{sum(cell.is_measured for cell in cells)} of {len(cells)} measured"]
    failures = {cell_failed for cell in cells for cell_failed in cell.failed.items()}
    in_order = sorted(failures, key=lambda failure: (isinstance(failure[0], str), failure))
    parts += [f"seed {seed} failed: {reason}" for seed, reason in in_order]
    reasons = dict.fromkeys(cell.unavailable for cell in cells if cell.unavailable is not None)
    return "; ".join([*parts, *(f"not available yet: {reason}" for reason in reasons)])
