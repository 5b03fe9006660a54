"""``hashbench search``: the user's own images as the queries of a run."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine

from hashbench.running.runs.store import Store
from hashbench.scoring.codes import files

TRAIN = "train lsh digits --protocol s1 --bits 16 --json"


@pytest.fixture
def run(hashbench: CommandLine) -> str:
    name: str = json.loads(hashbench(TRAIN).out)["run"]
    return name


def test_one_image_and_a_folder_are_queries_of_a_run(hashbench: CommandLine, run: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for n in range(2):
        Image.fromarray(np.full((8, 8), 3 * n, np.uint8) + np.eye(8, dtype=np.uint8)).save(own / f"{n}.png")
    out = tmp_path / "one.npz"
    hashbench.done(f"encode {run}", own / "1.png", f"--out {out}")
    with np.load(out) as saved:
        assert saved["names"].tolist() == ["1.png"]
        code = saved["codes"][0]
    store = Store.default()
    database = files.load(store.run_folder(store.named(run).run) / "codes.npz").database.bits()
    near = np.argsort((code != database).sum(axis=1), kind="stable")[:3].tolist()
    one = hashbench.json(f"search {run}", own / "1.png", "--top 3")
    assert one["names"] == ["1.png"]
    assert one["ids"] == [near]
    printed = hashbench.done(f"search {run} {own} --top 3").lines
    lines = printed[4:]
    assert [line.split()[0] for line in lines] == ["0.png", "1.png"]
    assert [int(word) for word in lines[1].split()[1::2]] == near
    hashbench(f"search {run} {own} --top 3 --out", tmp_path / "near.npz")
    with np.load(tmp_path / "near.npz") as found:
        assert found["ids"][1].tolist() == near
