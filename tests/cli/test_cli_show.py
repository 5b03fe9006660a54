"""``hashbench show``: all about one entry, as text that fits 80 columns and as JSON."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import CommandLine
from support.fake_rows import row_of_run
from support.on_digits import on_digits

from hashbench.running.runs.row import Row, Seconds
from hashbench.running.runs.settings import method_file
from hashbench.running.runs.store import Store
from hashbench.showing.tables.needs import device_of


def store_run(method: str = "lsh", seed: int = 0, changes: dict[str, Any] | None = None, **settings: Any) -> Row:
    """Stores a row of a run on the digits."""
    run = on_digits(method, {"bits": 12, **settings}, seed=seed)
    row = row_of_run(run, ap=0.75).model_copy(update=changes or {})
    Store.default().write(row)
    return row


def test_a_method_shows_its_settings_with_value_source_and_note(hashbench: CommandLine) -> None:
    lines = hashbench.done("show talr-ap").lines
    assert lines[0] == "talr_ap (deep method): TALR-AP: gradient ascent on the relaxed tie-aware AP"
    assert {
        "paper        He et al. (2018): Hashing as Tie-Aware Learning to Rank",
        "needs        the extra train (PyTorch)",
        "  relaxation         tanh        paper",
        "  clip_norm          0.0         default",
        "  recipe small_cnn             tanh_scale 1.0, n_bins 12, delta 2.0, bin_rule",
        "$ hashbench train talr_ap DATASET --protocol PROTOCOL --bits BITS",
    } <= set(lines)


def test_the_settings_of_every_method_are_those_of_its_file(hashbench: CommandLine) -> None:
    method = hashbench.json("show sparse_hash")["method"]
    assert method["group"] == "sparse"
    assert method["base"] == "exhaustive_search"
    assert method["needs_torch"] is True
    for key, parameter in method_file("sparse_hash").parameters.items():
        assert method["settings"][key] == parameter.model_dump(exclude_none=True)
    settings = hashbench.json("show dpsh")["method"]["settings"]
    assert {key for key, setting in settings.items() if setting["source"] == "required"} == {"bits", "model"}
    assert settings["features"] == {"value": "pixels", "source": "default", "note": ""}


def test_a_data_set_shows_its_protocols_and_whether_it_is_here(hashbench: CommandLine) -> None:
    lines = hashbench.done("show cifar10").lines
    assert {"items     60,000 images of 32 x 32 x 3", "here      missing", "$ hashbench download cifar10"} <= set(lines)
    assert any(line.endswith("(1,000 queries, 59,000 database, 5,000 train); He et") for line in lines)
    (dataset,) = hashbench.json("show dataset/digits").values()
    assert dataset["state"] == "embedded"
    assert dataset["protocols"]["s1"]["n_database"] == 1297


def test_a_name_of_two_kinds_shows_both(hashbench: CommandLine) -> None:
    out = hashbench.done("show digits").out
    assert out.index("digits (data set): ") < out.index("\n\ndigits (table): ")
    assert list(hashbench.json("show digits")) == ["dataset", "table"]


def test_a_table_shows_what_is_measured_of_it(hashbench: CommandLine) -> None:
    store_run()
    assert {
        "paper  hashbench, quickstart; 1 note (--json)",
        "cells  64: 2 measured, 0 have a published value",
        "runs   32: 1 done, 0 failed, 31 missing; hours unknown",
        "here   digits",
        "$ hashbench run digits",
    } <= set(hashbench.done("show table/digits").lines)


def test_a_table_shows_what_it_needs(hashbench: CommandLine) -> None:
    for table in ("talr_table2", "talr_table3", "talr_table1"):
        answer = hashbench.done(f"show {table}")
        assert len(answer.lines) <= 14
    for fact in (
        "paper He et al. (2018), Table 1; 6 notes (--json)",
        "cells 96: 0 measured, 96 have a published value",
        "runs 80: 0 done, 0 failed, 80 missing; hours unknown",
        "to get cifar10 184.3 MB: hashbench download cifar10; nuswide21 29.5 GB, by hand: hashbench show nuswide21; ",
        "disk 33.9 GB+ for the inputs, hashers of unknown size",
        "$ hashbench speed dpsh cifar10 --protocol s1 --bits 12 --model vggf",
    ):
        assert fact in answer.text


def test_hours_are_those_of_each_device_by_its_rows(hashbench: CommandLine) -> None:
    took = {"seconds": Seconds(train=1800.0, encode=900.0, score=900.0)}
    cpu = store_run(changes=took)
    gpu = {"hardware": {**cpu.hardware, "gpu": "NVIDIA H200"}, "hasher_bytes": 10, "peak_memory": 1000}
    store_run(bits=24, changes={**took, **gpu})
    needs = hashbench.json("show table/digits")["table"]["needs"]
    n = 4  # runs of lsh, one of each size: a row tells of all of them
    hours = {device["device"]: (device["hours"], device["runs"]) for device in needs["hours"]}
    assert hours == {device_of(cpu): (float(n), n), "NVIDIA H200": (float(n), n)}
    assert needs["runs_of_unknown_duration"] == 32 - n
    assert needs["hasher_bytes"] == 10 * n
    assert needs["runs_of_known_size"] == n
    assert needs["peak_memory"] == 1000


def test_a_run_shows_scores_machine_configuration_and_commands(hashbench: CommandLine) -> None:
    name = store_run("talr_ap", model="mlp", delta=7.0, seed=3).run
    lines = hashbench.done(f"show {name[:-3]}").lines  # the start of the name is enough
    assert lines[0] == f"{name} (run): talr_ap on digits s1"
    assert {"  ap  0.7500 over 10 queries", "kept      no codes and no hasher"} <= set(lines)
    assert lines[-4:] == [
        "$ hashbench train talr_ap digits --protocol s1 --bits 12 --seed 3 --set delta=7.0 --again",
        f"$ hashbench encode {name} --out codes.npz",
        f"$ hashbench search {name}",
        "$ hashbench eval codes.npz",
    ]


def change_name(change: stored_rows.Change) -> str:
    """Changes the configuration of the only row, and the names that follow from it; returns the name of the run."""

    def renamed(row: dict[str, Any]) -> None:
        change(row)
        stored_rows.named_again(row)

    folder = Store.default().folder
    stored_rows.edit(folder, renamed)
    (name,) = stored_rows.names(folder)
    return name


def test_a_run_that_no_command_makes_any_more_says_why(hashbench: CommandLine) -> None:
    store_run()

    def of_old_data(row: dict[str, Any]) -> None:
        row["config"]["data"]["content_sha256"] = row["data_sha256"] = "1" * 64

    text = hashbench.done(f"show {change_name(of_old_data)}").text
    assert "its data or its split have changed since: it cannot be trained again" in text
    assert "$ hashbench train" not in text and "$ hashbench encode" in text


def test_the_commands_work_when_they_are_pasted(
    hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under --root and --data each command names them, of a run, a table and a data set that is not here."""
    name = store_run().run
    for option in ("HASHBENCH_ROOT", "HASHBENCH_DATA"):
        monkeypatch.delenv(option)
    root = tmp_path / "my root"
    (root / "datasets").mkdir(parents=True)
    shared = shlex.join(["--root", str(root), "--data", str(tmp_path / "d")])
    for entry in (name, "talr_table1", "cifar10", "lsh"):
        commands = [line for line in hashbench.done(shared, f"show {entry}").lines if line.startswith("$ ")]
        assert commands and all(line.startswith(f"$ hashbench {shared} ") for line in commands)
    (step, *_) = hashbench.json(shared, "show cifar10")["dataset"]["steps"]
    assert step.startswith(f"hashbench {shared} download cifar10")
    (command, *_) = hashbench.json(shared, f"show {name}")["run"]["commands"]
    assert command.startswith(f"hashbench {shared} train lsh digits ")


def test_it_fits_80_columns_but_for_addresses_and_commands(hashbench: CommandLine) -> None:
    for name in ("talr_ap", "ksh", "sparse_hash", "cifar10", "talr_table1", "ap", "alexnet", "gist"):
        long = [line for line in hashbench.done(f"show {name}").lines if len(line) > 80]
        assert all(line.startswith("$ ") or "://" in line or "/data/weights/" in line for line in long), long
