"""Former options and commands, each refused with what to use or translated; a format that is said twice; CSV."""

import csv
import io
from pathlib import Path

import pytest
import typer
from support.command_line import CommandLine

from hashbench.cli._app import app
from hashbench.cli._moved import COMMANDS, OPTIONS


def options_of(command: str) -> set[str]:
    group = typer.main.get_command(app)
    for word in command.split():
        group = group.commands[word]  # type: ignore[attr-defined]
    return {option for param in group.params for option in param.opts}


@pytest.mark.parametrize("command", OPTIONS)
def test_former_options_are_no_options_and_what_is_said_in_their_place_is_one(command: str) -> None:
    today = options_of(command)
    assert not OPTIONS[command].keys() & today
    for new in OPTIONS[command].values():
        if new.startswith("--"):
            assert new.split()[0] in today
            assert all(word.startswith("--") or "{}" in word for word in new.split()), new


@pytest.mark.parametrize(
    "words, says",
    [
        ("train itq digits --compile", "--compile of hashbench train is gone: leave it out"),
        ("search x --method ivf", "--method of hashbench search is gone: all items are compared"),
        ("results diff a b", "hashbench results diff is gone: hashbench compare A B of runs"),
        ("eval-shards q.npz --shards db-*.npz --ray auto", "--ray of hashbench eval-shards is gone: the option --jobs"),
        ("eval x.npz --as hashnet-caffe", "hashnet-caffe of hashbench eval is gone: --as hashnet drops a query"),
        ("eval x.npz --array=train-codes=a.npz:t", "train-codes of hashbench eval is gone: score these codes as"),
        ("list methods --format csv --json", "--json cannot be combined with --format csv"),
    ],
)
def test_what_is_gone_is_one_line(words: str, says: str, hashbench: CommandLine) -> None:
    assert hashbench.refused(*words.split()).startswith(says)


def test_a_former_command_is_translated(hashbench: CommandLine) -> None:
    assert {"results add", "results diff"} <= COMMANDS.keys()
    assert hashbench("results add no.zip").err.startswith(
        "note: hashbench results add is now hashbench results merge\n"
    )


@pytest.mark.parametrize(
    "words, columns",
    [
        ("list runs", "name,dataset,protocol,method,seed,split_seed,budget,status,utc,maker,metric,mean"),
        ("show itq", "kind,part,name,value,note"),
        ("show digits", "kind,part,name,value,note"),
        ("split digits --check", "list,items,sha256"),
    ],
)
def test_csv_is_one_block_with_headings(
    words: str, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    monkeypatch.setenv("HASHBENCH_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("HASHBENCH_DATA", str(tmp_path / "data"))
    code, out, _ = hashbench(*words.split(), "--format csv")
    heading, *rows = csv.reader(io.StringIO(out))
    assert code == 0
    assert ",".join(heading) == columns
    assert all(len(row) == len(heading) for row in rows)
