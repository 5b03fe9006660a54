"""The runs that the cells of a table need, and running those that are missing."""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context
from pathlib import Path
from threading import RLock
from typing import TypeVar

from hashbench.errors import HashbenchError
from hashbench.parallel import end_with_parent, share_cores
from hashbench.runs.lock import is_held
from hashbench.runs.options import Options
from hashbench.runs.run import run
from hashbench.runs.spec import RunSpec, resolve
from hashbench.runs.store import Row, Store
from hashbench.tables.cell import Cell
from hashbench.tables.names import names_to_come
from hashbench.tables.spec import TableSpec
from hashbench.tables.splits import splits_of

T = TypeVar("T")


@dataclass(frozen=True)
class CellRuns:
    """The runs that a cell needs. Cells that differ in their metric only share them; ``cell`` is the first of these."""

    cell: Cell
    runs: list[RunSpec]  # one for each seed on each split; none where the cell cannot be run yet
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
        resolve(*names, seed=seed, budget=cell.budget, split_seed=split)
        for split in splits_of(cell, spec.n_splits)
        for seed in range(seeds)
    ]
    return CellRuns(cell, runs, None)


def missing(specs: list[RunSpec], store: Store) -> list[RunSpec]:
    """Those of ``specs`` that have no successful row yet."""
    rows = {spec.run: store.find(spec.dataset, spec.protocol, spec.run) for spec in specs}
    return [spec for spec in specs if (row := rows[spec.run]) is None or row.status != "ok"]


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a row, which may say that it failed, or with an error before there was a result."""

    spec: RunSpec
    row: Row | None
    error: str | None

    @property
    def failure(self) -> str | None:
        """Why there is no measurement; None where there is one."""
        return self.error if self.row is None else self.row.reason


def run_all(specs: list[RunSpec], store: Store, options: Options, jobs: int) -> Iterator[Outcome]:
    """Runs ``specs``, ``jobs`` at a time, and yields how each one ended.

    A run that fails does not stop the others; an interrupt stops all of them at once. Runs that other processes execute
    at the moment come last: then they are waited for, and the rows that these processes stored are the results.
    """
    held = []
    for spec, outcome in _each(specs, partial(_run_unless_held, folder=store.folder, options=options), jobs):
        if outcome is None:
            held.append(spec)
        else:
            yield outcome
    for _, outcome in _each(held, partial(_run_one, folder=store.folder, options=options), jobs):
        yield outcome


def _each(specs: list[RunSpec], does: Callable[[RunSpec], T], jobs: int) -> Iterator[tuple[RunSpec, T]]:
    """Each of ``specs`` with the result of ``does``, as they end; ``jobs`` processes work on them."""
    if jobs == 1 or not specs:
        yield from ((spec, does(spec)) for spec in specs)
        return
    # spawn: a fork of a process that has used threads or a GPU does not work
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=partial(_begin_worker, jobs))
    try:
        with _interrupts_blocked():  # a worker inherits that: Ctrl-C reaches this process, which ends its workers
            specs_of = {pool.submit(does, spec): spec for spec in specs}
        for future in as_completed(specs_of):
            yield specs_of[future], future.result()
    except BrokenProcessPool:
        raise HashbenchError(f"a worker died (out of memory?): fewer --jobs than {jobs} may help") from None
    except BaseException:  # an interrupt: the runs that are ended here continue with the next call
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)  # what the pool does not put away itself, Python warns about


def _begin_worker(jobs: int) -> None:
    from tqdm import tqdm

    end_with_parent()
    tqdm.set_lock(RLock())  # its own lock is a semaphore between processes, which a worker that is ended leaves behind
    share_cores(jobs)


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Holds an interrupt back until the block ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_unless_held(spec: RunSpec, folder: Path, options: Options) -> Outcome | None:
    """How the run ended; None if another process executes it at this moment."""
    return None if is_held(spec, Store(folder)) else _run_one(spec, folder, options)


def _run_one(spec: RunSpec, folder: Path, options: Options) -> Outcome:
    try:
        return Outcome(spec, run(spec, Store(folder), options), None)
    except HashbenchError as error:
        return Outcome(spec, None, str(error))
