"""A worker returns what its work returns, says how it died, and takes all that it started with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from support.waiting import lives, until

from hashbench.cli import _interrupts
from hashbench.running.jobs import local
from hashbench.running.jobs.local import VISIBLE, Worker, gpus_in_turn
from hashbench.running.jobs.task import Call, Died


@pytest.fixture
def worker() -> Iterator[Worker]:
    started = Worker(1, {"CUDA_VISIBLE_DEVICES": "3"})
    yield started
    started.kill()


def done(worker: Worker, work: Callable[[], Any], folder: Path) -> Any:
    worker.give(Call(work, output=folder / "runs" / "a" / "output.txt"))
    return worker.result()


def test_a_worker_does_one_piece_of_work_after_another_in_its_own_environment(worker: Worker, tmp_path: Path) -> None:
    assert done(worker, partial(os.getenv, "CUDA_VISIBLE_DEVICES"), tmp_path) == "3"
    assert done(worker, partial(print, "one"), tmp_path) is None
    command = [sys.executable, "-c", "print('two')"]
    assert done(worker, partial(subprocess.call, command), tmp_path) == 0
    assert done(worker, partial(os.getpgid, 0), tmp_path) != os.getpgid(0)
    assert (tmp_path / "runs" / "a" / "output.txt").read_text().splitlines() == ["one", "two"]


def test_how_a_worker_died_is_one_line(tmp_path: Path) -> None:
    for work, text in [
        (partial(int, "x"), "ValueError: invalid literal for int() with base 10: 'x'"),
        (partial(os._exit, 3), "the worker ended with exit code 3"),
        (partial(sys.exit, 4), "the worker ended with exit code 4"),
        (os.abort, "the worker was ended by SIGABRT"),
    ]:
        worker = Worker(1, {})
        results = done(worker, work, tmp_path)
        worker.kill()
        assert isinstance(results, Died) and str(results) == text


def test_what_a_worker_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "child"
    code = f"import os, pathlib, time; pathlib.Path({str(file)!r}).write_text(str(os.getpid())); time.sleep(600)"
    worker = Worker(1, {})
    worker.give(Call(partial(subprocess.call, [sys.executable, "-c", code])))
    assert until(lambda: file.exists() and file.read_text())
    child = int(file.read_text())
    started = time.monotonic()
    assert lives(child)
    worker.kill()
    assert until(lambda: not lives(child))
    assert time.monotonic() - started < 60


def test_gpus_are_given_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISIBLE, "2, GPU-7f,5")
    for jobs, device, visible in [
        (2, "auto", ["2", "GPU-7f"]),
        (3, "cuda", ["2", "GPU-7f", "5"]),
        (5, "auto", ["2", "GPU-7f", "5", "2", "GPU-7f"]),  # more runs than GPUs: some share one
        (1, "auto", [None]),  # it may use all
        (2, "cpu", [None, None]),
        (2, "cuda:1", [None, None]),  # the user chose
    ]:
        assert [environment.get(VISIBLE) for environment in gpus_in_turn(jobs, device)] == visible


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_an_interrupt_waits_until_a_worker_has_started(number: signal.Signals) -> None:
    started = []
    with pytest.raises(KeyboardInterrupt), _interrupts.raise_interrupts():
        with local._no_interrupts():
            Thread(target=signal.raise_signal, args=(number,)).start()  # as threads of libraries are sent it
            os.kill(os.getpid(), number)
            time.sleep(0.1)
            started.append(True)
        time.sleep(10)
    assert started == [True]
