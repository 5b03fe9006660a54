"""Tasks done by workers of this machine, or by this process; and what is done when a worker anywhere dies."""

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, Protocol, TypeVar

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import note
from hashbench.grid.crew import Crew
from hashbench.grid.worker import Died

ATTEMPTS = 2  # of a task whose worker dies

T = TypeVar("T")


class Busy(Protocol):
    """Who has tasks at the moment: the workers of this machine, or a cluster."""

    @property
    def has_room(self) -> bool:
        """Whether it takes one more task."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether it has a task."""
        ...

    def ended(self) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first. The result is Died where there is none."""
        ...


def done(tasks: Sequence[Callable[[], T]], names: Sequence[str], jobs: int = 1) -> Generator[tuple[int, T]]:
    """(place among ``tasks``, result) of each task, as they end; ``jobs`` at the same time, one in this process.

    A task whose worker dies is done again once, by another worker. Raises HashbenchError where a task does, and where
    the second worker dies too; the line begins with the name of the task. No worker is left behind.
    """
    if jobs == 1:
        yield from ((at, task()) for at, task in enumerate(tasks))
        return
    crew = Crew[int]([{}] * min(jobs, len(tasks)))
    with TemporaryDirectory(prefix="hashbench-") as folder, closing(crew):
        output = Path(folder) / "output.txt"
        yield from followed(names, crew, lambda at: crew.give(at, Told(tasks[at]), output))


def followed(names: Sequence[str], crew: Busy, give: Callable[[int], None]) -> Generator[tuple[int, Any]]:
    """As ``done``, of tasks that ``give`` gives to the ``crew`` by their place; a result may be a HashbenchError."""
    waiting, deaths = deque(range(len(names))), Counter[int]()

    def give_all() -> None:
        while waiting and crew.has_room:
            give(waiting.popleft())

    give_all()
    while crew.is_busy:
        for at, found in crew.ended():
            if isinstance(found, HashbenchError):
                raise found
            if isinstance(found, Died):
                deaths[at] += 1
                if deaths[at] == ATTEMPTS:
                    raise HashbenchError(f"{names[at]}: {found}, {ATTEMPTS} times")
                note(f"note: {names[at]}: {found}: it is done again")
                waiting.appendleft(at)
            give_all()  # before the result is used, so that nobody waits for that
            if not isinstance(found, Died):
                yield at, found


@dataclass(frozen=True)
class Told(Generic[T]):
    """A task that returns an error meant for the user, in place of raising it."""

    task: Callable[[], T]

    def __call__(self) -> T | HashbenchError:
        try:
            return self.task()
        except HashbenchError as error:
            return HashbenchError(str(error))  # other types may not be picklable
