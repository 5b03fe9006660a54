"""The runs that the cells of a table need, and those of them that are missing."""

from dataclasses import dataclass

from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.tables.cell import Cell
from hashbench.tables.spec import TableSpec, names_to_come
from hashbench.tables.splits import splits_of


@dataclass(frozen=True)
class CellRuns:
    """The runs that a cell needs. Cells that differ in their metric only share them; ``cell`` is the first of these."""

    cell: Cell
    runs: list[Run]  # one for each seed on each split; none where the cell cannot be run yet
    unavailable: str | None  # why it cannot be run yet


def cell_runs(spec: TableSpec, seeds: int) -> list[CellRuns]:
    """The runs that the cells of a table need for seeds 0 .. ``seeds`` - 1, in order of appearance, each once.

    Raises HashbenchError if the table is on several splits and a cell's protocol has one only.
    """
    found: dict[str, CellRuns] = {}
    for cell in spec.cells:
        if cell.run_key not in found:
            found[cell.run_key] = _runs_of(cell, spec, seeds)
    return list(found.values())


def _runs_of(cell: Cell, spec: TableSpec, seeds: int) -> CellRuns:
    # without its metric a cell stays blank, but its run can be made now and scored later
    needs = [name for name in names_to_come(cell, spec.to_come) if not name.startswith("metric ")]
    if needs:
        return CellRuns(cell, [], f"needs {', '.join(needs)}, still to come")
    names = cell.dataset, cell.protocol, cell.method, cell.settings
    runs = [
        Run.resolve(*names, seed=seed, budget=cell.budget, split_seed=split)
        for split in splits_of(cell, spec.n_splits)
        for seed in range(seeds)
    ]
    return CellRuns(cell, runs, None)


@dataclass(frozen=True)
class Sorted:
    """Runs by what is stored of them: a measurement, a failure, or nothing."""

    measured: list[Run]
    failed: list[Run]
    missing: list[Run]


def sort_out(specs: list[Run], store: Store) -> Sorted:
    """``specs`` by what ``store`` holds of them, each list in their order."""
    found = Sorted([], [], [])
    for spec in specs:
        row = store.find(spec.name.dataset, spec.name.protocol, str(spec.name))
        (found.missing if row is None else found.measured if row.status == "ok" else found.failed).append(spec)
    return found
