"""Runs of a grid on this machine, some at the same time, each in a worker that may die without ending the others."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from hashbench.foundation.progress import note
from hashbench.grid import gpus
from hashbench.grid.crew import Crew, TookTooLong
from hashbench.grid.execute import OUTPUT, Execution, execute, execute_unless_held, output_of, record_failure
from hashbench.grid.outcome import Outcome
from hashbench.grid.worker import Died
from hashbench.runs.guard import stored_row
from hashbench.runs.lock import is_held
from hashbench.runs.run import Run

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

    spec: Run
    number: int = 1
    failure: str | None = None


def run_all(specs: list[Run], how: Execution, plan: Plan = Plan()) -> Iterator[Outcome]:
    """Executes ``specs`` and yields how each one ended.

    A run that fails does not stop the others; an interrupt stops all of them at once. A run whose worker dies is tried
    again once in another one; then a failed row is stored, as for a run that takes too long. Runs that other processes
    execute at the moment come last: then they are waited for, and the rows that these processes stored are the results.
    """
    if plan.is_here:
        yield from _here(specs, how)
    elif specs:
        environments = gpus.environments(plan.jobs, how.options.device, how.processes)
        with closing(Crew[_Attempt](environments, plan.timeout_s)) as crew:
            yield from _Grid(how, crew).outcomes(specs)


def _here(specs: list[Run], how: Execution) -> Iterator[Outcome]:
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
    crew: Crew[_Attempt]
    waiting: deque[_Attempt] = field(default_factory=deque)
    held: list[_Attempt] = field(default_factory=list)

    def outcomes(self, specs: list[Run]) -> Iterator[Outcome]:
        """The outcome of each run, as they end."""
        self.waiting.extend(map(_Attempt, specs))
        while self.waiting or self.held or self.crew.is_busy:
            self._take_free()
            self._give()
            if self.crew.is_busy:
                for attempt, result in self.crew.ended(POLL_S if self.held else None):
                    yield from self._after(attempt, result)
            elif self.held:
                self._wait_for_others()

    def _give(self) -> None:
        """Gives each free worker a run that waits."""
        while self.waiting and self.crew.has_room:
            attempt = self.waiting.popleft()
            self.crew.give(attempt, self._work(attempt), output_of(attempt.spec, self.how.store))

    def _work(self, attempt: _Attempt) -> Callable[[], Outcome | None]:
        if attempt.failure is not None:
            return partial(record_failure, attempt.spec, self.how, attempt.failure)
        return partial(execute_unless_held, attempt.spec, self.how)

    def _after(self, attempt: _Attempt, result: Outcome | Died | None) -> Iterator[Outcome]:
        """The outcome, if the worker returned one; else the run waits again, for another process or a second try."""
        if isinstance(result, Outcome):
            yield result
        elif result is None:
            self.held.append(attempt)
        elif isinstance(result, TookTooLong):
            yield from self._fail(attempt, str(result))
        else:
            yield from self._after_death(attempt, str(result))

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
            reason = f"{why}; what it printed is in {OUTPUT} of its folder"
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
