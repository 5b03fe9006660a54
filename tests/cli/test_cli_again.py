"""A stored run says that it is stored; --again trains it and compares; --dry-run says what a run would be."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import stored_rows
from support.command_line import CommandLine

from hashbench.runs.store import Store

LSH = "train lsh digits --bits 16"
SMALL = ["epochs=1", "steps_per_epoch=3", "batch_size=10", "classes_per_batch=5", "augment=none", "augment_per=item"]
SPARSE = "train sparse-th digits --model mlp --set d=8 --set k=2"
TALR = "train talr-ap digits --bits 8 --set epochs=1"


def rows(results: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in results.glob("rows/*.jsonl")}


def test_a_stored_run_says_when_and_where_it_was_trained(hashbench: CommandLine) -> None:
    _, first, said = hashbench(LSH)
    assert said == ""
    code, out, err = hashbench(LSH)
    assert (code, out.splitlines()[0]) == (0, first.splitlines()[0])
    assert re.fullmatch(
        r"note: this run is stored: trained \d{4}-\d\d-\d\d on \w+ \w+.*, (commit [0-9a-f]{7}|hashbench [\d.]+).*; "
        r"nothing was trained\. --again trains and compares\n",
        err,
    )
    assert hashbench(f"--quiet {LSH}").err == ""


def test_again_trains_and_compares_and_leaves_the_row(hashbench: CommandLine, tmp_path: Path) -> None:
    hashbench(LSH)
    before = rows(tmp_path / "results")
    shutil.rmtree(tmp_path / "results" / "runs")
    code, out, err = hashbench(f"{LSH} --again")
    assert code == 0
    assert err.endswith("; it is trained again, and its row stays\n")
    names, artefacts, scores, distinct = out.split("\n\n")
    assert " ".join(names.split()).endswith(".jsonl (as it was)") and artefacts.split() == ["histogram", "equal"]
    lines = scores.splitlines()
    assert re.fullmatch(r"ap +0\.\d{4}  equal", lines[0])
    assert all(line.endswith("  equal") for line in lines)
    assert distinct.startswith("distinct codes  ")
    assert rows(tmp_path / "results") == before
    assert list((tmp_path / "results" / "runs").glob("*/hasher.npz"))


def test_again_says_by_how_much_a_metric_differs(hashbench: CommandLine, tmp_path: Path) -> None:
    hashbench(LSH)

    def other(row: dict[str, Any]) -> None:
        row["searches"]["database"]["ap"]["mean"] -= 0.0125
        del row["searches"]["database"]["ndcg"]
        row["artefacts"]["histogram"] = "0" * 64
        row["threads"]["blas"] += 1
        row["hardware"]["cpu"] = "another one"

    stored_rows.edit(tmp_path / "results", other)
    (row,) = [json.loads(line) for line in stored_rows.texts(tmp_path / "results").values()]
    was = row["searches"]["database"]["ap"]["mean"]
    code, out, _ = hashbench(f"{LSH} --again")
    out = re.sub(r"\n {4,}", " ", out)  # a text that goes on
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert code == 0
    assert lines["histogram"].endswith(" not equal to the stored one")
    assert "another processor: " in lines["likely cause"] and "another number of threads: " in lines["likely cause"]
    assert lines["ap"].endswith(f"  stored {was:.4f}, differs by +0.013")
    assert lines["ndcg"].endswith("  not in the stored row")
    assert lines["ap_worst"].endswith("  equal")
    printed = hashbench.json(f"{LSH} --again")
    assert printed["stored"]["searches"] == row["searches"]
    assert printed["equal"] == {"histogram": False}
    assert printed["differences"]["ap"] == pytest.approx(0.0125)
    assert printed["differences"]["ap_worst"] == 0
    assert printed["again"]["searches"]["database"]["ap"]["mean"] == pytest.approx(was + 0.0125)


def test_again_of_a_run_that_is_not_stored_stores_it(hashbench: CommandLine, tmp_path: Path) -> None:
    code, out, err = hashbench(f"{LSH} --again --json")
    assert (code, err) == (0, "")
    assert Store(tmp_path / "results").named(json.loads(out)["run"]).status == "ok"


@pytest.mark.parametrize(
    "train",
    [
        [*LSH, "--seed", "3", "--set", "centre=false"],
        [*TALR, "--set", "lr=0.05"],
        [*SPARSE, *(word for each in SMALL for word in ("--set", f"base.{each}"))],
    ],
    ids=["shallow", "deep", "with a base"],
)
def test_encode_without_the_hasher_prints_the_command_that_makes_it(
    train: list[str], hashbench: CommandLine, tmp_path: Path
) -> None:
    row = hashbench.json(*train)
    before, runs = rows(tmp_path / "results"), tmp_path / "results" / "runs"
    codes = (runs / row["run"] / "codes.npz").read_bytes()
    shutil.rmtree(runs)
    encode = ["encode", row["run"], "--out", str(tmp_path / "codes.npz")]
    code, out, err = hashbench(*encode)
    assert (code, out, err.count("\n")) == (2, "", 1)
    command = shlex.split(err.partition(": this trains it again: ")[2])
    assert (command[0], command[-1]) == ("hashbench", "--again")
    code, out, _ = hashbench(*command[1:])
    assert (code, out.splitlines()[0]) == (0, f"run  {row['run']}")
    assert hashbench(*encode).code == 0
    assert rows(tmp_path / "results") == before
    assert (runs / row["run"] / "codes.npz").read_bytes() == codes


def test_search_and_a_damaged_hasher_print_it_too(hashbench: CommandLine, tmp_path: Path) -> None:
    """With the folder that was named, because the command finds the row there."""
    results = tmp_path / "other"
    run = hashbench.json(f"--results {results} {LSH}")["run"]
    advice = f": this trains it again: hashbench --results {results} train lsh digits --protocol s1 --bits 16 --again\n"
    out = tmp_path / "out.npz"
    np.save(tmp_path / "items.npy", np.zeros((1, 8, 8, 1), np.uint8))
    (results / "runs" / run / "hasher.npz").write_bytes(b"PK damaged")
    for command in (["encode", run], ["search", run, tmp_path / "items.npy"]):
        code, _, err = hashbench(f"--results {results}", *command, f"--out {out}")
        assert code == 2
        assert "hasher.npz: not a whole hasher" in err
        assert err.endswith(advice)
    hashbench(f"--results {results} {LSH} --again")
    (results / "runs" / run / "codes.npz").unlink()
    code, _, err = hashbench(f"--results {results} search {run} --out {out}")
    assert (code, err) == (
        2,
        f"error: {results / 'runs' / run}: the working files of this run are not here{advice}",
    )


def test_a_failed_run_is_tried_again_by_the_plain_command(hashbench: CommandLine) -> None:
    wild = ["train", "dpsh", "digits", "--bits", "8", "--set", "lr=1e30", "--json"]
    run = json.loads(hashbench(*wild).out)["run"]
    _, _, err = hashbench(f"encode {run} --out x.npz")
    assert f"error: {run}: this run failed (" in err
    assert err.endswith("this tries it again: hashbench train dpsh digits --protocol s1 --bits 8 --set lr=1e+30\n")


def test_the_protocol_is_needed_where_there_are_several(hashbench: CommandLine) -> None:
    code, out, err = hashbench("train lsh cifar10 --bits 8")
    assert (code, out) == (2, "")
    assert err == (
        "error: cifar10: which protocol? --protocol NAME is needed: one of cibhash, labelme_stand_in, "
        "neighbours, neighbours_gist, s1, s1_54k, s1_validation, s2, s2_5k, s2_official, s2_validation, structhash, "
        "structhash_validation "
        "(hashbench show cifar10 says what each is)\n"
    )
    assert hashbench.json(LSH)["protocol"] == "s1"


def test_a_dry_run_prints_each_setting_with_its_source(hashbench: CommandLine, tmp_path: Path) -> None:
    plan = ["train", "talr-ap", "cifar10", "--protocol", "s1", "--bits", "32", "--set", "lr=0.1", "--dry-run"]
    code, _, err = hashbench(*plan)
    network = "linear on the features efficientnet_lite0_128px"
    others = "efficientnet_lite0, efficientnet_lite0_128px_from_block11, resnet9, small_cnn, vggf"
    unnamed = f"note: no network is named, so it is {network}; the tables of cifar10 have {others}\n"
    missing = "missing: the data set cifar10\nto get it: hashbench download cifar10\n"
    assert (code, err) == (0, missing + unnamed)
    of_authors = hashbench(*plan, "--model vggf").err
    assert of_authors.startswith("missing: the data set cifar10, the weights of vggf\n") and "note" not in of_authors
    assert "no recipe fits efficientnet_lite0_96px on" in hashbench(*plan, "--model efficientnet_lite0_96px").err
    plan += ["--model", "small_cnn"]
    out = hashbench(*plan).out
    found = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert found["run"][0].startswith("cifar10-s1-talr_ap-32b-s0-")
    assert found["stored"] == ["no"]
    assert found["lr"] == ["0.1", "command", "line"]
    assert found["epochs"] == ["60", "recipe", "small_cnn"]
    assert found["model"] == ["small_cnn", "command", "line"]
    assert found["variant"] == ["simplified", "code"]
    assert found["relaxation"] == ["tanh", "paper"]
    assert found["n_bins"] == ["12", "ours"]
    assert found["steps_per_epoch"] == ["0", "default"]
    printed = hashbench.json(*plan)
    assert (printed["run"], printed["stored"], printed["seed"]) == (found["run"][0], False, 0)
    given = {"value": 0.1, "source": "command line", "note": "", "recipe": None, "released": None}
    assert printed["settings"]["lr"] == given
    assert printed["settings"]["epochs"]["recipe"] == "small_cnn"
    assert not (tmp_path / "results").exists()


def test_a_dry_run_names_what_train_stores(hashbench: CommandLine) -> None:
    row = hashbench.json(LSH)
    out = hashbench(f"{LSH} --dry-run").lines
    assert out[0].split() == ["run", row["run"]]
    assert out[1].split()[:3] == ["stored", "yes,", "trained"]


def test_a_dry_run_shows_the_settings_of_the_base(hashbench: CommandLine) -> None:
    plan = [*SPARSE, "--set", "base.lr=0.5", "--dry-run", "--json"]
    settings = json.loads(hashbench(*plan).out)["settings"]
    assert (settings["base.lr"]["value"], settings["base.lr"]["source"]) == (0.5, "command line")
    assert (settings["base.d"]["value"], settings["base.d"]["source"]) == (8, "run")
    assert (settings["d"]["value"], settings["d"]["source"]) == (8, "command line")
