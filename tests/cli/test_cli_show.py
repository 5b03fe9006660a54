"""``hashbench show``: all about one entry, as text that fits 80 columns and as JSON; the nearest of all kinds."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from support import stored_rows
from support.command_line import status as run
from support.fake_rows import row_of_run

from hashbench.runs.row import Seconds
from hashbench.runs.run import Run
from hashbench.runs.settings import method_file
from hashbench.runs.store import Store
from hashbench.tables.needs import device_of

REPOSITORY = Path(__file__).resolve().parents[2]


def store_run(named: Run, **means: float) -> str:
    """Stores a row of the run and returns its name."""
    Store.default().write(row_of_run(named, **means))
    return str(named.name)


def test_a_method_shows_its_settings_with_value_source_and_note(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "talr-ap") == 0
    out = capsys.readouterr().out
    assert out.startswith("talr_ap (deep method): TALR-AP: gradient ascent on the relaxed tie-aware AP\n")
    for line in (
        "paper        He et al. (2018): Hashing as Tie-Aware Learning to Rank",
        "needs        the extra train (PyTorch)",
        "  relaxation         tanh        paper",
        "  clip_norm          0.0         default",
        "  recipe small_cnn             tanh_scale 1.0, n_bins 12, delta 2.0, bin_rule",
        "$ hashbench train talr_ap DATASET --protocol PROTOCOL --bits BITS",
    ):
        assert line in out.splitlines()


def test_the_settings_of_every_method_are_those_of_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "sparse_hash", "--json") == 0
    found = json.loads(capsys.readouterr().out)["method"]
    file = method_file("sparse_hash")
    assert (found["group"], found["base"], found["needs_torch"]) == ("sparse", "exhaustive_search", True)
    for key, parameter in file.parameters.items():
        assert found["settings"][key] == parameter.model_dump(exclude_none=True)
    assert run("show", "dpsh", "--json") == 0
    settings = json.loads(capsys.readouterr().out)["method"]["settings"]
    assert {key for key, each in settings.items() if each["source"] == "required"} == {"bits", "model"}
    assert settings["features"] == {"value": "pixels", "source": "default", "note": ""}


def test_a_data_set_shows_its_protocols_and_whether_it_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "cifar10") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "items     60,000 images of 32 x 32 x 3" in lines
    assert "here      missing" in lines and "  1.  hashbench download cifar10" in lines
    assert any(line.endswith("(1,000 queries, 59,000 database, 5,000 train); He et") for line in lines)
    assert "$ hashbench download cifar10" in lines
    assert run("show", "dataset/digits", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == ["dataset"] and found["dataset"]["state"] == "embedded"
    assert found["dataset"]["protocols"]["s1"]["n_database"] == 1297


def test_a_name_of_two_kinds_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "digits") == 0
    out = capsys.readouterr().out
    assert out.index("digits (data set): ") < out.index("\n\ndigits (table): ")
    assert run("show", "digits", "--json") == 0
    assert list(json.loads(capsys.readouterr().out)) == ["dataset", "table"]


def test_a_table_shows_what_is_measured_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    store_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}), ap=0.5)
    assert run("show", "table/digits") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "paper  hashbench, quickstart: 64 cells, 0 published, 1 note (--json)" in lines
    assert "runs   32: 1 done, 0 failed; hours unknown" in lines
    assert "needs  digits, here" in lines
    assert "$ hashbench run digits" in lines


def test_a_table_shows_in_twelve_lines_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    for table in ("talr_table2", "talr_table3", "talr_table1"):
        assert run("show", table) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 12
    text = " ".join(" ".join(lines).split())
    for fact in (
        "paper He et al. (2018), Table 1: 96 cells, 96 published, 6 notes (--json)",
        "runs 80: 0 done, 0 failed; hours unknown",
        "needs cifar10 184.3 MB; nuswide21 29.5 GB, by hand: hashbench show nuswide21; vggf, by hand: ",
        "hashbench show vggf; hashbench download cifar10",
        "disk 33.9 GB+ for the inputs, hashers of unknown size",
        "$ hashbench speed dpsh cifar10 --protocol s1 --bits 12 --model vggf",
    ):
        assert fact in text


def test_hours_are_those_of_each_device_by_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    stored = row_of_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}), ap=0.5)
    of_gpu = row_of_run(Run.resolve("digits", "s1", "lsh", {"bits": 24}), ap=0.5)
    changes = {"hardware": {**of_gpu.hardware, "gpu": "NVIDIA H200"}, "hasher_bytes": 10, "peak_memory": 1000}
    took = {"seconds": Seconds(train=1800.0, encode=900.0, score=900.0)}
    for row in (stored.model_copy(update=took), of_gpu.model_copy(update={**took, **changes})):
        Store.default().write(row)
    assert run("show", "table/digits", "--json") == 0
    needs = json.loads(capsys.readouterr().out)["table"]["needs"]
    n = 4  # runs of lsh, one of each size: a row tells of all of them
    assert {each["device"]: (each["hours"], each["runs"]) for each in needs["hours"]} == {
        device_of(stored): (float(n), n),
        "NVIDIA H200": (float(n), n),
    }
    assert needs["runs_of_unknown_duration"] == 32 - n
    assert (needs["hasher_bytes"], needs["runs_of_known_size"], needs["peak_memory"]) == (10 * n, n, 1000)


@pytest.mark.parametrize(
    ("method", "settings", "options"),
    [
        ("lsh", {"bits": 12}, "--bits 12"),
        ("talr_ap", {"bits": 12, "model": "mlp", "delta": 7.0}, "--bits 12 --set delta=7.0"),
        ("sparse_th", {"d": 16, "k": 2, "model": "mlp"}, "--set d=16 --set k=2 --model mlp"),
    ],
)
def test_the_command_of_a_run_makes_that_run(
    capsys: pytest.CaptureFixture[str], method: str, settings: dict[str, int | str], options: str
) -> None:
    named = Run.resolve("digits", "s1", method, settings, seed=3)
    name = store_run(named, ap=0.5)
    assert run("show", name, "--json") == 0
    found = json.loads(capsys.readouterr().out)["run"]
    assert found["not_again"] is None
    words = shlex.split(found["commands"][0])
    assert words[:6] == ["hashbench", "train", method, "digits", "--protocol", "s1"]
    assert words[-1] == "--again" and "--seed 3" in found["commands"][0]
    for option in options.split():
        assert option in words


def test_a_run_shows_scores_machine_and_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    name = store_run(Run.resolve("digits", "s1", "talr_ap", {"bits": 12, "model": "mlp"}), ap=0.75)
    assert run("show", name[:-3]) == 0  # the start of the name is enough
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{name} (run): talr_ap on digits s1"
    assert "  ap  0.7500 over 10 queries" in lines
    assert "kept      no codes and no hasher" in lines
    assert lines[-4:] == [
        f"$ {command} --again" if command.startswith("hashbench train") else f"$ {command}"
        for command in (
            "hashbench train talr_ap digits --protocol s1 --bits 12",
            f"hashbench encode {name} --out codes.npz",
            f"hashbench search {name}",
            "hashbench eval codes.npz",
        )
    ]


@pytest.mark.parametrize("kept", [[], ["hasher.npz"]])
@pytest.mark.parametrize("status", ["ok", "failed"])
def test_the_command_trains_also_a_run_that_is_stored(
    capsys: pytest.CaptureFixture[str], kept: list[str], status: str
) -> None:
    named = Run.resolve("digits", "s1", "lsh", {"bits": 12})
    row, store = row_of_run(named, ap=0.75), Store.default()
    store.write(row if status == "ok" else row.model_copy(update={"status": status, "reason": "why", "searches": {}}))
    for file in kept:
        store.run_folder(row.run).mkdir(parents=True)
        (store.run_folder(row.run) / file).touch()
    assert run("show", row.run, "--json") == 0
    command = json.loads(capsys.readouterr().out)["run"]["commands"][0]
    assert command == "hashbench train lsh digits --protocol s1 --bits 12" + (" --again" if status == "ok" else "")


def test_a_run_that_no_command_makes_any_more_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    name = store_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}), ap=0.75)

    def of_old_data(row: dict[str, Any]) -> None:
        row["config"]["data"]["content_sha256"] = row["data_sha256"] = "1" * 64
        stored_rows.named_again(row)

    stored_rows.edit(Store.default().folder, of_old_data, name)
    assert run("show", *stored_rows.names(Store.default().folder)) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "its data or its split have changed since: it cannot be trained again" in text
    assert "$ hashbench train" not in text and "$ hashbench encode" in text


@pytest.mark.parametrize("method", ["classifier", "th", "pq", "talr_ap"])
def test_a_run_of_a_method_that_it_does_not_fit_is_shown(capsys: pytest.CaptureFixture[str], method: str) -> None:
    name = store_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}), ap=0.75)

    def of_method(row: dict[str, Any]) -> None:
        row["method"] = row["config"]["method"] = method
        row["run"] = row["run"].replace("-lsh-", f"-{method}-")
        stored_rows.named_again(row)

    stored_rows.edit(Store.default().folder, of_method, name)
    assert run("show", *(f"run/{name}" for name in stored_rows.names(Store.default().folder))) == 0
    assert f"{method} on digits s1" in capsys.readouterr().out


def test_the_commands_work_when_they_are_pasted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under --root and --data each command names them, of a run, a table and a data set that is not here."""
    name = store_run(Run.resolve("digits", "s1", "lsh", {"bits": 12}), ap=0.75)
    for option in ("HASHBENCH_ROOT", "HASHBENCH_DATA"):
        monkeypatch.delenv(option)
    own = tmp_path / "my root"
    (own / "datasets").mkdir(parents=True)
    shared = "--root", str(own), "--data", str(tmp_path / "d")
    first = shlex.join(["hashbench", *shared])
    for entry in (name, "talr_table1", "cifar10", "lsh"):
        assert run(*shared, "show", entry) == 0
        commands = [line for line in capsys.readouterr().out.splitlines() if line.startswith("$ ")]
        assert commands and all(line.startswith(f"$ {first} ") for line in commands)
    assert run(*shared, "show", "cifar10", "--json") == 0
    assert json.loads(capsys.readouterr().out)["dataset"]["steps"][0].startswith(f"{first} download cifar10")
    for command in (("show", name),):
        assert run(*shared, *command, "--json") == 0
        assert json.loads(capsys.readouterr().out)["run"]["commands"][0].startswith(f"{first} train lsh digits ")


def test_it_fits_80_columns_but_for_addresses_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("talr_ap", "ksh", "sparse_hash", "cifar10", "talr_table1", "ap", "alexnet", "gist"):
        assert run("show", name) == 0
        long = [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]
        assert all(line.startswith("$ ") or "://" in line or "/data/weights/" in line for line in long), long


def test_a_figure_that_needs_no_run_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "talr_figure1") == 0
    out = capsys.readouterr().out
    assert "drawn  from its file alone: it needs no run" in out.splitlines()
    assert out.splitlines()[-1] == "$ hashbench figure talr_figure1"
