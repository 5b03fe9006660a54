"""Bars on a terminal only; plain lines elsewhere; nothing with --quiet."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.terminal import Terminal

from hashbench.foundation import progress

PACKAGE = Path(progress.__file__).parents[1]


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    with closing(Terminal()) as opened:
        yield opened


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DELAY_S", "REDRAW_S", "LINE_EVERY_S"):
        monkeypatch.setattr(progress, name, 0.01)


def work(units: int = 3) -> None:
    with progress.bar("features", "image", 1000, done=200) as bar:
        for _ in range(units):
            time.sleep(0.05)
            bar.update(100)


def test_on_a_terminal_a_bar_appears_before_the_first_unit_and_is_wiped_out(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.side)
    with progress.bar("features", "image", 1000):
        assert "features:   0%" in terminal.until(" 0/1000 ")
    assert terminal.until(r"\r +\r$")  # nothing is left of it


def test_what_ends_before_the_delay_shows_no_bar(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.side)
    monkeypatch.setattr(progress, "DELAY_S", 1000.0)
    work()
    assert terminal.shown().strip() == ""


def test_in_a_pipe_there_are_plain_lines(capfd: pytest.CaptureFixture[str], at_once: None) -> None:
    work()
    err = capfd.readouterr().err
    assert "\r" not in err and "\x1b" not in err
    lines = err.splitlines()
    assert lines and all(
        re.fullmatch(r"features: image [345]00 of 1000, 00:\d\d passed, 00:\d\d left", line) for line in lines
    )


def test_in_a_pipe_less_than_a_minute_shows_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    work()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("on_terminal", [True, False])
def test_quiet_shows_neither_bars_nor_notes(
    terminal: Terminal,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    at_once: None,
    on_terminal: bool,
) -> None:
    if on_terminal:
        monkeypatch.setattr(sys, "stderr", terminal.side)
    monkeypatch.setenv("HASHBENCH_QUIET", "1")
    work()
    progress.note("waiting")
    assert terminal.shown() == ""
    assert capfd.readouterr().err == ""


def test_bytes_have_a_unit_and_what_has_no_total_no_time_left(capfd: pytest.CaptureFixture[str], at_once: None) -> None:
    for unit, total in (("B", 2_000_000), ("row", None)):
        with progress.bar("read", unit, total, scaled=unit == "B") as bar:
            time.sleep(0.15)  # tqdm looks at the clock ten times a second
            bar.update(500_000)
    of_bytes, of_rows = capfd.readouterr().err.splitlines()
    assert of_bytes.startswith("read: B 500k of 2.00M, ")
    assert of_rows == "read: row 500000, 00:00 passed"


def test_progress_is_the_one_place_of_bars() -> None:
    others = [path for path in PACKAGE.rglob("*.py") if re.search(r"\btqdm\(|import trange", path.read_text())]
    assert [path.name for path in others if path.name != "progress.py"] == []
