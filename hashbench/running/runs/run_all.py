"""Many runs, each a task: of this process, of workers that may die, or of a cluster."""

import platform
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

from hashbench.foundation import parallel, paths
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.execution import Execution
from hashbench.foundation.files import write_bytes
from hashbench.foundation.progress import note
from hashbench.learning.contract import PIXELS, TimeIsOver
from hashbench.learning.models import MODELS
from hashbench.learning.training.settings import N_SHOWN, OFFICIAL, SHA256
from hashbench.running.datasets.store import path_of
from hashbench.running.features import path_of as features_path
from hashbench.running.jobs import ray
from hashbench.running.jobs.fit import Measured, Usage, jobs_that_fit
from hashbench.running.jobs.follow import follow
from hashbench.running.jobs.local import LocalPool, gpus_in_turn, local_pool, visible_gpus
from hashbench.running.jobs.node import RESULTS
from hashbench.running.jobs.task import AUTO, Died, DriverFile, Input, Postponed, Stopped, Task
from hashbench.running.runs.data import open_data
from hashbench.running.runs.execute import failed_row
from hashbench.running.runs.guard import is_saved, row_of, stored_row
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import OUTPUT, Store, files_of_run


@dataclass(frozen=True)
class Made:
    """The result of a node: the row of a run, and its working files by name."""

    row: Row
    files: dict[str, bytes]


@dataclass(frozen=True)
class RunTask(Task):
    """Executes a run, unless its row is stored; with ``failure`` it stores a row that gives this reason instead."""

    spec: Run
    store: Store
    execution: Execution
    failure: str | None = None
    timeout_s: float | None = None  # this and the following are for a node of a cluster
    cores: int = 1
    base_row: Row | None = None

    @property
    def name(self) -> str:  # noqa: D102  (these are as in Task)
        return str(self.spec.name)

    @property
    def output(self) -> Path:  # noqa: D102
        return self.store.run_folder(self.name) / OUTPUT

    def run(self) -> Row | Postponed | Stopped:
        """The row; Postponed if another process executes the run or its base now; Stopped if the time is over first."""
        if self.failure is not None:
            return self._record(self.failure)
        if _is_executed(self.spec, self.store):
            return Postponed()
        with suppress(TimeIsOver):
            return row_of(self.spec, self.store, self.execution)
        return Stopped()

    def _record(self, reason: str) -> Row:
        """The measured row if there is one by now, else the row of the failure, which is stored."""
        no_row = retold(lambda fault: f"{reason}; no row could be stored: {fault}", HashbenchError)
        with no_row, self.store.run_lock(self.name, wait=True):
            if (row := stored_row(self.spec, self.store)) is None:
                row = failed_row(open_data(self.spec, self.execution), reason, self.execution)
                self.store.write(row)
            return row

    def for_node(self) -> "RunTask":
        """The same task with the row of its base."""
        base = self.spec.base
        return self if base is None else replace(self, base_row=stored_row(base, self.store))

    def inputs(self) -> list[Input]:
        """The files here that the run needs; the run itself reports missing ones."""
        places: dict[Path, str] = {}
        for path in _data_files(self.spec):
            if path.is_file():
                is_committed = not path.is_relative_to(paths.data())  # on a node such weights are among the others
                place = f"weights/{path.name}" if is_committed else path.relative_to(paths.data())
                places[path] = f"data/{place}"
        if self.spec.base is not None:
            for path in _working_files(self.store.run_folder(str(self.spec.base.name))):
                places[path] = f"{RESULTS}/{path.relative_to(self.store.folder)}"
        return [Input(path, DriverFile.at(path), place) for path, place in places.items()]

    def run_on_node(self, folder: Path, places: Mapping[Path, Path]) -> Made | Died | Postponed:  # noqa: ARG002
        """The result of a process of its own, of which the node keeps nothing; errors name the machine."""
        store = Store(folder / RESULTS)
        here = replace(self, store=store, execution=replace(self.execution, progress=True))
        environment = {"HASHBENCH_DATA": str(folder / "data"), parallel.N_THREADS: str(self.cores)}
        with retold(lambda fault: f"on {platform.node()}: {fault}", HashbenchError):
            base = self.base_row
            if base is not None and store.find(base.dataset, base.protocol, base.run) is None:
                store.write(base)
            with closing(LocalPool([environment], self.timeout_s)) as pool:
                pool.give(0, here)
                ((_, result),) = pool.ended()
            if isinstance(result, HashbenchError):
                raise result
        if isinstance(result, Died | Postponed):
            return result
        files = {path.name: path.read_bytes() for path in _working_files(store.run_folder(self.name))}
        rmtree(store.run_folder(self.name), ignore_errors=True)
        path = store.rows_path(self.spec.name.dataset, self.spec.name.protocol)
        with suppress(HashbenchError), store.changing(path) as lines:  # a second run of this node would find the row
            lines[:] = [line for line in lines if line.name != self.name]
        return Made(result, files)


