"""What all commands share: -h, --quiet, the note on rows, and the names that a shell completes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.command_line import CommandLine
from support.python import python

from hashbench.cli import _terminal
from hashbench.cli._app import SHORT_HELP, app
from hashbench.running.runs.store import Store

CLI: Any = typer.main.get_command(app)


def commands(group: Any = CLI, words: str = "") -> Iterator[str]:
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{words} {name}")


def test_the_help_of_every_command_fits_80_columns_and_has_a_short_option(
    hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for words in commands():
        answer = hashbench.done(words, "--help")
        assert hashbench(words, "-h") == answer
        assert "-h, --help" in answer.out and max(map(len, answer.lines)) <= 80, words
        assert f"Usage: hashbench{words}" in answer.out
    overview = hashbench.done("--help").out.partition("Commands:")[2]
    assert all(f"\n  {name} " in overview for name in SHORT_HELP) and "..." not in overview


def test_quiet_is_in_the_environment_of_workers(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_QUIET", "")
    hashbench.done("--quiet list models")
    assert os.environ["HASHBENCH_QUIET"] == "1"


READING = (
    "list",
    "list runs",
    "status digits",
    "table digits --format csv",
    "report digits",
    "show digits",
    "show digits-s1-lsh",
)


@pytest.mark.parametrize("command", READING)
def test_a_command_says_which_rows_it_reads_where_nothing_else_does(
    command: str, hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, on stderr; not where --results, a clone or the root that one stands in says it, nor with --quiet."""
    for option in ("HASHBENCH_ROOT", "HASHBENCH_RESULTS", "HASHBENCH_QUIET"):
        monkeypatch.setenv(option, "")  # put back at the end, for the options of a command set them
    monkeypatch.chdir(tmp_path)
    note = f"note: rows are read from {tmp_path / 'results'}; --results names another folder\n"

    def n_notes(options: str = "") -> int:
        _terminal._note_folder.cache_clear()  # as in a process of its own
        return hashbench(options, command).err.count(note)

    assert n_notes("--quiet") == 0
    monkeypatch.setenv("HASHBENCH_QUIET", "")
    assert n_notes() == 1
    assert n_notes("--results results") == 0
    monkeypatch.setenv("HASHBENCH_RESULTS", "")
    (tmp_path / "experiments" / "tables").mkdir(parents=True)
    assert n_notes() == 0


def test_in_the_clone_no_note_says_which_rows_are_read(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for option in ("HASHBENCH_ROOT", "HASHBENCH_RESULTS"):
        monkeypatch.delenv(option)
    monkeypatch.chdir(Path(__file__).parent)
    assert hashbench("list runs --only dataset=digits").err == ""


COMPLETED = {
    "train talr": ["talr_ap", "talr_ndcg"],
    "train talr-n": ["talr-ndcg"],
    "train lsh dig": ["digits"],
    "run digits talr_table": ["talr_table1", "talr_table2", "talr_table3"],
    "show digi": ["digits", "digits_all", "digits_curves", "digits_ties"],
    "status talr_app": ["talr_appendix_d"],
    "download usps": ["usps"],
    "encode a-": ["a-run"],
    "list me": ["methods", "metrics"],
}


def asked_by_bash(typed: str) -> dict[str, str]:
    """The environment in which bash asks for the names that begin so."""
    words = {"COMP_WORDS": f"hashbench {typed}", "COMP_CWORD": str(len(typed.split()))}
    return {**words, "_HASHBENCH_COMPLETE": "complete_bash"}


def test_a_shell_completes_names(monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine) -> None:
    path = Store.default().rows_path("a", "p")
    path.parent.mkdir(parents=True)
    path.write_text('{"run":"a-run","seed":0}\n')
    for typed, offered in COMPLETED.items():
        for key, value in asked_by_bash(typed).items():
            monkeypatch.setenv(key, value)
        answer = hashbench()
        assert (answer.out.split(), answer.err) == (offered, ""), typed


def in_a_process(*options: str, **environment: str) -> str:
    command = [sys.executable, "-m", "hashbench", *options]
    variables = {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_shell_completes_commands_by_a_process() -> None:
    assert in_a_process(**asked_by_bash("doc")).split() == ["doctor"]
    script = in_a_process("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "complete -o default -F _hashbench_completion hashbench" in script


def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom hashbench.cli.catalogue import complete\n"
        "assert complete('methods')('lsh') == ['lsh'] and complete('datasets', 'tables', 'runs')('dig')\n"
        "assert not {'numpy', 'pydantic', 'hashbench.learning.methods'} & set(sys.modules)"
    )
    python(code)
