"""Runs of a grid on this machine, some at the same time, each in a worker that may die without ending the others."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from hashbench.grid import gpus
from hashbench.grid.execute import Execution, execute, execute_unless_held, record_failure
from hashbench.grid.outcome import Outcome
from hashbench.grid.worker import Died, Worker
from hashbench.progress import note
from hashbench.runs.lock import is_held
from hashbench.runs.run import stored_row
from hashbench.runs.spec import RunSpec

OUTPUT = "output.txt"  # in the folder of a run: what the run printed in a worker
ATTEMPTS = 2  # of a run whose worker dies
POLL_S = 2.0  # how often a run that another process executes is looked at


@dataclass(frozen=True)
class Plan:
    """How many runs are executed at the same time, and the seconds that one may take (None: any number).

    One run at a time without a limit is executed in this process, others in workers.
    """

    jobs: int = 1
    timeout_s: float | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process executes the runs itself."""
        return self.jobs == 1 and self.timeout_s is None


@dataclass
class _Attempt:
    """A run that is to be executed; ``failure`` is set where it has failed for good, and is to be recorded."""

    spec: RunSpec
    number: int = 1
    failure: str | None = None


@dataclass(eq=False)
class _Slot:
    """A place for a worker, which is started when there is work for it; the variables are those of the worker."""

    environment: dict[str, str]
    worker: Worker | None = None
    attempt: _Attempt | None = None  # what it works on


def run_all(specs: list[RunSpec], how: Execution, plan: Plan = Plan()) -> Iterator[Outcome]:
    """Executes ``specs`` and yields how each one ended.

    A run that fails does not stop the others; an interrupt stops all of them at once. A run whose worker dies is tried
    again once in another one; then a failed row is stored, as for a run that takes too long. Runs that other processes
    execute at the moment come last: then they are waited for, and the rows that these processes stored are the results.
    """
    if plan.is_here:
        yield from _here(specs, how)
    elif specs:
        environments = gpus.environments(plan.jobs, how.options.device, how.processes)
        grid = _Grid(how, plan, [_Slot(environment) for environment in environments])
        try:
            yield from grid.outcomes(specs)
        finally:
            grid.close()


def _here(specs: list[RunSpec], how: Execution) -> Iterator[Outcome]:
    held = []
    for spec in specs:
        outcome = execute_unless_held(spec, how)
        if outcome is None:
            held.append(spec)
        else:
            yield outcome
    yield from (execute(spec, how) for spec in held)


@dataclass
class _Grid:
    """The runs that wait, those that other processes execute, and the workers."""

    how: Execution
    plan: Plan
    slots: list[_Slot]
    waiting: deque[_Attempt] = field(default_factory=deque)
    held: list[_Attempt] = field(default_factory=list)

    def outcomes(self, specs: list[RunSpec]) -> Iterator[Outcome]:
        """The outcome of each run, as they end."""
        self.waiting.extend(map(_Attempt, specs))
        while self.waiting or self.held or self._busy():
            self._take_free()
            self._give()
            if busy := self._busy():
                yield from self._ended(busy)
            elif self.held:
                self._wait_for_others()

    def close(self) -> None:
        """Ends all workers: those without work by themselves, the others at once."""
        for slot in self.slots:
            if slot.worker is not None and slot.attempt is None:
                slot.worker.stop()
            elif slot.worker is not None:
                slot.worker.kill()

    def _busy(self) -> list[_Slot]:
        return [slot for slot in self.slots if slot.attempt is not None]

    def _give(self) -> None:
        """Gives each free worker a run that waits; workers that have died are replaced."""
        for slot in self.slots:
            if slot.attempt is None and self.waiting:
                slot.attempt = self.waiting.popleft()
                if slot.worker is None:
                    slot.worker = Worker(self.plan.jobs, slot.environment)
                slot.worker.give(self._work(slot.attempt), self._output(slot.attempt.spec))

    def _work(self, attempt: _Attempt) -> Callable[[], Outcome | None]:
        if attempt.failure is not None:
            return partial(record_failure, attempt.spec, self.how, attempt.failure)
        return partial(execute_unless_held, attempt.spec, self.how)

    def _output(self, spec: RunSpec) -> Path:
        return self.how.store.run_folder(spec.run) / OUTPUT

    def _ended(self, busy: list[_Slot]) -> Iterator[Outcome]:
        """Waits until a worker has done its work, has died or has taken too long; the outcomes that this gives."""
        ready = wait([slot.worker.pipe for slot in busy if slot.worker is not None], self._seconds_left(busy))
        for slot in busy:
            worker, attempt = slot.worker, slot.attempt
            if worker is None or attempt is None or worker.pipe not in ready:
                continue
            slot.attempt = None
            try:
                outcome = worker.result()
            except Died as death:
                self._put_away(slot)
                yield from self._after_death(attempt, str(death))
                continue
            if outcome is None:
                self.held.append(attempt)
            else:
                yield outcome
        for slot in busy:
            yield from self._if_late(slot)

    def _seconds_left(self, busy: list[_Slot]) -> float | None:
        """Until the first of the workers has taken too long, or until runs of other processes are looked at."""
        limits = [POLL_S] if self.held else []
        if self.plan.timeout_s is not None:
            began = min(slot.worker.started for slot in busy if slot.worker is not None)
            limits.append(max(0.0, began + self.plan.timeout_s - time.monotonic()))
        return min(limits, default=None)

    def _if_late(self, slot: _Slot) -> Iterator[Outcome]:
        worker, attempt, most_s = slot.worker, slot.attempt, self.plan.timeout_s
        if worker is None or attempt is None or most_s is None or time.monotonic() - worker.started < most_s:
            return
        slot.attempt = None
        self._put_away(slot)
        yield from self._fail(attempt, f"it took longer than {most_s / 60:g} minutes (--timeout)")

    def _put_away(self, slot: _Slot) -> None:
        """Ends the worker of the slot, which comes last from now on: another slot is tried before."""
        if slot.worker is not None:
            slot.worker.kill()
        slot.worker = None
        self.slots.remove(slot)
        self.slots.append(slot)

    def _after_death(self, attempt: _Attempt, why: str) -> Iterator[Outcome]:
        if (row := stored_row(attempt.spec, self.how.store)) is not None:  # it died after its work
            yield Outcome(attempt.spec, row)
        elif attempt.failure is None and attempt.number < ATTEMPTS:
            note(f"note: {attempt.spec.run}: {why}: it is tried again")
            self.waiting.appendleft(_Attempt(attempt.spec, attempt.number + 1))
        else:
            yield from self._fail(attempt, f"{why}, {attempt.number} times")

    def _fail(self, attempt: _Attempt, why: str) -> Iterator[Outcome]:
        """Has the failure recorded by a worker; the outcome, if a worker died of that too."""
        if attempt.failure is not None:
            yield Outcome(attempt.spec, None, f"{attempt.failure}; no row could be stored: {why}")
        else:
            reason = f"{why}; what it printed is in {self._output(attempt.spec).name} of its folder"
            self.waiting.appendleft(_Attempt(attempt.spec, attempt.number, reason))

    def _wait_for_others(self) -> None:
        """Waits until one of the runs that other processes execute is free; then it waits for a worker."""
        note(f"note: {len(self.held)} runs are executed by other processes: waiting for them")
        while not self._take_free():
            time.sleep(POLL_S)

    def _take_free(self) -> bool:
        free = [attempt for attempt in self.held if not is_held(attempt.spec, self.how.store)]
        self.held = [attempt for attempt in self.held if attempt not in free]
        self.waiting.extend(free)
        return bool(free)
