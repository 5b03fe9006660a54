"""``hashbench status``: which runs of a table are done, failed or missing, and which cannot be made yet."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hashbench.config import Setting
    from hashbench.runs.store import Store
    from hashbench.tables.grid import CellRuns
    from hashbench.tables.spec import TableSpec


@dataclass
class CellStatus:
    """What is stored of the runs that one cell needs, by seed; other cells may need the same runs."""

    dataset: str
    protocol: str
    method: str
    settings: "dict[str, Setting]"
    budget: str
    done: list[int] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)  # seed -> reason
    missing: list[int] = field(default_factory=list)
    unavailable: str | None = None  # why no seed can be run yet


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="See hashbench list tables.")],
    seeds: Annotated[int, typer.Option(min=1, help="Look for seeds 0 .. SEEDS - 1.")] = 1,
    budget: Annotated[str | None, typer.Option(help="Look for runs at this budget, not at the table's own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say which runs of a table are done, failed, missing, or not available yet."""
    from hashbench.config import canonical_json
    from hashbench.runs.store import Store
    from hashbench.tables import spec

    declared = spec.load(table, budget)
    cells = status(declared, Store.default(), seeds)
    totals = _totals(cells)
    if as_json:
        listed = [asdict(cell) for cell in cells]
        typer.echo(canonical_json({"table": declared.name, "seeds": seeds, **totals, "cells": listed}))
        return
    width = max((len(_name(cell)) for cell in cells), default=0)
    for cell in cells:
        typer.echo(f"{_name(cell):{width}}  {_state(cell, seeds)}")
    typer.echo(
        f"{declared.name}: {totals['done']} runs done, {totals['failed']} failed, {totals['missing']} missing; "
        f"{totals['unavailable']} of {len(cells)} cells not available yet"
    )


def status(declared: "TableSpec", store: "Store", seeds: int) -> list[CellStatus]:
    """What ``store`` holds of the runs that each cell of a table needs, in order of appearance, each run once."""
    from hashbench.tables import grid

    return [_status(needed, store) for needed in grid.cell_runs(declared, seeds)]


def _status(needed: "CellRuns", store: "Store") -> CellStatus:
    cell = needed.cell
    found = CellStatus(cell.dataset, cell.protocol, cell.method, dict(cell.settings), cell.budget)
    found.unavailable = needed.unavailable
    for spec in needed.runs:
        row = store.find(spec.dataset, spec.protocol, spec.run)
        if row is None:
            found.missing.append(spec.seed)
        elif row.status == "ok":
            found.done.append(spec.seed)
        else:
            found.failed[spec.seed] = row.reason or "no reason given"
    return found


def _totals(cells: list[CellStatus]) -> dict[str, int]:
    totals = Counter({"done": 0, "failed": 0, "missing": 0, "unavailable": 0})
    for cell in cells:
        totals.update(done=len(cell.done), failed=len(cell.failed), missing=len(cell.missing))
        totals["unavailable"] += cell.unavailable is not None
    return dict(totals)


def _name(cell: CellStatus) -> str:
    settings = (f"{key}={value}" for key, value in sorted(cell.settings.items()))
    budget = [] if cell.budget == "full" else [cell.budget]
    return " ".join([cell.dataset, cell.protocol, cell.method, *settings, *budget])


def _state(cell: CellStatus, seeds: int) -> str:
    if cell.unavailable is not None:
        return f"not available yet: {cell.unavailable}"
    parts = [f"{len(cell.done)} of {seeds} done"]
    if cell.missing:
        parts.append(f"{len(cell.missing)} missing")
    parts += [f"seed {seed} failed: {reason}" for seed, reason in sorted(cell.failed.items())]
    return ", ".join(parts)
