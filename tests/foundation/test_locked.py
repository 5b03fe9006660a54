"""The one lock: a second process is refused or waits, and what a killed one held is free."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.one_line import one_line

from hashbench.foundation.files import locked

HOLD = """
import sys
from pathlib import Path
from hashbench.foundation.files import locked
with locked(Path(sys.argv[1]), wait=sys.argv[2] == "wait", busy="it is busy"):
    print("held", flush=True)
    sys.stdin.read()
"""
Holder = subprocess.Popen[str]


@pytest.fixture
def hold(tmp_path: Path) -> Iterator[Callable[[str], Holder]]:
    """Starts a process that holds the lock until its stdin ends."""
    started: list[Holder] = []

    def start(mode: str) -> Holder:
        command = [sys.executable, "-c", HOLD, str(tmp_path / "made" / "lock"), mode]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, text=True, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def line_from(process: Holder) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_who_does_not_wait_is_refused_in_the_callers_words(tmp_path: Path, hold: Callable[[str], Holder]) -> None:
    assert line_from(hold("refuse")) == "held\n"
    with (
        one_line(r"^another works here$"),
        locked(tmp_path / "made" / "lock", wait=False, busy="another works here"),
    ):
        pytest.fail("two hold it")


def test_who_waits_says_so_once_and_comes_next(hold: Callable[[str], Holder]) -> None:
    first = hold("wait")
    assert line_from(first) == "held\n"
    second = hold("wait")
    assert second.stderr is not None
    assert second.stderr.readline() == "it is busy\n"
    assert first.communicate() == ("", "")  # it ends
    assert line_from(second) == "held\n"
    assert second.communicate() == ("", "")


def test_a_killed_process_holds_nothing_up(tmp_path: Path, hold: Callable[[str], Holder]) -> None:
    first = hold("refuse")
    assert line_from(first) == "held\n"
    first.kill()
    first.wait()
    with locked(tmp_path / "made" / "lock", wait=False, busy="still held"):
        pass


def test_what_cannot_be_locked_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with (
        one_line(
            r"lock: cannot be locked \(.*\): make its folder writable, or name a copy with --data$",
        ),
        locked(tmp_path / "lock", wait=True, instead="--data"),
    ):
        pytest.fail("a folder was locked")
