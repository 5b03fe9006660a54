"""``hashbench bench``: from a data set to its table in one command, in a folder of one's own."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from support.command_line import call
from torchvision import models

from hashbench.foundation import paths
from hashbench.foundation.files import file_sha256
from hashbench.tables import spec

Call = Callable[..., tuple[int, str, str]]
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


def test_one_command_ends_with_a_table_that_other_commands_take(hashbench: Call) -> None:
    code, out, err = hashbench("bench", "mine", "--methods", "lsh, itq,ksh", "--seeds", 2)
    assert code == 0, err
    assert "## 3 methods on mine" in out
    assert out.count("±") + out.count("0.") >= 3
    for name in ("experiments/tables/bench_mine.toml", "results/tables/bench_mine.md", "results/tables/bench_mine.png"):
        assert Path(name).is_file()
    cells = spec.load("bench-mine").cells
    assert [(cell.row, cell.column) for cell in cells] == [(row, "6 bits") for row in ("LSH", "ITQ", "KSH")]
    assert [cell.settings.get("hash_functions") for cell in cells] == [None, None, "linear"]
    assert hashbench("table", "bench_mine")[1] == out[: out.index("results/tables/")]
    assert "3 runs done, 0 failed, 0 missing" in hashbench("status", "bench_mine")[1]
    again = hashbench("bench", "mine", "--methods", "lsh,itq,ksh", "--seeds", 2)
    assert (again[1], "6 done, 0 to do" in again[2]) == (out, True)
    code, _, err = hashbench("bench", "mine", "--methods", "itq", "--bits", "4,2", "--seeds", 1)
    assert (code, [cell.column for cell in spec.load("bench_mine").cells]) == (0, ["4 bits", "2 bits"]), err


def test_the_settings_are_searched_first_and_kept_in_a_recipe(hashbench: Call) -> None:
    command = ["bench", "mine", "--methods", "itq,ksh", "--bits", "4", "--seeds", 1, "--tune", 2, "--name", "ours"]
    code, out, err = hashbench(*command)
    assert code == 0, err
    assert "Settings: tuned (2 trials of each method, search ours_search)." in out
    assert Path("results/tune/ours_search.jsonl").read_text().count("\n") == 1 + 2 * 2 * 3
    recipe = Path("experiments/recipes/ours.toml").read_text()
    assert 'when = { dataset = "mine", protocol = "own", model = "linear" }' in recipe
    assert recipe.count('tuned = "tune/ours_search.jsonl: trial ') == 2
    lines = hashbench("train", "ksh", "mine", "--bits", 4, "--set", "hash_functions=linear", "--dry-run")[
        1
    ].splitlines()
    assert next(line for line in lines if line.startswith("stored")).split(",")[0].split() == ["stored", "yes"]
    rows = Path("results/rows/mine-own.jsonl").read_text()
    code, again, _ = hashbench(*command)
    assert (code, again[again.index("## ") :]) == (0, out[out.index("## ") :])
    assert Path("results/rows/mine-own.jsonl").read_text() == rows
    assert Path("experiments/recipes/ours.toml").read_text() == recipe


def test_a_second_search_of_the_same_runs_is_refused_before_it_begins(hashbench: Call) -> None:
    command = ["bench", "mine", "--methods", "itq", "--bits", "4", "--seeds", 1, "--tune", 1, "--name"]
    assert hashbench(*command, "ours")[0] == 0
    before = sorted(Path().rglob("*"))
    code, out, err = hashbench(*command, "others")
    assert (code, out) == (2, "")
    assert err.endswith("recipes/ours.toml: it has the settings of these runs already: --name ours, or remove it\n")
    assert sorted(Path().rglob("*")) == before
    assert hashbench("table", "ours")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "itq,nope"], "--methods: nope is no method: hashbench list methods"),
        (["--methods", "itq,,ksh"], "--methods: an empty name is no method"),
        (["--methods", "digits"], "--methods: digits is no method"),
        (["--methods", "itq", "--name", "../x"], "--name ../x: letters, digits, _, - and dots are expected"),
        (["--methods", "itq", "--name", "/tmp/x"], "--name /tmp/x: letters"),
        (["--methods", "itq", "--name", "."], "--name .: letters"),
        (["--methods", "itq", "--bits", "16,x"], "--bits 16,x: whole numbers from 1, each once, are expected"),
        (["--methods", "itq", "--bits", "8,8"], "--bits 8,8: whole numbers from 1, each once, are expected"),
        (["--methods", "itq", "--bits", "0"], "--bits 0: whole numbers from 1"),
        (["--methods", "itq", "--name", "kept", "--tune", "1"], "kept.toml: it is there already: give another --name"),
        (["--methods", "itq", "--name", "talr-table1"], "talr_table1.toml: it is there already: give another --name"),
        (["--methods", "sparse_hash"], "sparse_hash makes no binary codes"),
        (["--methods", "pq"], "pq makes no binary codes"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_writes_nothing(
    options: list[str], message: str, hashbench: Call
) -> None:
    if "kept" in options:
        Path("experiments/recipes").mkdir(parents=True)
        Path("experiments/recipes/kept.toml").write_text("# mine")
    before = sorted(Path().rglob("*"))
    code, out, err = hashbench("bench", "mine", *options)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert message in err
    assert sorted(Path().rglob("*")) == before


def test_the_current_folder_is_a_root_where_it_declares_tables(hashbench: Call) -> None:
    assert paths.roots() == [paths.shipped()]
    Path("experiments/tables").mkdir(parents=True)
    assert paths.roots() == [Path.cwd(), paths.shipped()]
    assert hashbench("list", "tables")[0] == 0


def test_a_folder_of_images_and_weights_of_ones_own_end_in_a_table(hashbench: Call) -> None:
    for part, n in (("train", 6), ("test", 2)):
        for shade, name in enumerate(("dark", "grey", "bright")):
            folder = Path("shades") / part / name
            folder.mkdir(parents=True)
            for i in range(n):
                values = RNG.integers(0, 60, (16, 16, 3)) + 90 * shade
                Image.fromarray(values.astype(np.uint8)).save(folder / f"{i}.png")
    assert hashbench("dataset", "add", "shades", "shades/train", "shades/test")[0] == 0
    torch.manual_seed(0)
    tensors = models.get_model(SQUEEZED, weights=None).state_dict()
    torch.save({"epoch": 3, "state_dict": {f"module.{name}": each for name, each in tensors.items()}}, "mine.pth")
    command = ["bench", "shades", "--methods", "itq", "--bits", 8, "--seeds", 1, "--features"]
    code, out, err = hashbench(*command, SQUEEZED, "--weights", "mine.pth")
    assert code == 0, err
    stem = f"{SQUEEZED}_{file_sha256(Path('mine.pth'))[:12]}"
    assert {cell.settings["features"] for cell in spec.load("bench_shades").cells} == {stem}
    Path("mine.pth").unlink()
    code, again, err = hashbench(*command, stem)  # the stored features, by their name
    assert (code, again, "1 done, 0 to do" in err) == (0, out, True), err
    assert hashbench(*command, f"{SQUEEZED}_random", "--name", "random")[0] == 0
    assert {cell.settings["features"] for cell in spec.load("random").cells} == {f"{SQUEEZED}_random"}


def test_weights_are_those_of_a_network(hashbench: Call) -> None:
    Path("mine.pth").write_bytes(b"")
    command = ["bench", "mine", "--methods", "itq"]
    assert (
        "--weights are those of a network: --features MODEL is missing"
        in hashbench(*command, "--weights", "mine.pth")[2]
    )
    advice = "--features mine.pth is a file: --features MODEL --weights mine.pth"
    assert advice in hashbench(*command, "--features", "mine.pth")[2]


def test_a_table_may_name_the_features_of_any_network_of_torchvision(hashbench: Call) -> None:
    assert hashbench("bench", "mine", "--methods", "itq", "--bits", "4", "--seeds", 1)[0] == 0
    text = Path("experiments/tables/bench_mine.toml").read_text()
    for name, is_known in {"resnet18_0123456789ab": True, "resnet18_random": True, "resnet17": False}.items():
        Path("experiments/tables/ours.toml").write_text(text.replace("bits = 4", f'bits = 4, features = "{name}"'))
        code, out, err = hashbench("table", "ours")
        assert (code, "ITQ" in out) == ((0, True) if is_known else (2, False)), err


def test_a_recipe_may_be_for_the_features_of_any_network_of_torchvision(hashbench: Call) -> None:
    recipe = Path("experiments/recipes/ours.toml")
    recipe.parent.mkdir(parents=True)
    for name, is_known in {"resnet18": True, "resnet18_random": True, "resnet17": False}.items():
        when = f'dataset = "mine", model = "linear", features = "{name}"'
        recipe.write_text(f'title = "ours"\nwhy = "a test"\nwhen = {{ {when} }}\nextends = "linear"\n')
        code, _, err = hashbench("train", "mihash", "mine", "--bits", 4, "--set", f"features={name}", "--dry-run")
        assert (code, "unknown features 'resnet17'" in err) == ((0, False) if is_known else (2, True)), err
