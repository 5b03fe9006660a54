"""A stored run says that it is stored; --again trains it and compares; --dry-run says what a run would be."""

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stored_rows
from support.command_line import CommandLine

from hashbench.running.runs.store import Store

LSH = "train lsh digits --bits 16"
SPARSE = "train sparse-th digits --model mlp --set d=8 --set k=2"
SMALL = ["epochs=1", "steps_per_epoch=3", "batch_size=10", "classes_per_batch=5", "augment=none", "augment_per=item"]
OF_BASE = " ".join(f"--set base.{setting}" for setting in SMALL)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def test_a_stored_run_says_when_and_where_it_was_trained(hashbench: CommandLine) -> None:
    first = hashbench.done(LSH)
    assert first.err == ""
    answer = hashbench.done(LSH)
    assert answer.lines[0] == first.lines[0]
    assert re.fullmatch(
        r"note: this run is stored: trained \d{4}-\d\d-\d\d on \w+ \w+.*, (commit [0-9a-f]{7}|hashbench [\d.]+).*; "
        r"nothing was trained\. --again trains and compares\n",
        answer.err,
    )
    assert hashbench.done("--quiet", LSH).err == ""
    name, stored, *_ = hashbench.done(LSH, "--dry-run").lines
    assert name.split() == first.lines[0].split()
    assert stored.split()[:3] == ["stored", "yes,", "trained"]


def test_again_trains_and_compares_and_leaves_the_row(hashbench: CommandLine, results: Path) -> None:
    hashbench.done(LSH)
    before = stored_rows.texts(results)
    shutil.rmtree(results / "runs")
    answer = hashbench.done(LSH, "--again")
    assert answer.err.endswith("; it is trained again, and its row stays\n")
    names, artefacts, scores, distinct = answer.out.split("\n\n")
    assert " ".join(names.split()).endswith(".jsonl (as it was)") and artefacts.split() == ["histogram", "equal"]
    lines = scores.splitlines()
    assert re.fullmatch(r"ap +0\.\d{4}  equal", lines[0])
    assert all(line.endswith("  equal") for line in lines)
    assert distinct.startswith("distinct codes  ")
    assert stored_rows.texts(results) == before
    assert list((results / "runs").glob("*/hasher.npz"))


def test_again_says_by_how_much_a_metric_differs(hashbench: CommandLine, results: Path) -> None:
    run = hashbench.json(LSH, "--again")["run"]  # which is not stored yet
    assert Store(results).named(run).status == "ok"

    def of_another_machine(row: dict[str, Any]) -> None:
        row["searches"]["database"]["ap"]["mean"] -= 0.0125
        del row["searches"]["database"]["ndcg"]
        row["artefacts"]["histogram"] = "0" * 64
        row["threads"]["blas"] += 1
        row["hardware"]["cpu"] = "another one"

    stored_rows.edit(results, of_another_machine)
    searches = stored_rows.content(results, run)["searches"]
    ap = searches["database"]["ap"]["mean"]
    out = re.sub(r"\n {4,}", " ", hashbench.done(LSH, "--again").out)  # a text that goes on
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert lines["histogram"].endswith(" not equal to the stored one")
    assert "another processor: " in lines["likely cause"] and "another number of threads: " in lines["likely cause"]
    assert lines["ap"].endswith(f"  stored {ap:.4f}, differs by +0.013")
    assert lines["ndcg"].endswith("  not in the stored row")
    assert lines["ap_worst"].endswith("  equal")
    printed = hashbench.json(LSH, "--again")
    assert printed["stored"]["searches"] == searches
    assert printed["equal"] == {"histogram": False}
    assert printed["differences"]["ap"] == pytest.approx(0.0125)
    assert printed["differences"]["ap_worst"] == 0
    assert printed["again"]["searches"]["database"]["ap"]["mean"] == pytest.approx(ap + 0.0125)


@pytest.mark.parametrize(
    "train",
    [
        f"{LSH} --seed 3 --set centre=false",
        "train talr-ap digits --bits 8 --set epochs=1 --set lr=0.05",
        f"{SPARSE} {OF_BASE}",
    ],
    ids=["shallow", "deep", "with a base"],
)
def test_encode_without_the_hasher_prints_the_command_that_makes_it(
    train: str, hashbench: CommandLine, results: Path
) -> None:
    run = hashbench.json(train)["run"]
    before = stored_rows.texts(results)
    codes = (results / "runs" / run / "codes.npz").read_bytes()
    shutil.rmtree(results / "runs")
    encode = f"encode {run} --out {results / 'codes.npz'}"
    again = hashbench.refused(encode).partition(": this trains it again: hashbench ")[2]
    assert again.endswith(" --again")
    assert hashbench.done(again).lines[0] == f"run  {run}"
    hashbench.done(encode)
    assert stored_rows.texts(results) == before
    assert (results / "runs" / run / "codes.npz").read_bytes() == codes


