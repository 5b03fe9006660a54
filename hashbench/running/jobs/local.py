"""Tasks done on this machine: by this process, or by worker processes, which may die without harm to it."""

import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from threading import RLock
from typing import Any

from tqdm import tqdm

from hashbench.foundation.errors import one_line
from hashbench.foundation.files import reported
from hashbench.foundation.parallel import end_with_parent, share_cores
from hashbench.running.jobs.task import Died, Pool, Task, TookTooLong, result_of

GRACE_S = 10.0  # what a worker that is ended has to end in
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
VISIBLE = "CUDA_VISIBLE_DEVICES"

Environment = Mapping[str, str]


def local_pool(jobs: int, timeout_s: float | None = None, environments: Sequence[Environment] | None = None) -> Pool:
    """This process for one task at a time without a limit, else ``jobs`` workers, with a variable each of their own."""
    if jobs == 1 and timeout_s is None:
        return _ThisProcess()
    return LocalPool(environments or [{}] * jobs, timeout_s)


class _ThisProcess(Pool):
    """Does one task after another in this process; an error that is not for the user ends it."""

    def __init__(self) -> None:
        self.running: list[tuple[int, Task]] = []

    @property
    def has_room(self) -> bool:
        return not self.running

    def give(self, at: int, task: Task) -> None:
        self.running.append((at, task))

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:  # noqa: ARG002
        at, task = self.running.pop()
        yield at, result_of(task.run)  # no error with its frames, which would hold what the task held


class LocalPool(Pool):
    """Workers, one for each of ``environments``, the variables that it has of its own; it starts with its first task.

    A task that takes longer than ``timeout_s`` ends it (None: no limit). A worker that dies is replaced.
    """

    def __init__(self, environments: Sequence[Environment], timeout_s: float | None = None) -> None:
        self._jobs = len(environments)
        self._timeout_s = timeout_s
        self._free: deque[tuple[Environment, Worker | None]] = deque((variables, None) for variables in environments)
        self.running: dict[Worker, tuple[Environment, int]] = {}

    @property
    def has_room(self) -> bool:
        """Whether a worker is free."""
        return bool(self._free)

    def give(self, at: int, task: Task) -> None:
        """Gives the task to a free worker."""
        environment, worker = self._free.popleft()
        worker = worker or Worker(self._jobs, environment)
        self.running[worker] = environment, at
        worker.give(task)

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first, ``seconds`` at most."""
        limits = [] if seconds is None else [seconds]
        if self._timeout_s is not None:
            began = min(worker.started for worker in self.running)
            limits.append(max(0.0, began + self._timeout_s - time.monotonic()))
        ready = wait([worker.pipe for worker in self.running], min(limits, default=None))
        for worker in list(self.running):
            if worker.pipe in ready:
                yield self._put_back(worker, worker.result())
            elif self._timeout_s is not None and time.monotonic() - worker.started >= self._timeout_s:
                limit = f"it took longer than {self._timeout_s / 60:g} minutes (--timeout)"
                yield self._put_back(worker, TookTooLong(limit))

    def close(self) -> None:
        """Ends all workers: those without work by themselves, the others at once."""
        for worker in self.running:
            worker.kill()
        for _, free in self._free:
            if free is not None:
                free.stop()

    def _put_back(self, worker: "Worker", result: Any) -> tuple[int, Any]:
        """The place of the worker's task, with the ``result``; the worker is free again."""
        environment, at = self.running.pop(worker)
        if isinstance(result, Died):
            worker.kill()
            self._free.append((environment, None))  # last: another place is the next one to try
        else:
            self._free.appendleft((environment, worker))
        return at, result


class Worker:
    """A process that leads its own group, so what it starts ends with it; it has its share of the cores of ``jobs``."""

    def __init__(self, jobs: int, environment: Environment) -> None:
        context = get_context("spawn")  # a fork of a process that has used threads or a GPU does not work
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, jobs, dict(environment)), daemon=False)
        with _no_interrupts():
            self._process.start()
        theirs.close()  # so that the pipe ends with the worker
        self.started = 0.0

    def give(self, task: Task) -> None:
        """Starts the task."""
        self.started = time.monotonic()
        with suppress(OSError):  # the worker is dead: ``result`` says so
            self.pipe.send(task)

    def result(self) -> Any:
        """What the task returned, or its HashbenchError, or Died; waits for it."""
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            self._process.join()
        code = self._process.exitcode
        if code is None or code >= 0:
            return Died(f"the worker ended with exit code {code}")
        name = signal.Signals(-code).name
        cause = ": out of memory?" if name == "SIGKILL" else ""
        return Died(f"the worker was ended by {name}{cause}")

    def stop(self) -> None:
        """Lets the worker end after its work; waits for it."""
        self.pipe.close()
        self._process.join()

    def kill(self) -> None:
        """Ends the worker and all that it started, at once."""
        assert self._process.pid is not None
        for number, seconds in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
            for send in (os.killpg, os.kill):  # it has no group yet at its very beginning
                with suppress(OSError):
                    send(self._process.pid, number)
            self._process.join(seconds)
        self.pipe.close()


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: a process that is half started would print a traceback.

    What starts inside has it blocked for good: it reaches this process, which ends its workers.
    """
    came = list[int]()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    # one that another thread is sent, and the alarm that repeats one
    before = {interrupt: signal.signal(interrupt, lambda number, _: came.append(number)) for interrupt in INTERRUPTS}
    try:
        yield
    finally:
        for interrupt, handler in before.items():
            signal.signal(interrupt, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in came[:1]:
            signal.raise_signal(number)


def _work(pipe: Connection, jobs: int, environment: Environment) -> None:
    """The life of a worker: it does the tasks that it is given, until the pipe ends."""
    os.setsid()
    end_with_parent()
    os.environ.update(environment)
    tqdm.set_lock(RLock())  # its own lock is a semaphore between processes, which a worker that is ended leaves behind
    share_cores(jobs)
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            result = result_of(partial(_write_to, task.output or Path(os.devnull))) or result_of(task.run)
        except Exception as error:
            traceback.print_exc()
            result = Died(f"{type(error).__name__}: {one_line(error)}")
        pipe.send(result)


def _write_to(output: Path) -> None:
    """From now on everything that this process and its children print is added to the file."""
    with reported(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        stream.flush()
        os.dup2(file, number)
    os.close(file)


def gpus_in_turn(jobs: int, device: str) -> list[dict[str, str]]:
    """The environment of each of ``jobs`` workers: the GPU that it sees; empty without a choice."""
    gpus = []
    if device in ("auto", "cuda") and jobs > 1:
        gpus = visible_gpus()
    if not gpus:
        return [{} for _ in range(jobs)]
    return [{VISIBLE: gpus[job % len(gpus)]} for job in range(jobs)]


def visible_gpus() -> list[str]:
    """The names of the GPUs that this process may use, as CUDA_VISIBLE_DEVICES has them."""
    chosen = os.environ.get(VISIBLE)
    if chosen is not None:
        return [name.strip() for name in chosen.split(",") if name.strip() not in ("", "-1")]
    if find_spec("torch") is None:
        return []
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]
