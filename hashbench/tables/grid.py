"""Many cells: the experiments that a table asks for, and running those that are missing."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path

from hashbench.config import canonical_json
from hashbench.errors import HashbenchError
from hashbench.runs.options import Options
from hashbench.runs.run import run
from hashbench.runs.spec import RunSpec, resolve
from hashbench.runs.store import Row, Store
from hashbench.tables.names import awaited
from hashbench.tables.spec import Cell, TableSpec


@dataclass(frozen=True)
class CellRuns:
    """What one cell, or several that differ in their metric only, asks to be run."""

    cell: Cell
    experiments: list[RunSpec]  # one a seed; none where it cannot be run yet
    unavailable: str | None  # why


def asked(spec: TableSpec, seeds: int) -> list[CellRuns]:
    """The distinct runs that a table's cells ask for, in order of appearance, for seeds 0 .. ``seeds`` - 1."""
    found: dict[str, CellRuns] = {}
    for cell in spec.cells:
        key = canonical_json([cell.dataset, cell.protocol, cell.method, cell.settings, cell.budget])
        if key not in found:
            found[key] = _ask(cell, spec, seeds)
    return list(found.values())


def _ask(cell: Cell, spec: TableSpec, seeds: int) -> CellRuns:
    # a metric to come keeps a cell blank, but its run can be made and will serve
    awaits = [what for what in awaited(cell, spec.to_come) if not what.startswith("metric ")]
    if awaits:
        return CellRuns(cell, [], f"needs {', '.join(awaits)}, still to come")
    names = cell.dataset, cell.protocol, cell.method, cell.settings
    return CellRuns(cell, [resolve(*names, seed=seed, budget=cell.budget) for seed in range(seeds)], None)


def missing(experiments: list[RunSpec], store: Store) -> list[RunSpec]:
    """Those that have no successful row yet."""
    rows = {e.run: store.find(e.dataset, e.protocol, e.run) for e in experiments}
    return [e for e in experiments if (row := rows[e.run]) is None or row.status != "ok"]


@dataclass(frozen=True)
class Outcome:
    """How one experiment ended: with a row, which may say that it failed, or with an error before it began."""

    experiment: RunSpec
    row: Row | None
    error: str | None

    @property
    def failure(self) -> str | None:
        """Why there is no measurement."""
        return self.error if self.row is None else self.row.reason


def run_all(experiments: list[RunSpec], store: Store, options: Options, jobs: int) -> Iterator[Outcome]:
    """Runs the experiments, ``jobs`` at a time, and yields how each ended.

    One that fails does not stop the others; an interrupt stops all of them at once.
    """
    if jobs == 1:
        for experiment in experiments:
            yield _run_one(experiment, store.folder, options)
        return
    # spawn: a fork of a process that has used threads or a GPU does not work
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=partial(_share_cores, jobs))
    try:
        futures = [pool.submit(_run_one, experiment, store.folder, options) for experiment in experiments]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise HashbenchError(f"a worker died (out of memory?): fewer --jobs than {jobs} may help") from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():  # those still training when we are interrupted: they resume
            worker.terminate()


def _run_one(experiment: RunSpec, folder: Path, options: Options) -> Outcome:
    try:
        return Outcome(experiment, run(experiment, Store(folder), options), None)
    except HashbenchError as error:
        return Outcome(experiment, None, str(error))


def _share_cores(jobs: int) -> None:
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(max(1, torch.get_num_threads() // jobs))
