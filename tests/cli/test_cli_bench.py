"""``hashbench bench``: from a data set to its table in one command, in a folder of one's own."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from support.command_line import CommandLine
from torchvision import models

from hashbench.foundation.files import file_sha256
from hashbench.showing.tables import spec

SQUEEZED = "squeezenet1_1"
RNG = np.random.default_rng(3)
RECIPE = Path("experiments/recipes/ours.toml")
ROWS = Path("results/rows/mine-own.jsonl")


def add(hashbench: CommandLine, name: str, items: np.ndarray, labels: np.ndarray) -> None:
    np.savez(f"{name}.npz", items=items + labels[:, None], labels=labels)
    hashbench.done(f"dataset add {name} {name}.npz")


@pytest.fixture(autouse=True)
def mine(hashbench: CommandLine, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data set ``mine`` of 60 items of 6 numbers, in a folder that tables and rows are written into."""
    monkeypatch.delenv("HASHBENCH_ROOT", raising=False)
    monkeypatch.delenv("HASHBENCH_RESULTS", raising=False)
    add(hashbench, "mine", RNG.standard_normal((60, 6)), np.repeat(np.arange(3), 20))


def test_one_command_ends_with_a_table_that_other_commands_take(hashbench: CommandLine) -> None:
    out = hashbench.done("bench mine --methods 'lsh, itq,ksh' --seeds 2").out
    assert "## 3 methods on mine" in out
    assert out.count("±") + out.count("0.") >= 3
    for name in ("experiments/tables/bench_mine.toml", "results/tables/bench_mine.md", "results/tables/bench_mine.png"):
        assert Path(name).is_file()
    cells = spec.load("bench-mine").cells
    assert [(cell.row, cell.column) for cell in cells] == [(row, "6 bits") for row in ("LSH", "ITQ", "KSH")]
    assert [cell.settings.get("hash_functions") for cell in cells] == [None, None, "linear"]
    assert hashbench.done("table bench_mine").out == out[: out.index("results/tables/")]
    assert "3: 3 done, 0 failed, 0 missing" in hashbench.done("status bench_mine").out
    again = hashbench.done("bench mine --methods lsh,itq,ksh --seeds 2")
    assert again.out == out and "6 done, 0 to do" in again.err and "gets other cells" not in again.err
    err = hashbench.done("bench mine --methods itq --bits 4,2 --seeds 1").err
    assert [cell.column for cell in spec.load("bench_mine").cells] == ["4 bits", "2 bits"]
    assert "note: the table bench_mine gets other cells: another --name keeps those that it had\n" in err


def test_the_settings_are_searched_first_and_kept_in_a_recipe(hashbench: CommandLine) -> None:
    command = "bench mine --methods itq,ksh --bits 4 --seeds 1 --tune 2 --name ours"
    out = hashbench.done(command).out
    assert "Settings: tuned (2 trials of each method, search ours_search)." in out
    assert Path("results/tune/ours_search.jsonl").read_text().count("\n") == 1 + 2 * (2 + 1) * 3
    recipe = RECIPE.read_text()
    task = {"dataset": "mine", "protocol": "own", "model": "linear"}
    assert task.items() <= tomllib.loads(recipe)["when"].items()
    assert recipe.count('tuned = "tune/ours_search.jsonl: trial ') == 2
    text = hashbench.done("train ksh mine --bits 4 --set hash_functions=linear --dry-run").text
    assert " stored yes, " in text
    rows = ROWS.read_text()
    table = "## 2 methods on mine"
    again = hashbench.done(command).out
    assert again[again.index(table) :] == out[out.index(table) :]
    assert ROWS.read_text() == rows
    assert RECIPE.read_text() == recipe


def test_a_table_says_by_which_other_metric_its_settings_were_searched(hashbench: CommandLine) -> None:
    command = "bench mine --methods itq --bits 4 --seeds 1"
    hashbench.done(command, "--metric ndcg@5 --tune 1")
    line = "Settings: tuned by ndcg@5 (1 trials of each method, search bench_mine_search)."
    assert line in hashbench.done(command).out


def contents() -> dict[Path, bytes]:
    """Every file below the current folder."""
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


REFUSED = {
    "--name others": "recipes/ours.toml: it has the settings of these runs already: --name ours, or remove it",
    "--features pixels --bits 6": "recipes/ours.toml: it has settings of other features, data or functions: give",
    "--metric ndcg": "tune/ours_search.jsonl: its metric is ap, not ndcg: give this search another --name",
    "--bits 3": "tune/ours_search.jsonl: its settings is",
}