def _working_files(folder: Path) -> list[Path]:
    """The files of a run, without those that only serve its training."""
    return [path for path in files_of_run(folder) if not path.name.startswith("checkpoint")]


def _data_files(spec: Run) -> Iterator[Path]:
    card = spec.card
    yield paths.custom_cards() / f"{card.name}.toml"  # there is one if the data set is the user's own
    if not card.embedded:
        yield path_of(card)
    features = {spec.settings.features, spec.protocol.compared_features} - {None, PIXELS}
    yield from (features_path(card.name, str(name)) for name in features)
    weights = getattr(spec.settings, "weights", None)
    model = getattr(spec.settings, "model", None)
    if isinstance(weights, str) and weights.startswith(SHA256):
        yield from paths.weight_files(f"*-{weights.removeprefix(SHA256)[:N_SHOWN]}.*")
    elif weights == OFFICIAL and model is not None and (pretrained := MODELS.get(model).pretrained) is not None:
        yield pretrained.weights.path


@dataclass(frozen=True)
class Plan:
    """How many runs are executed at the same time, here or on the nodes of the Ray cluster at the address ``ray``."""

    jobs: int = 1  # AUTO: one is measured, then as many as fit
    timeout_s: float | None = None  # of one run; None: any number
    ray: str | None = None
    cores: int = 1  # of a node, for each run
    memory_gib: float = 0.0  # 0: none is reserved


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a row, perhaps of a failure, or with an error before there was a result."""

    spec: Run
    row: Row | None
    error: str | None = None

    @property
    def failure(self) -> str | None:
        """Why there is no measurement; None where there is one."""
        return self.error if self.row is None else self.row.reason


def run_all(specs: Sequence[Run], store: Store, execution: Execution, plan: Plan = Plan()) -> Iterator[Outcome]:
    """Executes ``specs`` and yields how each ended; a worker that dies twice or takes too long leaves a failed row.

    Nothing is yielded of a run that the time of ``execution`` left unfinished, or did not let begin.
    """
    if not specs:
        return
    if plan.ray is not None:
        with ray.connected(plan.ray) as cluster, ExitStack() as locks:
            yield from _Driver(store, locks).outcomes(specs, execution, plan, cluster)
        return
    if plan.jobs != 1 or plan.timeout_s is not None:
        _extract_missing(specs, execution)
    tasks = [RunTask(spec, store, execution) for spec in specs]
    is_ready = partial(_is_ready, [])
    jobs = plan.jobs
    if jobs == AUTO:
        # a network takes more than what the other methods do
        tasks.sort(key=lambda task: not task.spec.method.needs_torch)
        first = yield from _measured(tasks.pop(0), plan, is_ready)
        jobs = 1
        if first is not None and tasks:
            jobs = jobs_that_fit(first, len(visible_gpus()) if first.gpu else 0)
    environments = gpus_in_turn(jobs, execution.device)
    pool = local_pool(jobs, plan.timeout_s, environments)
    with closing(follow(tasks, pool, ready=is_ready, instead=_recorded_failure)) as results:
        for at, result in results:
            if not isinstance(result, Stopped | _NotBegun):
                yield _outcome(tasks[at].spec, result)


def _measured(task: RunTask, plan: Plan, is_ready: Callable[[RunTask], bool]) -> Generator[Outcome, None, Usage | None]:
    """Executes one run in a process of its own, yields how it ended, and returns what it used, if it has a row."""
    pool = LocalPool([{}], plan.timeout_s)
    usage = None
    followed = follow([Measured(task)], pool, ready=lambda _: is_ready(task), instead=_recorded_failure)
    with closing(followed) as results:
        for _, result in results:
            row = result
            if isinstance(result, tuple):
                row, usage = result
            if not isinstance(row, Stopped | _NotBegun):
                yield _outcome(task.spec, row)
    return usage


def _outcome(spec: Run, result: Any) -> Outcome:
    return Outcome(spec, result) if isinstance(result, Row) else Outcome(spec, None, str(result))


def _is_ready(begun: list[RunTask], task: RunTask) -> bool:
    """Whether no other process executes the run; if so it has ``begun``.

    _NotBegun where the time is over, but for the first that begins: a call that is too short gets on, too.
    """
    is_free = not _is_executed(task.spec, task.store)
    if task.execution.time_is_over and (begun or not is_free):
        raise _NotBegun
    if is_free:
        begun.append(task)
    return is_free


def _recorded_failure(task: Any, died: Died) -> Any:
    """The task that records that the run died; ``task`` may also be one that measures the run."""
    run_task: Any = task.task if isinstance(task, Measured) else task
    return _recording(run_task, died, where=f"; what it printed is in {OUTPUT} of its folder")


class _NotBegun(HashbenchError):  # noqa: N818  (what happened)
    """The time was over before the run could begin."""


def _is_executed(spec: Run, store: Store) -> bool:
    """Whether a process executes the run, or one that it starts from and that is not here, at this moment."""
    if spec.base is not None and not _has_base(spec, store) and _is_executed(spec.base, store):
        return True
    return store.is_executed(str(spec.name))


def _has_base(spec: Run, store: Store) -> bool:
    """Whether the run starts from none, or from one whose row and working files are here."""
    base = spec.base
    return base is None or (stored_row(base, store) is not None and is_saved(base, store))


def _extract_missing(specs: Sequence[Run], execution: Execution) -> None:
    """Extracts missing features of the runs, with a bar, before the workers start.

    A worker has only its share of the cores, the others would wait for it, and a limit of time would count against it.
    """
    first: dict[tuple[Any, ...], Run] = {}
    bases = [spec.base for spec in specs if spec.base is not None]
    for run in [*bases, *specs]:
        features = run.settings.features
        copies = getattr(run.settings, "copies", 0)
        # copies are of the training items of a protocol; whether they are there is seen where they are read
        if features != PIXELS and (copies or not features_path(run.card.name, features).is_file()):
            first.setdefault((run.card.name, features, copies and (run.name.protocol, copies)), run)
    for run in first.values():
        with suppress(HashbenchError):  # the run itself reports it
            open_data(run, execution)


def _recording(task: RunTask, died: Died, where: str = "") -> RunTask:
    if task.failure is not None:
        raise HashbenchError(f"{task.failure}; no row could be stored: {died}")
    return replace(task, failure=f"{died}{where}")


class _Driver:
    """Gives runs to a cluster, holds their locks meanwhile, and stores the results of its nodes."""

    def __init__(self, store: Store, locks: ExitStack) -> None:
        self._store = store
        self._locks = locks
        self._held: dict[str, ExitStack] = {}
        self._ended: dict[str, Outcome] = {}

    def outcomes(
        self, specs: Sequence[Run], execution: Execution, plan: Plan, cluster: ray.Cluster
    ) -> Iterator[Outcome]:
        """The outcome of each run, as they end; runs that others start from come before these, and are not yielded."""
        gpus = 1 if execution.device != "cpu" and cluster.has_gpus else 0
        pool = ray.RayPool(cluster, cores=plan.cores, gpus=gpus, memory_gib=plan.memory_gib)
        bases = [spec.base for spec in specs if spec.base is not None and not _has_base(spec, self._store)]
        runs = {str(run.name): run for run in [*bases, *specs]}.values()
        tasks = [RunTask(run, self._store, execution, timeout_s=plan.timeout_s, cores=plan.cores) for run in runs]
        wanted = {str(spec.name) for spec in specs}
        with closing(follow(tasks, pool, ready=self._is_ready, instead=_recording)) as results:
            for at, result in results:
                task = tasks[at]
                with self._held.pop(task.name, ExitStack()):
                    outcome = _outcome(task.spec, result)
                    if isinstance(result, Made):
                        outcome = self._stored(task, result)
                self._ended[task.name] = outcome
                if task.name in wanted:
                    yield outcome

    def _is_ready(self, task: RunTask) -> bool:
        """Whether the run's base is here and this process holds its lock; raises HashbenchError if its base failed."""
        base = task.spec.base
        if base is not None and not _has_base(task.spec, self._store):
            if (ended := self._ended.get(str(base.name))) is not None and ended.failure is not None:
                raise HashbenchError(f"{base.name}, which it starts from, failed: {ended.failure}")
            return False
        if task.name in self._held:
            return True
        lock = ExitStack()
        try:
            lock.enter_context(self._store.run_lock(task.name, wait=False))
        except HashbenchError:
            return False  # another process executes it
        self._locks.push(lock)
        self._held[task.name] = lock
        return True

    def _stored(self, task: RunTask, made: Made) -> Outcome:
        """Writes the working files and the row, unless there is a row by now; an error on the way is the outcome."""
        try:
            if (before := stored_row(task.spec, self._store)) is not None:
                if made.row.artefacts != before.artefacts:
                    note(f"note: {task.name}: its row was stored meanwhile, with other codes: that row stays")
                return Outcome(task.spec, before)
            for name, content in made.files.items():
                write_bytes(self._store.run_folder(task.name) / Path(name).name, content)
            self._store.write(made.row)
        except HashbenchError as error:
            return Outcome(task.spec, None, str(error))
        return Outcome(task.spec, made.row)
