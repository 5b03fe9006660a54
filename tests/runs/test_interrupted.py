"""Runs that were interrupted: which folders they are, how far they came, and the command that continues each."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.command_line import CommandLine
from support.on_digits import on_digits

from hashbench.learning.training import checkpoint
from hashbench.running.runs.interrupted import interrupted
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

DEEP: dict[str, Any] = {"bits": 12, "lr": 0.5, "epochs": 50}


def cut_off(run: Run, epochs: int | None = None) -> Path:
    """The folder that an interrupted run leaves, with a checkpoint after so many epochs."""
    folder = Store.default().run_folder(str(run.name))
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({**run.name.config, "seed": run.name.seed}))
    if epochs is not None:
        checkpoint.save(folder, "", epochs, {})
        (folder / "metrics.jsonl").write_text('{"epoch": 0}\n' * (epochs + 1))  # an epoch more than is saved
    return folder


@pytest.mark.parametrize(
    "settings, more, epochs, share",
    [
        (DEEP, {}, 13, 0.26),
        (DEEP, {"seed": 2, "split_seed": 3}, None, 0.0),
        ({"bits": 16}, {}, 1, None),
        ({"bits": 12, "tanh_scale": 3.0, "model": "linear"}, {"budget": "full"}, None, 0.0),
    ],
)
def test_the_command_names_the_run_again(
    settings: dict[str, Any],
    more: dict[str, Any],
    epochs: int | None,
    share: float | None,
    hashbench: CommandLine,
) -> None:
    run = on_digits("talr_ap", settings, **more)
    cut_off(run, epochs)
    (result,) = interrupted(Store.default(), ["hashbench", "--root", "my root"])
    assert result.run == str(run.name)
    assert result.dataset == "digits"
    assert result.method == "talr_ap"
    assert result.share == (share if share is not None else pytest.approx(epochs / run.settings.epochs))
    first, *words = shlex.split(result.command)
    assert first == "hashbench"
    assert words[:2] == ["--root", "my root"]
    assert hashbench.json(*words[2:], "--dry-run")["run"] == result.run


def test_what_cannot_be_continued_or_is_none_is_no_interrupted_run() -> None:
    store = Store.default()
    run = on_digits("talr_ap", DEEP)
    folder = cut_off(run)
    assert len(list(interrupted(store))) == 1
    with store.run_lock(folder.name, wait=False):
        assert not list(interrupted(store)), "it goes on"
    changed = json.loads((folder / "config.json").read_text())
    for values in ({**changed, "settings": {**changed["settings"], "gone": 1}}, {**changed, "data": {}}, {}, []):
        (folder / "config.json").write_text(json.dumps(values))
        assert bool(list(interrupted(store))) == (values == {**changed, "data": {}})
    (folder / "config.json").write_text("{")
    (store.run_folder("somebody") / "notes").mkdir(parents=True)
    assert not list(interrupted(store))


def test_lists_and_status_have_it(hashbench: CommandLine) -> None:
    of_table = on_digits("talr_ap", {"bits": 12})
    other = on_digits("itq", {"bits": 7})
    folder = cut_off(of_table, of_table.settings.model_dump()["epochs"] // 2)
    cut_off(other)
    line = "interrupted at 50%: hashbench train talr_ap digits --protocol s1 --bits 12 continues"
    not_of_it = "interrupted at 0%: hashbench train itq digits --protocol s1 --bits 7 continues"
    assert hashbench("list runs").lines == [not_of_it, line]
    assert hashbench("list runs --only method=talr-ap").lines == [line]
    assert hashbench("status").lines[-2:] == [not_of_it, line]
    assert hashbench("status digits").lines[-1] == line
    command = line.removeprefix("interrupted at 50%: ").removesuffix(" continues")
    values = {"run": folder.name, "dataset": "digits", "method": "talr_ap", "share": 0.5, "command": command}
    for asked in (("status", "digits"), ("list", "runs", "--only", "method=talr_ap")):
        assert hashbench.json(*asked)["interrupted"] == [values]
