"""``hashbench bench``: from a data set to its table in one command, in a folder of one's own."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from support.command_line import CommandLine
from torchvision import models

from hashbench.foundation.files import file_sha256
from hashbench.tables import spec

SQUEEZED = "squeezenet1_1"
RNG = np.random.default_rng(3)


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """In an empty folder, with the data set ``mine`` of 60 items of 6 numbers."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("HASHBENCH_ROOT", raising=False)
    monkeypatch.delenv("HASHBENCH_RESULTS", raising=False)
    labels = np.repeat(np.arange(3), 20)
    np.savez("mine.npz", items=RNG.standard_normal((60, 6)) + labels[:, None], labels=labels)
    found = partial(call, capsys)
    assert found("dataset", "add", "mine", "mine.npz")[0] == 0
    return found


def test_one_command_ends_with_a_table_that_other_commands_take(hashbench: CommandLine) -> None:
    code, out, err = hashbench("bench mine --methods 'lsh, itq,ksh' --seeds 2")
    assert code == 0, err
    assert "## 3 methods on mine" in out
    assert out.count("±") + out.count("0.") >= 3
    for name in ("experiments/tables/bench_mine.toml", "results/tables/bench_mine.md", "results/tables/bench_mine.png"):
        assert Path(name).is_file()
    cells = spec.load("bench-mine").cells
    assert [(cell.row, cell.column) for cell in cells] == [(row, "6 bits") for row in ("LSH", "ITQ", "KSH")]
    assert [cell.settings.get("hash_functions") for cell in cells] == [None, None, "linear"]
    assert hashbench("table bench_mine").out == out[: out.index("results/tables/")]
    assert "3 runs done, 0 failed, 0 missing" in hashbench("status bench_mine").out
    again = hashbench("bench mine --methods lsh,itq,ksh --seeds 2")
    assert (again[1], "6 done, 0 to do" in again[2], "gets other cells" in again[2]) == (out, True, False)
    code, _, err = hashbench("bench mine --methods itq --bits 4,2 --seeds 1")
    assert (code, [cell.column for cell in spec.load("bench_mine").cells]) == (0, ["4 bits", "2 bits"]), err
    assert "note: the table bench_mine gets other cells: another --name keeps those that it had\n" in err


def test_the_settings_are_searched_first_and_kept_in_a_recipe(hashbench: CommandLine) -> None:
    command = ["bench", "mine", "--methods", "itq,ksh", "--bits", "4", "--seeds", 1, "--tune", 2, "--name", "ours"]
    code, out, err = hashbench(*command)
    assert code == 0, err
    assert "Settings: tuned (2 trials of each method, search ours_search)." in out
    assert Path("results/tune/ours_search.jsonl").read_text().count("\n") == 1 + 2 * (2 + 1) * 3
    recipe = Path("experiments/recipes/ours.toml").read_text()
    assert 'when = { dataset = "mine", protocol = "own", model = "linear" }' in recipe
    assert recipe.count('tuned = "tune/ours_search.jsonl: trial ') == 2
    lines = hashbench("train ksh mine --bits 4 --set hash_functions=linear --dry-run").lines
    assert next(line for line in lines if line.startswith("stored")).split(",")[0].split() == ["stored", "yes"]
    rows = Path("results/rows/mine-own.jsonl").read_text()
    code, again, _ = hashbench(*command)
    table = "## 2 methods on mine"
    assert (code, again[again.index(table) :]) == (0, out[out.index(table) :])
    assert Path("results/rows/mine-own.jsonl").read_text() == rows
    assert Path("experiments/recipes/ours.toml").read_text() == recipe


def test_a_table_says_by_which_other_metric_its_settings_were_searched(hashbench: CommandLine) -> None:
    command = ["bench", "mine", "--methods", "itq", "--bits", 4, "--seeds", 1]
    assert hashbench(*command, "--metric ndcg@5 --tune 1").code == 0
    code, out, _ = hashbench(*command)
    assert code == 0 and "Settings: tuned by ndcg@5 (1 trials of each method, search bench_mine_search)." in out


def test_a_second_search_of_the_same_runs_is_refused_before_it_begins(hashbench: CommandLine) -> None:
    command = ["bench", "mine", "--methods", "itq", "--bits", "4", "--seeds", 1, "--tune", 1, "--name"]
    assert hashbench(*command, "ours").code == 0
    before = sorted(Path().rglob("*"))
    code, out, err = hashbench(*command, "others")
    assert (code, out) == (2, "")
    assert err.endswith("recipes/ours.toml: it has the settings of these runs already: --name ours, or remove it\n")
    assert sorted(Path().rglob("*")) == before
    assert hashbench("table ours").code == 0


