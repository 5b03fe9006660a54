"""Many runs: by this process, by workers that may die, or on a Ray cluster, whose results the driver alone stores."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.foundation.progress import note
from hashbench.jobs import ray
from hashbench.jobs.follow import follow
from hashbench.jobs.local import gpus_in_turn, local_pool
from hashbench.jobs.task import Died
from hashbench.runs.diff import diff_rerun
from hashbench.runs.fit import is_saved
from hashbench.runs.guard import stored_row
from hashbench.runs.lock import is_held, locked_folder
from hashbench.runs.options import Options
from hashbench.runs.row import Row
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.runs.task import OUTPUT, Made, RunTask


@dataclass(frozen=True)
class Plan:
    """How many runs are executed at the same time, the seconds that one may take (None: any number), its processes.

    One run at a time without a limit is executed in this process, others in workers. With the address ``ray`` of a
    cluster its nodes execute them, each with so many ``cores`` and so much memory in GiB (0: none is reserved).
    """

    jobs: int = 1
    timeout_s: float | None = None
    processes: int = 1
    ray: str | None = None
    cores: int = 1
    memory_gib: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a row, which may say that it failed, or with an error before there was a result."""

    spec: Run
    row: Row | None
    error: str | None = None

    @property
    def failure(self) -> str | None:
        """Why there is no measurement; None where there is one."""
        return self.error if self.row is None else self.row.reason


def run_all(specs: Sequence[Run], store: Store, options: Options, plan: Plan = Plan()) -> Iterator[Outcome]:
    """Executes ``specs`` and yields how each one ended.

    A run that fails does not stop the others; an interrupt stops all of them at once. A run whose worker dies is tried
    again once in another one; then a failed row is stored, as for a run that takes too long. Runs that other processes
    execute at the moment come last: then they are waited for, and the rows that these processes stored are the results.
    """
    if not specs:
        return
    if plan.ray is not None:
        with ray.connected(plan.ray) as cluster, ExitStack() as locks:
            yield from _Driver(store, locks).outcomes(specs, options, plan, cluster)
        return
    tasks = [RunTask(spec, store, options, plan.processes) for spec in specs]
    pool = local_pool(plan.jobs, plan.timeout_s, gpus_in_turn(plan.jobs, options.device, plan.processes))
    instead = partial(_recording, where=f"; what it printed is in {OUTPUT} of its folder")
    with closing(follow(tasks, pool, ready=lambda task: not is_held(task.spec, store), instead=instead)) as results:
        for at, found in results:
            yield Outcome(specs[at], found) if isinstance(found, Row) else Outcome(specs[at], None, str(found))


def _recording(task: RunTask, died: Died, where: str = "") -> RunTask:
    """The task that stores a failed row in place of ``task``."""
    if task.failure is not None:
        raise HashbenchError(f"{task.failure}; no row could be stored: {died}")
    return replace(task, failure=f"{died}{where}")


class _Driver:
    """Gives runs to a cluster and stores what its nodes made.

    It holds the lock of each run that the cluster executes, so that other commands on the same results leave it alone.
    """

    def __init__(self, store: Store, locks: ExitStack) -> None:
        self._store, self._locks = store, locks
        self._held: dict[str, ExitStack] = {}
        self._ended: dict[str, Outcome] = {}

    def outcomes(self, specs: Sequence[Run], options: Options, plan: Plan, cluster: Any) -> Iterator[Outcome]:
        """The outcome of each run, as they end; runs that others start from come before these, and are not yielded."""
        on_gpu = options.device != "cpu" and ray.has_gpus(cluster)
        gpus = plan.processes if on_gpu else 0
        pool = ray.RayPool(cluster, cores=plan.cores, gpus=gpus, memory_gib=plan.memory_gib)
        given = dict.fromkeys(str(spec.name) for spec in specs)
        needed = {
            str(spec.base.name): spec.base for spec in specs if spec.base is not None and not self._has_base(spec)
        }
        of_all = {**needed, **{str(spec.name): spec for spec in specs}}
        tasks = [
            RunTask(spec, self._store, options, plan.processes, timeout_s=plan.timeout_s, cores=plan.cores)
            for spec in of_all.values()
        ]
        with closing(follow(tasks, pool, ready=self._is_ready, instead=_recording)) as results:
            for at, found in results:
                spec = tasks[at].spec
                with self._held.pop(str(spec.name), ExitStack()):
                    is_made = isinstance(found, Made)
                    outcome = self._stored(spec, found) if is_made else Outcome(spec, None, str(found))
                self._ended[str(spec.name)] = outcome
                if str(spec.name) in given:
                    yield outcome

    def _is_ready(self, task: RunTask) -> bool:
        """Whether the run's base is here and this process holds its lock; raises HashbenchError if its base failed."""
        spec, base = task.spec, task.spec.base
        if not self._has_base(spec):
            assert base is not None
            if (ended := self._ended.get(str(base.name))) is not None and ended.failure is not None:
                raise HashbenchError(f"{base.name}, which it starts from, failed: {ended.failure}")
            return False
        if str(spec.name) in self._held:
            return True
        lock = ExitStack()
        try:
            lock.enter_context(locked_folder(self._store.run_folder(str(spec.name)), wait=False))
        except HashbenchError:
            return False  # another process executes it
        self._locks.push(lock)
        self._held[str(spec.name)] = lock
        return True

    def _has_base(self, spec: Run) -> bool:
        """Whether the run starts from none, or from one whose row and working files are here."""
        base = spec.base
        return base is None or (stored_row(base, self._store) is not None and is_saved(base, self._store))

    def _stored(self, spec: Run, made: Made) -> Outcome:
        """Writes the working files and the row, unless there is a row by now; an error on the way is the outcome."""
        folder = self._store.run_folder(str(spec.name))
        try:
            if (before := stored_row(spec, self._store)) is not None:
                if not diff_rerun(made.row, before).is_equal:
                    note(f"note: {spec.name}: its row was stored meanwhile, with other codes: that row stays")
                return Outcome(spec, before)
            for name, content in made.files.items():
                with atomic(folder / Path(name).name) as path:
                    path.write_bytes(content)
            self._store.write(made.row)
        except HashbenchError as error:
            return Outcome(spec, None, str(error))
        return Outcome(spec, made.row)
