"""Workers side by side: a free one takes the next piece of work, and one that dies or takes too long is replaced."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, Generic, TypeVar

from hashbench.grid.worker import Died, Worker

T = TypeVar("T")  # names a piece of work

Environment = Mapping[str, str]


class TookTooLong(Died):
    """The worker was ended, because its work took longer than the limit."""


class Crew(Generic[T]):
    """Places for workers, one for each of ``environments``, the variables that the worker there has of its own.

    A worker is started when there is work for it. Work that takes longer than ``timeout_s`` ends it (None: no limit).
    """

    def __init__(self, environments: Sequence[Environment], timeout_s: float | None = None) -> None:
        self._jobs, self._timeout_s = len(environments), timeout_s
        self._free: deque[tuple[Environment, Worker | None]] = deque((each, None) for each in environments)
        self._busy: dict[Worker, tuple[Environment, T]] = {}

    @property
    def has_room(self) -> bool:
        """Whether a worker is free."""
        return bool(self._free)

    @property
    def is_busy(self) -> bool:
        """Whether a worker is at work."""
        return bool(self._busy)

    def give(self, name: T, work: Callable[[], Any], output: Path) -> None:
        """Gives ``work`` to a free worker; what it prints is added to the file ``output``."""
        environment, worker = self._free.popleft()
        worker = worker or Worker(self._jobs, environment)
        self._busy[worker] = environment, name
        worker.give(work, output)

    def ended(self, seconds: float | None = None) -> Iterator[tuple[T, Any]]:
        """The names and the results of work that has ended; waits for the first, so many ``seconds`` at most.

        The result is Died where the worker died, TookTooLong where it was ended.
        """
        ready = wait([worker.pipe for worker in self._busy], self._seconds_left(seconds))
        for worker in list(self._busy):
            if worker.pipe in ready:
                yield self._put_back(worker, _result(worker))
            elif self._timeout_s is not None and time.monotonic() - worker.started >= self._timeout_s:
                yield self._put_back(worker, _too_long(self._timeout_s))

    def close(self) -> None:
        """Ends all workers: those without work by themselves, the others at once."""
        for worker in self._busy:
            worker.kill()
        for _, free in self._free:
            if free is not None:
                free.stop()

    def _seconds_left(self, seconds: float | None) -> float | None:
        """Until the first worker has taken too long, or until ``seconds`` have passed."""
        limits = [] if seconds is None else [seconds]
        if self._timeout_s is not None:
            began = min(worker.started for worker in self._busy)
            limits.append(max(0.0, began + self._timeout_s - time.monotonic()))
        return min(limits, default=None)

    def _put_back(self, worker: Worker, result: Any) -> tuple[T, Any]:
        """The name of what the worker did, with the ``result``; its place is free again."""
        environment, name = self._busy.pop(worker)
        if isinstance(result, Died):
            worker.kill()
            self._free.append((environment, None))  # last: another place is the next one to try
        else:
            self._free.appendleft((environment, worker))
        return name, result


def _result(worker: Worker) -> Any:
    try:
        return worker.result()
    except Died as death:
        return death


def _too_long(most_s: float) -> TookTooLong:
    return TookTooLong(f"it took longer than {most_s / 60:g} minutes (--timeout)")
