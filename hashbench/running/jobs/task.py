"""A task: work with a name that any process can do. A task and its result are picklable."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import file_sha256
from hashbench.foundation.once import once

AUTO = 0  # as a number of jobs: as many as fit


class Died(Exception):  # noqa: N818  (what happened, as the reader of a row is told)
    """The worker ended without a result, or its task raised an error that is not for the user; the text says how."""


class TookTooLong(Died):
    """The worker was ended, because its task took longer than the limit."""


class NodeError(HashbenchError):
    """A node of a cluster cannot do tasks: it has other code, or no room for their files."""


@dataclass(frozen=True)
class Postponed:
    """The result of a task that another process does at this moment: it waits until that has ended."""


@dataclass(frozen=True)
class Stopped:
    """The result of a task that stopped because the time is over: no other task is begun after it."""


@dataclass(frozen=True)
class DriverFile:
    """A file on the driver's machine: its whole path, its size and the checksum of its content."""

    path: Path
    n_bytes: int
    sha256: str

    @staticmethod
    def at(path: Path) -> "DriverFile":
        """The file at ``path`` on this machine, which is the driver's."""
        sha256 = once(f"checksum {path}", path, None, lambda: file_sha256(path))
        return DriverFile(path.resolve(), path.stat().st_size, sha256)


@dataclass(frozen=True)
class Input:
    """A file that a task needs: ``path`` is the task's name for it, ``place`` its path in the folder of a node."""

    path: Path
    file: DriverFile
    place: str


class Task(ABC):
    """Work with a name, which notes and errors show; a HashbenchError that it raises is its result."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name."""

    @property
    def output(self) -> Path | None:
        """The file to which a worker adds what the task prints; None where nobody reads it."""
        return None

    @abstractmethod
    def run(self) -> Any:
        """The result."""

    def for_node(self) -> "Task":
        """The task as a node of a cluster is given it."""
        return self

    def inputs(self) -> Sequence[Input]:
        """The files of this machine that a node needs for the task."""
        return ()

    def run_on_node(self, folder: Path, places: Mapping[Path, Path]) -> Any:  # noqa: ARG002
        """The result on a node, where ``places`` in its ``folder`` has each input by its path."""
        return self.run()


@dataclass(frozen=True)
class Call(Task):
    """The task to call a function, which must be picklable."""

    work: Callable[[], Any]
    name: str = ""
    output: Path | None = None

    def run(self) -> Any:
        """What the function returns."""
        return self.work()


class Pool(ABC):
    """Workers, or a cluster; tasks are known by their place in the caller's list; ``running`` is what it does now."""

    running: Sized

    @property
    @abstractmethod
    def has_room(self) -> bool:
        """Whether it takes one more task."""

    @abstractmethod
    def give(self, at: int, task: Task) -> None:
        """Starts a task, or puts it into the queue of a cluster."""

    @abstractmethod
    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result, HashbenchError or Died) of tasks that have ended; waits for one, ``seconds`` at most."""

    @property
    def is_busy(self) -> bool:
        """Whether it has a task."""
        return len(self.running) > 0

    def close(self) -> None:
        """Ends all workers; those of a cluster end when the driver leaves it."""
        return


def result_of(work: Callable[[], Any]) -> Any:
    """What ``work`` returns, or the HashbenchError that it raises, as a type that can be pickled."""
    try:
        return work()
    except HashbenchError as error:
        if isinstance(error, NodeError):
            return error
        return HashbenchError(str(error))
