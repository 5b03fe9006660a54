"""What is stored and damaged is one line on stderr, the rest is done, and the exit status is 1: in every command."""

import io
from pathlib import Path

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.on_digits import on_digits

import hashbench as library
from hashbench.cli._output import ErrorOutput, Output
from hashbench.foundation.errors import CheckFailed
from hashbench.running.runs.store import Store

COMMANDS = (
    "list runs",
    "status",
    "status digits",
    "show digits",
    "table digits",
    "leaderboard --verdicts",
)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A folder of the rows of LSH with two seeds."""
    for seed in (0, 1):
        Store.default().write(row_of_run(on_digits("lsh", {"bits": 12}, seed=seed), ap=0.75))
    return tmp_path / "results"


def test_a_damaged_row_fills_no_cell(results: Path, hashbench: CommandLine) -> None:
    """Of what damages a row, tests/runs/test_damaged_rows.py has all."""
    place = stored_rows.damage(results, stored_rows.names(results)[0])
    code, out, err = hashbench("status digits")
    assert code == 1
    assert err.count("\n") == 2
    assert err.startswith(f"left out: {place}: ")
    assert ": 0 done, " in out
    with pytest.raises(CheckFailed, match=rf"^{place}: "):
        library.rows(results)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_names_a_damaged_row_does_the_rest_and_ends_with_1(
    results: Path, hashbench: CommandLine, command: str
) -> None:
    place = stored_rows.damage(results, stored_rows.names(results)[0])
    code, out, err = hashbench(command)
    assert code == 1 and out
    assert err.count("error: ") == 1
    assert place in err


@pytest.mark.parametrize("kind, kept", [(Output, ""), (ErrorOutput, "\r\x1b[A")])
def test_no_text_controls_the_terminal_but_our_own_bars(kind: type[Output], kept: str) -> None:
    written = io.BytesIO()
    stream = kind(written, "utf-8")
    stream.write("a\x1b[2J\x07\x08\x7f\x9b\u202eb\n\t\x1b[32m#" + kept)
    stream.flush()
    shown = r"a\u001b[2J\u0007\u0008\u007f\u009b\u202eb"
    assert written.getvalue().decode() == f"{shown}\n\t\\u001b[32m#{kept}"