def test_a_second_search_is_refused_before_it_begins_and_changes_no_file(hashbench: CommandLine) -> None:
    command = "bench mine --methods itq --bits 4 --seeds 1 --tune 1 --name ours"
    hashbench.done(command)
    before = contents()
    for options, complaint in REFUSED.items():
        assert complaint in hashbench.refused(command, options)
        assert contents() == before
    hashbench.done("table ours")


def test_a_folder_of_images_and_weights_of_ones_own_end_in_a_table(hashbench: CommandLine) -> None:
    for part, n in (("train", 6), ("test", 2)):
        for shade, name in enumerate(("dark", "grey", "bright")):
            folder = Path("shades") / part / name
            folder.mkdir(parents=True)
            for i in range(n):
                values = RNG.integers(0, 60, (16, 16, 3)) + 90 * shade
                Image.fromarray(values.astype(np.uint8)).save(folder / f"{i}.png")
    hashbench.done("dataset add shades shades/train shades/test")
    torch.manual_seed(0)
    tensors = models.get_model(SQUEEZED, weights=None).state_dict()
    torch.save({"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in tensors.items()}}, "mine.pth")
    hashbench.done(f"features shades --model {SQUEEZED} --weights mine.pth")
    features = {"bench_shades": f"{SQUEEZED}_{file_sha256(Path('mine.pth'))[:12]}", "random": f"{SQUEEZED}_random"}
    Path("mine.pth").unlink()  # the features are stored, by their names
    for table, name in features.items():
        hashbench.done(f"bench shades --methods itq --bits 8 --seeds 1 --features {name} --name {table}")
        assert {cell.settings["features"] for cell in spec.load(table).cells} == {name}


def test_a_table_may_name_the_features_of_any_network_of_torchvision(hashbench: CommandLine) -> None:
    hashbench.done("bench mine --methods itq --bits 4 --seeds 1")
    text = Path("experiments/tables/bench_mine.toml").read_text()
    for name, is_known in {"resnet18_0123456789ab": True, "resnet18_random": True, "resnet17": False}.items():
        Path("experiments/tables/ours.toml").write_text(text.replace("bits = 4", f'bits = 4, features = "{name}"'))
        code, out, err = hashbench("table ours")
        assert (code, "ITQ" in out) == ((0, True) if is_known else (2, False)), err


def test_the_table_is_there_when_a_cell_fails(hashbench: CommandLine) -> None:
    items = RNG.standard_normal((60, 6))
    items[:, 5] = items[:, 4]  # of 6 numbers 5 are free, which only the data tell
    add(hashbench, "flat", items, np.repeat(np.arange(3), 20))
    for options in ("", "--tune 1"):
        code, out, err = hashbench("bench flat --methods pca_sign,lsh --bits 4,6 --seeds 2", options)
        assert code == 1 and "its footnotes name them" in err.splitlines()[-1]
        rows = [[cell.strip(" *") for cell in line.split("|")] for line in out.splitlines() if "|" in line]
        cells = {row[1]: row[2:4] for row in rows}
        assert cells["LSH"][1].startswith("0.") and cells["PCA-sign"][0].startswith("0.")
        assert cells["PCA-sign"][1] == ""
        assert "- Failed: PCA-sign at 6 bits, 2 of 2 runs: 6 bits from 5 principal components along which" in out
        assert "- Failed: PCA-sign at 6 bits" in hashbench.done("table bench_flat").out
    assert "- Failed: the search of settings: every trial failed of pca_sign: 6 bits from 5 principal" in out
    assert "note: settings are searched at 6 bits alone, and the same are taken at 4\n" in err
    assert "at 6 bits, not at each length, by validation queries" in out


def test_any_metric_is_tuned_and_shown_of_codes_and_of_centroids(hashbench: CommandLine) -> None:
    add(hashbench, "many", RNG.standard_normal((390, 8)), np.repeat(np.arange(3), 130))
    for metric, options in {"recall@10": "--tune 1 --name tuned", "mrr": "", "ndcg": ""}.items():
        out = hashbench.done(f"bench many --methods lsh,pq,opq --bits 8 --seeds 1 --metric {metric}", options).out
        assert f"## 3 methods on many: {metric}" in out
        assert f"- Each value is the mean of {metric}, tie-aware, over the 39 queries of many own." in out
    lines = {line.split()[1]: line for line in out.splitlines() if line.startswith("| ")}
    for text in Path("results/rows/many-own.jsonl").read_text().splitlines():
        row = json.loads(text)
        values = next(iter(row["searches"].values()))
        if row["method"] != "lsh" and "ndcg" in values:
            assert f"{values['ndcg']['mean']:.3f}" in lines[row["method"].upper()]
    head, *trials = map(json.loads, Path("results/tune/tuned_search.jsonl").read_text().splitlines())
    assert head["metric"] == "recall@10"
    assert all("value" in trial and "ap" not in trial for trial in trials)