def test_a_folder_of_images_and_weights_of_ones_own_end_in_a_table(hashbench: CommandLine) -> None:
    for part, n in (("train", 6), ("test", 2)):
        for shade, name in enumerate(("dark", "grey", "bright")):
            folder = Path("shades") / part / name
            folder.mkdir(parents=True)
            for i in range(n):
                values = RNG.integers(0, 60, (16, 16, 3)) + 90 * shade
                Image.fromarray(values.astype(np.uint8)).save(folder / f"{i}.png")
    assert hashbench("dataset add shades shades/train shades/test").code == 0
    torch.manual_seed(0)
    tensors = models.get_model(SQUEEZED, weights=None).state_dict()
    torch.save({"epoch": 3, "state_dict": {f"module.{name}": each for name, each in tensors.items()}}, "mine.pth")
    command = ["bench", "shades", "--methods", "itq", "--bits", 8, "--seeds", 1, "--features"]
    assert hashbench(f"features shades --model {SQUEEZED} --weights mine.pth").code == 0
    stem = f"{SQUEEZED}_{file_sha256(Path('mine.pth'))[:12]}"
    Path("mine.pth").unlink()
    code, _, err = hashbench(*command, stem)  # the stored features, by their name
    assert code == 0, err
    assert {cell.settings["features"] for cell in spec.load("bench_shades").cells} == {stem}
    assert hashbench(*command, f"{SQUEEZED}_random --name random").code == 0
    assert {cell.settings["features"] for cell in spec.load("random").cells} == {f"{SQUEEZED}_random"}


def test_a_table_may_name_the_features_of_any_network_of_torchvision(hashbench: CommandLine) -> None:
    assert hashbench("bench mine --methods itq --bits 4 --seeds 1").code == 0
    text = Path("experiments/tables/bench_mine.toml").read_text()
    for name, is_known in {"resnet18_0123456789ab": True, "resnet18_random": True, "resnet17": False}.items():
        Path("experiments/tables/ours.toml").write_text(text.replace("bits = 4", f'bits = 4, features = "{name}"'))
        code, out, err = hashbench("table ours")
        assert (code, "ITQ" in out) == ((0, True) if is_known else (2, False)), err


def contents() -> dict[Path, bytes]:
    """Every file below the current folder."""
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--features", "pixels", "--bits", "6"],
            "recipes/ours.toml: it has settings of other features, data or functions: give",
        ),
        (["--metric", "ndcg"], "tune/ours_search.jsonl: its metric is ap, not ndcg: give this search another --name"),
        (["--bits", "3"], "tune/ours_search.jsonl: its settings is"),
    ],
)
def test_a_refused_command_changes_no_file(options: list[str], message: str, hashbench: CommandLine) -> None:
    command = ["bench", "mine", "--methods", "itq", "--seeds", 1, "--tune", 1, "--name", "ours"]
    assert hashbench(*command).code == 0
    before = contents()
    code, out, err = hashbench(*command, *options)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert message in err
    assert contents() == before


def test_the_table_is_there_when_a_cell_fails(hashbench: CommandLine) -> None:
    labels = np.repeat(np.arange(3), 20)
    items = RNG.standard_normal((60, 6)) + labels[:, None]
    items[:, 5] = items[:, 4]  # of 6 numbers 5 are free, which only the data tell
    np.savez("flat.npz", items=items, labels=labels)
    assert hashbench("dataset add flat flat.npz").code == 0
    for options in ([], ["--tune", 1]):
        code, out, err = hashbench("bench flat --methods pca_sign,lsh --bits 4,6 --seeds 2", *options)
        assert code == 1
        assert "its footnotes name them" in err.splitlines()[-1]
        cells = {
            cells[1].strip(): cells[2:4] for cells in (line.split("|") for line in out.splitlines() if "|" in line)
        }
        assert cells["LSH"][1].strip().startswith("0.") and cells["PCA-sign"][0].strip().startswith(("0.", "**0."))
        assert cells["PCA-sign"][1].strip() == ""
        assert "- Failed: PCA-sign at 6 bits, 2 of 2 runs: 6 bits from 5 principal components along which" in out
        assert "- Failed: PCA-sign at 6 bits" in hashbench("table bench_flat").out
    assert "- Failed: the search of settings: every trial failed of pca_sign: 6 bits from 5 principal" in out
    assert "note: settings are searched at 6 bits alone, and the same are taken at 4\n" in err
    assert "at 6 bits, not at each length, by validation queries" in out


def test_any_metric_is_tuned_and_shown_of_codes_and_of_centroids(hashbench: CommandLine) -> None:
    labels = np.repeat(np.arange(3), 130)
    np.savez("many.npz", items=RNG.standard_normal((390, 8)) + labels[:, None], labels=labels)
    assert hashbench("dataset add many many.npz").code == 0
    command = ["bench", "many", "--methods", "lsh,pq,opq", "--bits", 8, "--seeds", 1, "--metric"]
    for metric, options in (("recall@10", ["--tune", 1, "--name", "tuned"]), ("mrr", []), ("ndcg", [])):
        code, out, err = hashbench(*command, metric, *options)
        assert code == 0, err
        assert f"## 3 methods on many: {metric}" in out
        assert f"- Each value is the mean of {metric}, tie-aware, over the 39 queries of many own." in out
        rows = [json.loads(line) for line in Path("results/rows/many-own.jsonl").read_text().splitlines()]
        for row in rows:
            values = next(iter(row["searches"].values())) if row["method"] != "lsh" else {}
            title = row["method"].upper()
            if metric in values and metric != "recall@10":
                assert f"{values[metric]['mean']:.3f}" in next(
                    line for line in out.splitlines() if line.startswith(f"| {title} ")
                )
    search = Path("results/tune/tuned_search.jsonl").read_text().splitlines()
    assert json.loads(search[0])["metric"] == "recall@10"
    assert all("value" in json.loads(line) and "ap" not in json.loads(line) for line in search[1:])
