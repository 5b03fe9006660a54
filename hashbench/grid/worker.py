"""A process that executes one piece of work after another, and may die without harm to the process that started it."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import RLock
from typing import Any

from hashbench.foundation.errors import one_line
from hashbench.foundation.files import reported
from hashbench.foundation.parallel import end_with_parent, share_cores

GRACE_S = 10.0  # what a worker that is ended has to end in


class Died(Exception):  # noqa: N818  (what happened, as the reader of a row is told)
    """The worker ended, or its work raised an error that is not for the user; the text says how."""


@dataclass(frozen=True)
class _Crash:
    """The error that ended a piece of work, in one line."""

    text: str


class Worker:
    """A process of its own, and of its own group of processes: what it starts ends with it.

    ``environment`` are its variables beside those of this process, ``jobs`` the number of workers that share the cores.
    """

    def __init__(self, jobs: int, environment: Mapping[str, str]) -> None:
        context = get_context("spawn")  # a fork of a process that has used threads or a GPU does not work
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, jobs, dict(environment)), daemon=False)
        with _interrupts_blocked():  # inherited: Ctrl-C reaches this process, which ends its workers
            self._process.start()
        theirs.close()  # so that the pipe ends with the worker
        self.started = 0.0

    def give(self, work: Callable[[], Any], output: Path) -> None:
        """Starts ``work``, which must be picklable; what it prints is added to the file ``output``."""
        self.started = time.monotonic()
        with suppress(OSError):  # the worker is dead: ``result`` says so
            self.pipe.send((work, output))

    def result(self) -> Any:
        """What the work returned; waits for it. Raises Died if there will be no result."""
        try:
            found = self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise Died(_how_it_ended(self._process.exitcode)) from None
        if isinstance(found, _Crash):
            raise Died(found.text)
        return found

    def stop(self) -> None:
        """Lets the worker end after its work; waits for it."""
        self.pipe.close()
        self._process.join()

    def kill(self) -> None:
        """Ends the worker and all that it started, at once."""
        self._signal(signal.SIGTERM)
        self._process.join(GRACE_S)
        self._signal(signal.SIGKILL)
        self._process.join()
        self.pipe.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process.pid is not None
        for send in (os.killpg, os.kill):  # it has no group yet at its very beginning
            with suppress(OSError):
                send(self._process.pid, number)


def _work(pipe: Connection, jobs: int, environment: Mapping[str, str]) -> None:
    """What the process does: the work that it is given, until the pipe ends."""
    from tqdm import tqdm

    os.setsid()
    end_with_parent()
    os.environ.update(environment)
    tqdm.set_lock(RLock())  # its own lock is a semaphore between processes, which a worker that is ended leaves behind
    share_cores(jobs)
    while True:
        try:
            work, output = pipe.recv()
        except EOFError:
            return
        pipe.send(_done(work, output))


def _done(work: Callable[[], Any], output: Path) -> Any:
    try:
        _write_to(output)
        return work()
    except Exception as error:
        traceback.print_exc()
        return _Crash(f"{type(error).__name__}: {one_line(error)}")


def _write_to(output: Path) -> None:
    """From now on everything that this process and its children print is added to the file."""
    with reported(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    sys.stdout.flush()
    sys.stderr.flush()
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def _how_it_ended(code: int | None) -> str:
    if code is None or code >= 0:
        return f"the worker ended with exit code {code}"
    name = signal.Signals(-code).name
    return f"the worker was ended by {name}" + (": out of memory?" if name == "SIGKILL" else "")


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Holds an interrupt back until the block ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
