"""Tasks done by workers of this machine, or by this process: what a cluster would do in another way."""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, TypeVar

from hashbench.errors import HashbenchError
from hashbench.grid.worker import Died, Worker
from hashbench.progress import note

ATTEMPTS = 2  # of a task whose worker dies

T = TypeVar("T")


def done(tasks: Sequence[Callable[[], T]], names: Sequence[str], jobs: int = 1) -> Generator[tuple[int, T]]:
    """(place among ``tasks``, result) of each task, as they end; ``jobs`` at the same time, one in this process.

    A task whose worker dies is done again once, by another worker. Raises HashbenchError where a task does, and where
    the second worker dies too; the line begins with the name of the task. No worker is left behind.
    """
    if jobs == 1:
        yield from ((at, task()) for at, task in enumerate(tasks))
        return
    with TemporaryDirectory(prefix="hashbench-") as folder:
        crew = _Crew(tasks, names, min(jobs, len(tasks)), Path(folder) / "output.txt")
        try:
            yield from crew.results()
        finally:
            crew.close()


@dataclass(frozen=True)
class _Told(Generic[T]):
    """A task that returns an error meant for the user, in place of raising it."""

    task: Callable[[], T]

    def __call__(self) -> T | HashbenchError:
        try:
            return self.task()
        except HashbenchError as error:
            return HashbenchError(str(error))  # other types may not be picklable


@dataclass
class _Crew(Generic[T]):
    """The workers, and what each of them works on."""

    tasks: Sequence[Callable[[], T]]
    names: Sequence[str]
    jobs: int
    output: Path
    busy: dict[Worker, int] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)

    def results(self) -> Iterator[tuple[int, T]]:
        """The results, as they come."""
        waiting = deque(range(len(self.tasks)))
        while waiting and len(self.busy) < self.jobs:
            self._give(Worker(self.jobs, {}), waiting)
        while self.busy:
            ready = wait([worker.pipe for worker in self.busy])
            for worker in [one for one in self.busy if one.pipe in ready]:
                yield from self._ended(worker, waiting)

    def close(self) -> None:
        """Ends the workers that are still at work, at once."""
        for worker in self.busy:
            worker.kill()

    def _give(self, worker: Worker, waiting: deque[int]) -> None:
        self.busy[worker] = waiting.popleft()
        worker.give(_Told(self.tasks[self.busy[worker]]), self.output)

    def _ended(self, worker: Worker, waiting: deque[int]) -> Iterator[tuple[int, T]]:
        """The result of the task, if there is one; the worker, or the one in its place, gets the next task."""
        at = self.busy[worker]
        try:
            found: Any = worker.result()
        except Died as death:
            self._put_away(worker)
            self._after_death(at, str(death))
            waiting.appendleft(at)
            self._give(Worker(self.jobs, {}), waiting)
            return
        if isinstance(found, HashbenchError):
            raise found
        if waiting:
            self._give(worker, waiting)
        else:
            del self.busy[worker]
            worker.stop()
        yield at, found

    def _put_away(self, worker: Worker) -> None:
        del self.busy[worker]
        worker.kill()

    def _after_death(self, at: int, why: str) -> None:
        self.deaths[at] = self.deaths.get(at, 0) + 1
        if self.deaths[at] >= ATTEMPTS:
            raise HashbenchError(f"{self.names[at]}: {why}, {ATTEMPTS} times")
        note(f"note: {self.names[at]}: {why}: it is done again")
