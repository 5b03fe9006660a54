"""Tasks are done once each, whatever happens to the workers; what cannot be done is told, and names the task."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.dying import dies_once, sleeps
from support.one_line import one_line
from support.waiting import lives, until

from hashbench.foundation.errors import HashbenchError
from hashbench.running.jobs import follow as following
from hashbench.running.jobs import ray
from hashbench.running.jobs.follow import all_done, follow
from hashbench.running.jobs.local import LocalPool, local_pool
from hashbench.running.jobs.ray import RayPool
from hashbench.running.jobs.task import Call, Died, Postponed, Stopped, Task, TookTooLong
from hashbench.scoring.codes.files import arrays_in

SIGKILLED = "the worker was ended by SIGKILL: out of memory?"


def named(names: Sequence[str], works: Sequence[Callable[[], Any]]) -> list[Call]:
    return [Call(work, name) for name, work in zip(names, works, strict=True)]


def processes(folder: Path) -> list[int]:
    """Those that have left a file."""
    return [int(path.name) for path in folder.iterdir()]


def test_each_task_is_done_once() -> None:
    tasks = [Call(partial(divmod, number, 3)) for number in range(5)]
    for jobs in (1, 2):
        assert sorted(follow(tasks, local_pool(jobs))) == [(number, divmod(number, 3)) for number in range(5)]
    assert list(follow([], local_pool(2))) == []


def test_a_task_whose_worker_is_killed_is_done_again_by_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = named(["db-1.h5", "db-2.h5"], [partial(dies_once, tmp_path / "mark"), partial(str, 5)])
    assert sorted(all_done(tasks, local_pool(2))) == [(0, "done"), (1, "5")]
    assert capsys.readouterr().err == f"note: db-1.h5: {SIGKILLED}: it is tried again\n"


def test_an_error_for_the_user_is_a_result_and_is_not_tried_again() -> None:
    tasks = [Call(partial(arrays_in, Path("nothing"))), Call(partial(int, 7))]
    for jobs in (1, 2):
        ends = dict(follow(tasks, local_pool(jobs)))
        assert isinstance(ends[0], HashbenchError) and str(ends[0]).startswith("nothing: no such file")
        assert ends[1] == 7
        with one_line(r"^nothing: no such file"):
            list(all_done(tasks, local_pool(jobs)))


def test_an_interrupt_leaves_no_worker(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = partial(os.kill, os.getpid(), signal.SIGINT)
    both = threading.Thread(target=lambda: until(lambda: len(processes(tmp_path)) == 2) and interrupt())
    both.start()
    tasks = [Call(partial(sleeps, tmp_path))] * 2
    try:
        with pytest.raises(KeyboardInterrupt), closing(follow(tasks, local_pool(2))) as ends:
            next(ends)
    finally:
        both.join()
        signal.signal(signal.SIGINT, before)
    assert len(processes(tmp_path)) == 2
    assert not [process for process in processes(tmp_path) if lives(process)]


def test_a_task_that_takes_too_long_is_ended_and_not_tried_again(tmp_path: Path) -> None:
    tasks = named(["slow", "fast"], [partial(sleeps, tmp_path), partial(str, 1)])
    ends = dict(follow(tasks, LocalPool([{}, {}], timeout_s=6.0)))
    assert isinstance(ends[0], TookTooLong) and str(ends[0]) == "it took longer than 0.1 minutes (--timeout)"
    assert ends[1] == "1" and len(processes(tmp_path)) == 1
    assert not [process for process in processes(tmp_path) if lives(process)]


@dataclass
class _Scripted:
    """A pool with one place, whose tasks end as their script says, one call after another."""

    given: list[int] = field(default_factory=list)
    now: tuple[int, Any] | None = None
    closed: int = 0

    @property
    def has_room(self) -> bool:
        return self.now is None

    @property
    def is_busy(self) -> bool:
        return self.now is not None

    def give(self, at: int, task: Task) -> None:
        self.given.append(at)
        self.now = at, task.run()

    def ended(self, seconds: float | None = None) -> list[tuple[int, Any]]:
        assert self.now is not None
        ends, self.now = self.now, None
        return [ends]

    def close(self) -> None:
        self.closed += 1


def scripted(*ends: Any) -> Call:
    return Call(partial(next, iter(ends)), "a")


@pytest.mark.parametrize("timeout_s", [None, 600.0], ids=["in this process", "in a worker"])
def test_after_a_task_that_stopped_no_other_is_begun(timeout_s: float | None) -> None:
    tasks = [Call(Stopped), *(Call(partial(int, number)) for number in range(1, 5))]
    assert dict(follow(tasks, local_pool(1, timeout_s))) == {0: Stopped()}


def test_a_task_that_has_failed_for_good_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    """By a task that tells of it; where that fails too, nothing takes its place."""
    pool = _Scripted()
    notes_seen = list[str]()

    def instead(task: Task, died: Died) -> Task | None:
        notes_seen.append(str(died))
        return scripted("recorded") if task.name == "a" and len(notes_seen) < 3 else None

    tasks = [scripted(Died("x"), Died("y")), scripted(TookTooLong("z")), scripted(Died("u"), Died("v"))]
    ends = list(follow(tasks, pool, instead=instead))
    assert [(at, str(result)) for at, result in ends] == [(0, "recorded"), (1, "recorded"), (2, "v, 2 times")]
    assert notes_seen == ["y, 2 times", "z", "v, 2 times"] and pool.closed == 1
    assert capsys.readouterr().err == "note: a: x: it is tried again\nnote: a: u: it is tried again\n"


def test_what_is_not_ready_waits_and_the_others_do_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also a task that a worker finds in other hands; one that can never be ready fails."""
    pool = _Scripted()
    free = set("bd")
    refused = "its base failed"

    def ready(task: Task) -> bool:
        if task.name == "c":
            raise HashbenchError(refused)
        return task.name in free

    monkeypatch.setattr(following.time, "sleep", lambda _: free.update("a"))
    tasks = [scripted("A"), scripted("B"), scripted("C"), scripted(Postponed(), "D")]
    tasks = [Call(task.work, name) for task, name in zip(tasks, "abcd", strict=True)]
    ends = [(at, str(result)) for at, result in follow(tasks, pool, ready=ready)]
    assert ends == [(2, refused), (1, "B"), (3, "D"), (0, "A")]
    assert capsys.readouterr().err == "note: 1 of 4 wait for other processes, which do them now\n"


