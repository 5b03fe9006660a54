"""The targets of the Makefile that put commands together, with a program in place of hashbench that notes its calls."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.test_walk import steps

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with a ``hashbench`` that appends its arguments to ``calls`` and ends with the code in ``code-VERB``."""
    path = tmp_path / "bin" / "hashbench"
    path.parent.mkdir()
    path.write_text(
        f'#!/bin/sh\ncd {tmp_path} && echo "$@" >> calls\nif [ -e code-$1 ]; then exit $(cat code-$1); fi\n'
    )
    path.chmod(0o755)
    return path.parent


def make(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", "--silent", *arguments, f"BIN={program}", "READY="]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)


def calls(program: Path) -> list[str]:
    path = program.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_the_quickstart_ends_with_what_to_type_next(program: Path) -> None:
    done = make(program, "quickstart")
    assert calls(program) == ["run digits --seeds 1 --jobs 1", "table digits --write"]
    (codes,) = [step for step in steps(ROOT / "README.md") if step.command.startswith("hashbench encode ")]
    assert done.stdout.splitlines()[-1] == f"next: . {program}/activate && {codes.key} && hashbench eval codes.npz"
    (program.parent / "code-table").write_text("1")
    assert "next" not in make(program, "quickstart").stdout


def test_reproduce_trains_and_then_writes(program: Path) -> None:
    assert make(program, "reproduce", "TABLE=digits", "SEEDS=3", "JOBS=2").returncode == 0
    assert calls(program) == ["run digits --seeds 3 --jobs 2", "table digits --write"]


def test_reproduce_writes_what_there_is_where_runs_failed_and_then_fails(program: Path) -> None:
    (program.parent / "code-run").write_text("1")
    assert make(program, "reproduce", "TABLE=digits").returncode == 2  # make's own code for a target that failed
    assert calls(program) == ["run digits --seeds 1 --jobs 1", "table digits --write"]


@pytest.mark.parametrize("code", [2, 130])
def test_reproduce_ends_at_a_wrong_name_and_at_an_interrupt(program: Path, code: int) -> None:
    (program.parent / "code-run").write_text(f"{code}")
    assert make(program, "reproduce", "TABLE=digits").returncode == 2
    assert calls(program) == ["run digits --seeds 1 --jobs 1"]


def test_reproduce_without_a_table_is_one_line(program: Path) -> None:
    done = make(program, "reproduce")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        "make reproduce: TABLE=NAME is missing: hashbench list tables shows the names"
    )
    assert calls(program) == []


def test_paper_tables_are_written_until_that_succeeds_and_again_where_something_is_newer(program: Path) -> None:
    stamp = program.parent / "stamp"
    code = program.parent / "code-table"
    code.write_text("2")
    assert make(program, "paper-tables", f"PAPER_TABLES={stamp}").returncode != 0
    code.unlink()
    for _ in range(2):
        assert make(program, "paper-tables", f"PAPER_TABLES={stamp}").returncode == 0
    assert calls(program) == ["table --all --write"] * 2
    os.utime(stamp, (0, 0))
    assert make(program, "paper-tables", f"PAPER_TABLES={stamp}").returncode == 0
    assert len(calls(program)) == 3
