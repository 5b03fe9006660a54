"""The commands of the docs for ImageNet100, on a folder of its layout: five images a class, drawn here."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command_line import status

from hashbench.datasets.card import load_card

pytest.importorskip("torch", reason="needs the extra train")  # before the images are drawn

REPOSITORY = Path(__file__).resolve().parents[2]
SMALLER = {  # 2 training images a class, 2 more in the database, a query
    r"n_items = \d+": "n_items = 500",
    r"class_counts = \[.*?\]": f"class_counts = {[5] * 100}",
    r"(labels|ids)_sha256 = .*": "",
    r"train = \[.*\]": "train = [0, 200]",
    r"database = \[.*\]": "database = [0, 400]",
    r"query = \[.*\]": "query = [400, 500]",
    r"n_queries = \d+": "n_queries = 100",
    r"n_database = \d+": "n_database = 400",
    r"n_train = \d+": "n_train = 200",
}


@pytest.fixture
def photographs(tmp_path, monkeypatch):
    """The folders of ILSVRC2012 with the three lists beside them, and a card of so many items.

    An image is a pattern of its class under noise; sides differ, and some images are grey, as in ILSVRC2012.
    """
    classes = load_card("imagenet100").class_names
    rng = np.random.default_rng(0)
    folder = tmp_path / "ILSVRC2012"
    lists = {"train": [], "database": [], "test": []}
    for row, name in enumerate(classes):
        one_hot = " ".join("1" if other == row else "0" for other in range(len(classes)))
        pattern = rng.integers(0, 256, (4, 4, 3))
        for number in range(5):
            is_query = number == 4
            path = f"val/ILSVRC2012_val_{row:08d}.JPEG" if is_query else f"train/{name}/{name}_{number}.JPEG"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            noisy = np.clip(pattern + rng.normal(0, 8, pattern.shape), 0, 255).astype(np.uint8)
            image = Image.fromarray(noisy).resize((60 + 8 * number, 50), Image.Resampling.BICUBIC)
            (image.convert("L") if row == 0 else image).save(folder / path)
            line = f"./data/imagenet/image/{Path(path).name} {one_hot}"
            lists["test" if is_query else "database"].append(line)
            if number < 2:
                lists["train"].append(line)
    for role, lines in lists.items():
        (folder / f"{role}.txt").write_text("".join(f"{line}\n" for line in lines))
    card = (REPOSITORY / "datasets" / "imagenet100.toml").read_text()
    for pattern, value in SMALLER.items():
        card, n = re.subn(pattern, value, card, flags=re.DOTALL if "class" in pattern else 0)
        assert n, pattern
    root = tmp_path / "root"
    (root / "datasets").mkdir(parents=True)
    (root / "datasets" / "imagenet100.toml").write_text(card)
    monkeypatch.setenv("HASHBENCH_ROOT", str(root))
    return folder


def test_the_commands_of_the_docs_take_photographs_to_a_row(photographs, tmp_path):
    assert status("download", "imagenet100", "--from-dir", str(photographs)) == 0
    assert status("train", "talr-ap", "imagenet100", "--bits", "32") == 0
    row = json.loads((tmp_path / "results" / "rows" / "imagenet100-hashnet.jsonl").read_text())
    assert row["config"]["settings"]["features"] == "efficientnet_lite0_128px"
    assert row["searches"]["database"]["ap"]["n_queries"] == 100
    assert row["searches"]["database"]["ap"]["mean"] > 0.5  # at random .01: images and labels go together