class RayError(Exception):
    """As Ray's own."""


class _Ray:
    """A cluster whose tasks end one after another, with what ``ends`` has for each call."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, ends: list[object]) -> None:
        self.ends, self.given = ends, 0

    def remote(self, *given: object, **options: object) -> Any:
        if options:
            return lambda _: SimpleNamespace(remote=self.remote)
        self.given += 1
        return self.given - 1

    def wait(self, references: list[int], num_returns: int, timeout: float | None) -> tuple[list[int], list[int]]:
        return references[:1], references[1:]

    def get(self, reference: int) -> object:
        end = self.ends[reference]
        if isinstance(end, RayError):
            raise end
        return end

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}


@pytest.fixture
def on_cluster(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[object], list[str]], list[tuple[int, object]]]:
    """The results of tasks on a cluster; each call of a task ends as the first argument says."""
    monkeypatch.setattr(ray, "_files_of_driver", lambda _: None)
    return lambda ends, names: list(all_done(named(names, [len] * len(names)), RayPool(ray.Cluster(_Ray(ends)))))


OnCluster = Callable[[list[object], list[str]], list[tuple[int, object]]]


def test_a_task_whose_node_dies_is_done_again(on_cluster: OnCluster, capsys: pytest.CaptureFixture[str]) -> None:
    dead = RayError("The node died.\n The node IP address is 10.0.0.1")
    assert on_cluster(["a", dead, "c", "b"], ["db-1", "db-2", "db-3"]) == [(0, "a"), (2, "c"), (1, "b")]
    assert capsys.readouterr().err == "note: db-2: The node died.: it is tried again\n"


def test_an_address_where_something_else_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(ray, "ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, one_line() as error, ExitStack() as stack:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        stack.enter_context(ray.connected(address))
    assert str(error.value) == f"--ray {address}: no cluster there: no answer within 0.2 s"
