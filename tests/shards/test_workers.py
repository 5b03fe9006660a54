"""Tasks are done once each, whatever happens to the workers; what cannot be done is one line that names the task."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import closing
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.dying import dies_once, sleeps
from support.waiting import lives, until

from hashbench.codes.files import Explicit
from hashbench.foundation.errors import HashbenchError
from hashbench.shards import Source, shards_of
from hashbench.shards._on_ray import Cluster, _Crew
from hashbench.shards._workers import done, followed


def processes(folder: Path) -> list[int]:
    """Those that have left a file."""
    return [int(path.name) for path in folder.iterdir()]


@pytest.mark.parametrize("jobs", [1, 2, 9])
def test_each_task_is_done_once(jobs: int) -> None:
    tasks = [partial(divmod, number, 3) for number in range(5)]
    found = list(done(tasks, list("abcde"), jobs))
    assert sorted(found) == [(number, divmod(number, 3)) for number in range(5)]


def test_no_task_is_no_result() -> None:
    assert list(done([], [], 2)) == []


def test_a_task_whose_worker_is_killed_is_done_again_by_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [partial(dies_once, tmp_path / "mark"), partial(str, 5)]
    assert sorted(done(tasks, ["db-1.h5", "db-2.h5"], 2)) == [(0, "done"), (1, "5")]
    why = "the worker was ended by SIGKILL: out of memory?"
    assert capsys.readouterr().err == f"note: db-1.h5: {why}: it is done again\n"


def test_a_task_that_kills_two_workers_ends_all_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(HashbenchError) as error:
        list(done([partial(sleeps, tmp_path), os.abort], ["db-1.h5", "db-2.h5"], 2))
    assert str(error.value) == "db-2.h5: the worker was ended by SIGABRT, 2 times"
    assert not [process for process in processes(tmp_path) if lives(process)]


def test_an_error_for_the_user_is_not_tried_again() -> None:
    with pytest.raises(HashbenchError) as error:
        list(done([partial(shards_of, "nothing-*.h5")], ["db-1.h5"], 2))
    assert str(error.value).startswith("--shards nothing-*.h5: no such file")


def test_an_interrupt_leaves_no_worker(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupt = partial(os.kill, os.getpid(), signal.SIGINT)
    both = threading.Thread(target=lambda: until(lambda: len(processes(tmp_path)) == 2) and interrupt())
    both.start()
    try:
        with pytest.raises(KeyboardInterrupt), closing(done([partial(sleeps, tmp_path)] * 2, ["a", "b"], 2)) as found:
            next(found)
    finally:
        both.join()
        signal.signal(signal.SIGINT, before)
    assert len(processes(tmp_path)) == 2
    assert not [process for process in processes(tmp_path) if lives(process)]


class RayError(Exception):
    """As Ray's own."""


class _Ray:
    """A cluster whose tasks end one after another, with what ``ends`` has for each call."""

    exceptions = SimpleNamespace(RayError=RayError)

    def __init__(self, ends: list[object]) -> None:
        self.ends, self.given = ends, 0

    def remote(self, task: str, files: object) -> int:
        self.given += 1
        return self.given - 1

    def wait(self, references: list[int], num_returns: int) -> tuple[list[int], list[int]]:
        return references[:1], references[1:]

    def get(self, reference: int) -> object:
        if isinstance(self.ends[reference], Exception):
            raise self.ends[reference]
        return self.ends[reference]

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}


def on_cluster(ends: list[object], names: list[str]) -> Generator[tuple[int, object]]:
    """As ``done``, by a cluster; each call of a task ends as ``ends`` says."""
    ray = _Ray(ends)
    crew = _Crew(Cluster(ray, None), ray)
    return followed(names, crew, lambda at: crew.give(at, names[at]))  # type: ignore[arg-type]


def test_a_task_whose_node_dies_is_done_again(capsys: pytest.CaptureFixture[str]) -> None:
    dead = RayError("The node died.\n The node IP address is 10.0.0.1")
    assert list(on_cluster(["a", dead, "c", "b"], ["db-1", "db-2", "db-3"])) == [(0, "a"), (2, "c"), (1, "b")]
    assert capsys.readouterr().err == "note: db-2: The node died.: it is done again\n"


def test_a_task_whose_node_dies_twice_ends_all_with_its_name() -> None:
    raised = RayError("a long traceback")
    raised.cause = OSError("no luck")  # type: ignore[attr-defined]
    with pytest.raises(HashbenchError) as error:
        list(on_cluster([raised, "b", raised], ["db-1", "db-2"]))
    assert str(error.value) == "db-1: OSError: no luck, 2 times"


def test_an_error_for_the_user_on_a_node_is_not_tried_again() -> None:
    with pytest.raises(HashbenchError, match=r"^db-1: wrong$"):
        list(on_cluster([HashbenchError("db-1: wrong")], ["db-1"]))


def test_a_cluster_without_a_gpu_is_one_line() -> None:
    with pytest.raises(HashbenchError) as error:
        Cluster(_Ray([]), None).done(Source((), Explicit(), device="cuda:1"), [], [])
    assert str(error.value) == "--device cuda:1: no node of the cluster has a GPU: leave --device out"
