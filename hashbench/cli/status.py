"""``hashbench status``: what of a table is measured, failed, missing, or cannot be run yet."""

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
    """How far the runs of one cell are, by seed; several cells of a table may share the runs."""

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
    table: Annotated[str, typer.Argument(metavar="TABLE", help="hashbench list tables")],
    seeds: Annotated[int, typer.Option(min=1, help="Look for seeds 0 .. SEEDS - 1.")] = 1,
    budget: Annotated[str | None, typer.Option(help="Of runs that stand in for the table's own.")] = None,
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
    """The distinct experiments of a table's cells, in order of appearance, with what the store has of them."""
    from hashbench.tables import grid

    return [_look(each, store) for each in grid.asked(declared, seeds)]


def _look(asked: "CellRuns", store: "Store") -> CellStatus:
    cell = asked.cell
    state = CellStatus(cell.dataset, cell.protocol, cell.method, dict(cell.settings), cell.budget)
    state.unavailable = asked.unavailable
    for experiment in asked.experiments:
        row = store.find(experiment.dataset, experiment.protocol, experiment.run)
        if row is None:
            state.missing.append(experiment.seed)
        elif row.status == "ok":
            state.done.append(experiment.seed)
        else:
            state.failed[experiment.seed] = row.reason or "no reason given"
    return state


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
