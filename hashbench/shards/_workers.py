"""Tasks done by workers of this machine, or by this process: what a cluster would do in another way."""

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Generic, TypeVar

from hashbench.errors import HashbenchError
from hashbench.grid.crew import Crew
from hashbench.grid.worker import Died
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
    waiting, deaths = deque(range(len(tasks))), Counter[int]()
    crew = Crew[int]([{}] * min(jobs, len(tasks)))
    with TemporaryDirectory(prefix="hashbench-") as folder, closing(crew):
        while waiting or crew.is_busy:
            while waiting and crew.has_room:
                at = waiting.popleft()
                crew.give(at, _Told(tasks[at]), Path(folder) / "output.txt")
            for at, found in crew.ended():
                if isinstance(found, HashbenchError):
                    raise found
                if not isinstance(found, Died):
                    yield at, found
                    continue
                deaths[at] += 1
                if deaths[at] == ATTEMPTS:
                    raise HashbenchError(f"{names[at]}: {found}, {ATTEMPTS} times")
                note(f"note: {names[at]}: {found}: it is done again")
                waiting.appendleft(at)


@dataclass(frozen=True)
class _Told(Generic[T]):
    """A task that returns an error meant for the user, in place of raising it."""

    task: Callable[[], T]

    def __call__(self) -> T | HashbenchError:
        try:
            return self.task()
        except HashbenchError as error:
            return HashbenchError(str(error))  # other types may not be picklable