def test_search_and_a_damaged_hasher_print_it_too(hashbench: CommandLine, here: Path) -> None:
    """With the folder that was named, because the command finds the row there."""
    named = f"--results {here / 'other'}"
    run = hashbench.json(named, LSH)["run"]
    advice = f": this trains it again: hashbench {named} train lsh digits --protocol s1 --bits 16 --again"
    np.save("items.npy", np.zeros((1, 8, 8, 1), np.uint8))
    folder = here / "other" / "runs" / run
    (folder / "hasher.npz").write_bytes(b"PK damaged")
    for command in (f"encode {run}", f"search {run} items.npy"):
        line = hashbench.refused(named, command, "--out out.npz")
        assert "hasher.npz: not a whole hasher" in line and line.endswith(advice)
    hashbench.done(named, LSH, "--again")
    (folder / "codes.npz").unlink()
    line = hashbench.refused(named, f"search {run} --out out.npz")
    assert line == f"{folder}: the working files of this run are not here{advice}"


def test_a_failed_run_says_so_and_is_tried_again_by_the_plain_command(hashbench: CommandLine) -> None:
    answer = hashbench("train dpsh digits --bits 8 --set lr=1e30 --json")
    run = answer.json["run"]
    assert answer.code == 2
    assert answer.json["status"] == "failed"
    assert "smaller lr" in answer.err.splitlines()[-1]
    line = hashbench.refused(f"encode {run} --out x.npz")
    assert line.startswith(f"{run}: this run failed (")
    assert line.endswith("this tries it again: hashbench train dpsh digits --protocol s1 --bits 8 --set lr=1e+30")


def test_a_dry_run_prints_each_setting_with_its_source(hashbench: CommandLine, results: Path) -> None:
    plan = "train talr-ap cifar10 --protocol s1 --bits 32 --set lr=0.1 --dry-run"
    assert hashbench.done(plan).err.splitlines() == [
        "missing: the data set cifar10",
        "to get it: hashbench download cifar10",
    ]
    of_authors = hashbench.done(plan, "--model vggf").err
    missing, remedy, *_ = of_authors.splitlines()
    assert missing == "missing: the data set cifar10, the weights of vggf" and "note" not in of_authors
    assert remedy.startswith("to get it: hashbench download cifar10; get https://")
    err = hashbench.done(plan, "--model vggf --weights none").err
    assert err.splitlines()[0] == "missing: the data set cifar10"
    err = hashbench.done(plan, "--model efficientnet_lite0_96px").err
    assert "no recipe fits efficientnet_lite0_96px on" in err
    plan += " --model small_cnn"
    lines = {line.split()[0]: line.split(maxsplit=1)[1].split() for line in hashbench.done(plan).lines if line}
    (run,) = lines["run"]
    assert run.startswith("cifar10-s1-talr_ap-32b-s0-")
    settings = {
        "stored": "no",
        "lr": "0.1 command line",
        "epochs": "60 recipe small_cnn",
        "model": "small_cnn command line",
        "variant": "simplified code",
        "relaxation": "tanh paper",
        "n_bins": "12 recipe small_cnn",
        "steps_per_epoch": "0 default",
    }
    assert {key: " ".join(lines[key]) for key in settings} == settings
    printed = hashbench.json(plan)
    assert printed["run"] == run
    assert printed["stored"] is False
    assert printed["seed"] == 0
    lr = {"value": 0.1, "source": "command line", "note": "", "recipe": None, "released": None}
    assert printed["settings"]["lr"] == lr
    assert printed["settings"]["epochs"]["recipe"] == "small_cnn"
    assert not results.exists()


def test_a_dry_run_shows_the_settings_of_the_base(hashbench: CommandLine) -> None:
    settings = hashbench.json(SPARSE, "--set base.lr=0.5 --dry-run")["settings"]
    sources = {"base.lr": (0.5, "command line"), "base.d": (8, "run"), "d": (8, "command line")}
    assert {key: (settings[key]["value"], settings[key]["source"]) for key in sources} == sources
