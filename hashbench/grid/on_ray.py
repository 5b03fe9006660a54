"""Runs of a grid on a Ray cluster: each is a task with its cores, its GPU and its memory; the driver stores the rows.

The driver is the process that started the grid, on a node of the cluster. It holds the lock of each run that the
cluster executes, so that other grids on the same results leave it alone, and it alone writes into the results.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.foundation.progress import note
from hashbench.grid.cluster import connected, files_of_driver, reader, why
from hashbench.grid.execute import Execution, record_failure
from hashbench.grid.files_of_run import needed_files
from hashbench.grid.outcome import Outcome
from hashbench.grid.ray_task import Result, Task, do
from hashbench.runs.again import compare
from hashbench.runs.fit import is_saved
from hashbench.runs.guard import stored_row
from hashbench.runs.lock import is_held, locked_folder
from hashbench.runs.run import Run

RETRIES = 1  # of a run whose process or node dies
POLL_S = 2.0


@dataclass(frozen=True)
class Cluster:
    """The cluster, and what each run needs of it: cores, and memory in GiB (0: none is reserved)."""

    address: str
    cores: int = 1
    memory_gib: float = 0.0
    timeout_s: float | None = None


def run_all(specs: list[Run], how: Execution, cluster: Cluster) -> Iterator[Outcome]:
    """Executes ``specs`` on the cluster and yields how each one ended; a run that fails does not stop the others."""
    if not specs:
        return
    with connected(cluster.address) as ray, ExitStack() as locks:
        grid = _Grid(ray, how, cluster, locks, _task(ray, how, cluster), files_of_driver(ray))
        yield from grid.outcomes(specs)


@dataclass
class _Grid:
    ray: Any
    how: Execution
    cluster: Cluster
    locks: ExitStack
    on_node: Any  # the task
    files: Any  # the actor that reads the driver's files for the nodes
    running: dict[Any, tuple[Run, ExitStack]] = field(default_factory=dict)
    ended: dict[str, Outcome] = field(default_factory=dict)

    def outcomes(self, specs: list[Run]) -> Iterator[Outcome]:
        """The outcome of each run, as they end. Runs that others start from come before these, and are not yielded."""
        asked = {spec.run for spec in specs}
        waiting = _with_bases(specs, self.how)
        while waiting or self.running:
            waiting = self._submit(waiting)
            for outcome in [*self._failed_with_base(waiting), *self._wait(bool(waiting))]:
                waiting = [spec for spec in waiting if spec.run != outcome.spec.run]
                self.ended[outcome.spec.run] = outcome
                if outcome.spec.run in asked:
                    yield outcome

    def _submit(self, waiting: list[Run]) -> list[Run]:
        """Gives the cluster what can begin; those are left that wait for their base, or that others execute."""
        left = []
        for spec in waiting:
            begins = _has_base(spec, self.how) and not is_held(spec, self.how.store)
            if not begins or not self._begin(spec):
                left.append(spec)
        return left

    def _begin(self, spec: Run) -> bool:
        """Gives the run to the cluster; False if another process has just taken it."""
        lock = ExitStack()
        try:
            lock.enter_context(locked_folder(self.how.store.run_folder(spec.run), wait=False))
        except HashbenchError:
            return False
        self.locks.push(lock)
        task = Task(
            spec,
            needed_files(spec, self.how.store),
            self.how.options,
            self.how.processes,
            self.cluster.timeout_s,
            provenance.code(),
        )
        self.running[self.on_node.remote(task, self.files, self.cluster.cores)] = spec, lock
        return True

    def _wait(self, others: bool) -> list[Outcome]:
        """The outcomes of tasks that have ended; waits for one, or a moment where runs wait for other processes."""
        if not self.running:
            if others:
                time.sleep(POLL_S)
            return []
        done, _ = self.ray.wait(list(self.running), num_returns=1, timeout=POLL_S if others else None)
        return [self._ended(reference) for reference in done]

    def _ended(self, reference: Any) -> Outcome:
        spec, lock = self.running.pop(reference)
        try:
            result: Result = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            lock.close()
            return record_failure(spec, self.how, f"Ray: {why(error)}, {RETRIES + 1} times")
        with lock:
            if not result.is_failure:
                return self._stored(spec, result)
        return record_failure(spec, self.how, str(result.outcome.error))

    def _stored(self, spec: Run, result: Result) -> Outcome:
        """Writes the working files and the row, unless there is a row by now; an error on the way is the outcome."""
        row = result.outcome.row
        if row is None:
            return result.outcome
        folder = self.how.store.run_folder(spec.run)
        try:
            if (before := stored_row(spec, self.how.store)) is not None:
                if not compare(row, before).is_equal:
                    note(f"note: {spec.run}: its row was stored meanwhile, with other codes: that row stays")
                return Outcome(spec, before)
            for name, content in result.files.items():
                with atomic(folder / Path(name).name) as path:
                    path.write_bytes(content)
            self.how.store.write(row)
        except HashbenchError as error:
            return Outcome(spec, None, str(error))
        return Outcome(spec, row)

    def _failed_with_base(self, waiting: list[Run]) -> list[Outcome]:
        return [
            Outcome(spec, None, f"{spec.base.run}, which it starts from, failed: {of_base.failure}")
            for spec in waiting
            if spec.base is not None and (of_base := self.ended.get(spec.base.run)) and of_base.failure is not None
        ]


def _task(ray: Any, how: Execution, cluster: Cluster) -> Any:
    """The function that nodes execute, with what each call of it needs."""
    has_gpus = how.options.device != "cpu" and ray.cluster_resources().get("GPU", 0) >= 1
    memory = int(cluster.memory_gib * 2**30) or None
    options = {"num_cpus": cluster.cores, "num_gpus": how.processes if has_gpus else 0, "memory": memory}
    return ray.remote(**options, max_retries=RETRIES, retry_exceptions=True)(_on_node)


def _on_node(task: Task, files: Any, cores: int) -> Result:
    return do(task, reader(files), cores)


def _with_bases(specs: list[Run], how: Execution) -> list[Run]:
    """``specs`` with the runs that they start from and that are not here, each once, before those that need it."""
    found: dict[str, Run] = {}
    for spec in specs:
        if spec.base is not None and not _has_base(spec, how):
            found.setdefault(spec.base.run, spec.base)
        found.setdefault(spec.run, spec)
    return list(found.values())


def _has_base(spec: Run, how: Execution) -> bool:
    """Whether the run starts from none, or from one whose row and working files are here."""
    base = spec.base
    return base is None or (stored_row(base, how.store) is not None and is_saved(base, how.store))
