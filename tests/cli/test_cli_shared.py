"""What all commands share: -h, --quiet, and the names that a shell completes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from support.command_line import CommandLine

from hashbench.cli._app import app, main
from hashbench.cli._terminal import _note_folder
from hashbench.cli.catalogue import complete
from hashbench.runs.store import Store

CLI: Any = typer.main.get_command(app)


def commands(group: Any = CLI, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield words
    for name, command in getattr(group, "commands", {}).items():
        yield from commands(command, (*words, name))


def test_the_help_of_every_command_fits_80_columns_and_has_a_short_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    bad = []
    for words in commands():
        for option in ("-h", "--help"):
            with pytest.raises(SystemExit) as exit_:
                main([*words, option])
            assert not exit_.value.code, words
        out = capsys.readouterr().out
        first, _, second = out.partition("Usage: ")[2].partition("Usage: ")
        if first != second or "-h, --help" not in first or max(map(len, out.splitlines())) > 80:
            bad.append(" ".join(words))
    assert bad == []


def test_the_help_of_eval_shows_what_people_use_before_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["eval", "--help"])
    first, _, groups = capsys.readouterr().out.partition("\nOptions:")[2].partition("\nHow files are read:")
    assert all(f"  --{name} " in first for name in ("metric", "ties", "exclude-self", "weights", "device"))
    assert all(f"  --{name} " in groups for name in ("array", "layout")) and "-h, --help" in first


def test_quiet_is_in_the_environment_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_QUIET", "")
    with pytest.raises(SystemExit):
        main(["--quiet", "list", "models"])
    assert os.environ["HASHBENCH_QUIET"] == "1"


READING = [
    ("list",),
    ("list", "runs"),
    ("status", "digits"),
    ("table", "digits", "--format", "csv"),
    ("report", "digits"),
    ("show", "digits"),
    ("show", "digits-s1-lsh"),
]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_command_says_which_rows_it_reads_where_nothing_else_does(
    command: tuple[str, ...], hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, on stderr; not where --results, a clone or the root that one stands in says it, nor with --quiet."""
    for option in ("HASHBENCH_ROOT", "HASHBENCH_RESULTS", "HASHBENCH_QUIET"):
        monkeypatch.setenv(option, "")  # put back at the end, for the options of a command set them
    monkeypatch.chdir(tmp_path)
    said = f"note: rows are read from {tmp_path / 'results'}; --results names another folder\n"
    _note_folder.cache_clear()
    assert said not in hashbench("--quiet", *command).err
    monkeypatch.setenv("HASHBENCH_QUIET", "")
    _note_folder.cache_clear()
    assert hashbench(*command).err.count(said) == 1
    _note_folder.cache_clear()
    assert said not in hashbench("--results results", *command).err
    monkeypatch.setenv("HASHBENCH_RESULTS", "")
    (tmp_path / "experiments" / "tables").mkdir(parents=True)
    assert said not in hashbench(*command).err


def test_in_the_clone_no_note_says_which_rows_are_read(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    for option in ("HASHBENCH_ROOT", "HASHBENCH_RESULTS"):
        monkeypatch.delenv(option)
    monkeypatch.chdir(Path(__file__).parent)
    assert hashbench("list runs --only dataset=digits").err == ""


COMPLETED = {
    ("train", "talr"): ["talr_ap", "talr_ndcg"],
    ("train", "talr-n"): ["talr-ndcg"],
    ("train", "lsh", "dig"): ["digits"],
    ("run", "digits", "talr_table"): ["talr_table1", "talr_table2", "talr_table3"],
    ("table", "talr_app"): ["talr_appendix_d"],
    ("show", "digi"): ["digits", "digits_all", "digits_curves", "digits_ties"],
    ("status", "talr_app"): ["talr_appendix_d"],
    ("download", "usps"): ["usps"],
    ("encode", "a-"): ["a-run"],
    ("list", "me"): ["methods", "metrics"],
}


def test_a_shell_completes_names(monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine) -> None:
    path = Store.default().rows_path("a", "p")
    path.parent.mkdir(parents=True)
    path.write_text('{"run":"a-run","seed":0}\n')
    for typed, offered in COMPLETED.items():
        for key, value in asked(*typed).items():
            monkeypatch.setenv(key, value)
        _, out, err = hashbench()
        assert (out.split(), err) == (offered, ""), typed


def asked(*typed: str) -> dict[str, str]:
    """What bash asks for by the environment."""
    words = {"COMP_WORDS": " ".join(["hashbench", *typed]), "COMP_CWORD": str(len(typed))}
    return {**words, "_HASHBENCH_COMPLETE": "complete_bash"}


def test_a_shell_completes_commands_by_a_process() -> None:
    command = [sys.executable, "-m", "hashbench"]
    environment = {**os.environ, **asked("doc")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["doctor"], "")


def test_completion_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom hashbench.cli.catalogue import complete\n"
        "assert complete('methods')('lsh') == ['lsh'] and complete('datasets', 'tables', 'runs')('dig')\n"
        "assert not {'numpy', 'pydantic', 'hashbench.methods'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_wrong_root_is_not_said_while_one_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_ROOT", "/nowhere")
    assert complete("methods")("") == complete("tables", "figures")("") == []


def test_the_script_for_bash_is_shown() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hashbench", "--show-completion", "bash"],
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "complete -o default -F _hashbench_completion hashbench" in done.stdout
