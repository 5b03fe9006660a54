"""Tasks are done once each, whatever happens to the workers; what cannot be done is one line that names the task."""

import os
import signal
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from support.dying import dies_once, sleeps
from support.waiting import lives, until

from hashbench.errors import HashbenchError
from hashbench.shards import shards_of
from hashbench.shards._workers import done


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
