"""A worker returns what its work returns, says how it died, and takes all that it started with it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.waiting import lives, until

from hashbench.grid.worker import Died, Worker


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker(1, {"CUDA_VISIBLE_DEVICES": "3"})
    yield started
    started.kill()


def done(worker: Worker, work: Callable[[], Any], folder: Path) -> Any:
    worker.give(work, folder / "runs" / "a" / "output.txt")
    return worker.result()


def test_a_worker_does_one_piece_of_work_after_another_in_its_own_environment(worker: Worker, tmp_path: Path) -> None:
    assert done(worker, partial(os.getenv, "CUDA_VISIBLE_DEVICES"), tmp_path) == "3"
    assert done(worker, partial(print, "one"), tmp_path) is None
    command = [sys.executable, "-c", "print('two')"]
    assert done(worker, partial(subprocess.call, command), tmp_path) == 0
    assert done(worker, partial(os.getpgid, 0), tmp_path) != os.getpgid(0)
    assert (tmp_path / "runs" / "a" / "output.txt").read_text().splitlines() == ["one", "two"]


@pytest.mark.parametrize(
    ("work", "text"),
    [
        (partial(int, "x"), "ValueError: invalid literal for int() with base 10: 'x'"),
        (partial(os._exit, 3), "the worker ended with exit code 3"),
        (partial(sys.exit, 4), "the worker ended with exit code 4"),
        (os.abort, "the worker was ended by SIGABRT"),
    ],
)
def test_how_a_worker_died_is_one_line(worker: Worker, tmp_path: Path, work: Callable[[], Any], text: str) -> None:
    with pytest.raises(Died) as death:
        done(worker, work, tmp_path)
    assert str(death.value) == text


def test_an_error_is_told_whole_where_the_work_printed(worker: Worker, tmp_path: Path) -> None:
    with pytest.raises(Died):
        done(worker, partial(int, "x"), tmp_path)
    assert "Traceback" in (tmp_path / "runs" / "a" / "output.txt").read_text()


def test_an_output_that_cannot_be_written_is_one_line(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")
    with pytest.raises(Died) as death:
        done(worker, partial(print, "one"), tmp_path)
    assert "\n" not in str(death.value) and str(tmp_path / "runs") in str(death.value)


def test_what_a_worker_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = f"import os, pathlib, time; pathlib.Path({str(file)!r}).write_text(str(os.getpid())); time.sleep(600)"
    worker = Worker(1, {})
    worker.give(partial(subprocess.call, [sys.executable, "-c", code]), tmp_path / "output.txt")
    assert until(lambda: file.exists() and file.read_text())
    child, started = int(file.read_text()), time.monotonic()
    assert lives(child)
    worker.kill()
    assert until(lambda: not lives(child))
    assert time.monotonic() - started < 60
