"""Many cells: the experiments that a table asks for, and running those that are missing."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from hashbench.errors import HashbenchError
from hashbench.experiment import Experiment, Options, resolve, run
from hashbench.results import Row, Store
from hashbench.tables.spec import Cell, TableSpec


@dataclass(frozen=True)
class Plan:
    """What a table needs: the experiments that can be run here, and why the other cells cannot."""

    experiments: list[Experiment]
    unavailable: dict[str, str]  # "row / dataset protocol" -> the reason


def plan(spec: TableSpec, seeds: int) -> Plan:
    """The distinct experiments of a table's cells for seeds 0 .. ``seeds`` - 1, in order of appearance."""
    found: dict[str, Experiment] = {}
    unavailable: dict[str, str] = {}
    for cell in spec.cells:
        try:
            for experiment in _experiments(cell, seeds):
                found.setdefault(experiment.run, experiment)
        except HashbenchError as error:
            unavailable[f"{cell.row} on {cell.dataset} {cell.protocol}"] = str(error)
    return Plan(list(found.values()), unavailable)


def _experiments(cell: Cell, seeds: int) -> Iterator[Experiment]:
    for seed in range(seeds):
        yield resolve(cell.dataset, cell.protocol, cell.method, cell.settings, seed=seed, budget=cell.budget)


def missing(experiments: list[Experiment], store: Store) -> list[Experiment]:
    """Those that have no successful row yet."""
    rows = {e.run: store.find(e.dataset, e.protocol, e.run) for e in experiments}
    return [e for e in experiments if (row := rows[e.run]) is None or row.status != "ok"]


def run_all(experiments: list[Experiment], store: Store, options: Options, jobs: int) -> Iterator[Row]:
    """Runs the experiments, ``jobs`` at a time, and yields each row as it is there.

    One experiment that fails leaves a failed row and does not stop the others.
    """
    if jobs == 1:
        for experiment in experiments:
            yield run(experiment, store, options)
        return
    # spawn: a fork of a process that has used threads or a GPU does not work
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=partial(_share_cores, jobs)) as pool:
        futures = [pool.submit(_run_one, experiment, store.folder, options) for experiment in experiments]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_one(experiment: Experiment, folder: Path, options: Options) -> Row:
    return run(experiment, Store(folder), options)


def _share_cores(jobs: int) -> None:
    import os

    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // jobs))
