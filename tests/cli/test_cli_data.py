"""``hashbench split`` and ``hashbench download``."""

import numpy as np
import pytest
from support.searches import search_of
from support.stored_toy import store_toy
from support.toy_dataset import make_toy

from hashbench.foundation import paths

DIGITS_S1 = "fd9d2da3b32a2450bb0c6f70a3c76e41645d7eb45ed80e892320bdbc0de8e110"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    return make_toy(tmp_path / "root")


def test_split_json_is_one_object_and_check_adds_its_findings(hashbench):
    report = hashbench.json("split DIGITS --protocol S1 --seed 1 --check")
    assert report["path"] == str(paths.data() / "digits" / "splits" / "s1-seed1.npz")
    assert report["sizes"] == {"query": 500, "database": 1297, "train": 500}
    assert report["sha256"] != DIGITS_S1
    with np.load(report["path"], allow_pickle=False) as file:
        assert file["sha256"].item() == report["sha256"]
    assert report["check"]["leaks"] == []
    assert list(report["check"]["checksums"]) == ["query", "database", "train"]
    assert report["check"]["class_counts"]["query"] == [50] * 10
    assert len(report["check"]["labels_sha256"]) == 64


def test_split_check_that_fails_exits_1_and_writes_nothing(hashbench, toy, tmp_path):
    toy.card.write_text(toy.card.read_text() + f'ids_sha256 = "{"0" * 64}"\n')
    hashbench("download toy --from-dir", toy.write_files(tmp_path / "given"))
    code, out, err = hashbench("split toy --protocol s1 --check")
    assert code == 1
    assert out == ""
    assert err.startswith("error: toy: the ids have checksum")
    assert not (paths.data() / "toy" / "splits").exists()


def test_split_check_says_what_it_proved_and_found(hashbench, tmp_path):
    items = np.arange(24, dtype=np.float32).reshape(12, 2)
    items[11] = items[3]
    names = np.array([b"%d.jpg" % item for item in range(12)])
    parts = '[protocols.s1]\ndraw = "parts"\ntitle = ""\ncitation = ""\nquery = [10, 12]\n'
    store_toy(tmp_path, items, np.arange(12) % 2, parts + "database = [0, 10]\ntrain = [2, 8]\n", names=names)
    code, out, err = hashbench("split toy --protocol s1 --check")
    assert code == 0
    assert err == ""
    *_, labels, notes = out.split("\n\n")
    assert labels.splitlines() == [
        "query     1 items of each of 2 labels",
        "database  5 items of each of 2 labels",
        "train     3 items of each of 2 labels",
    ]
    assert " ".join(notes.split()).split("- ")[1:] == [
        "sizes, counts and places are as the protocol says; no query is in another list by its id ",
        "leak: 1 query items have an identical item in the database list: 11 (is 3) ",
        "leak: 1 query items have an identical item in the train list: 11 (is 3) ",
        "0 queries have an item of the same file name in the database or in training",
    ]


def test_split_check_says_which_queries_chose_settings_and_that_the_splits_test_none(hashbench):
    search_of({"lsh": [[0.5, 0.4]]}, "ours", splits=5).save()
    code, out, err = hashbench("split digits --check")
    line = "validation: 0 of the 259 queries of each of 2 lists are test queries of the first 5 splits (searches: ours)"
    assert code == 0
    assert err == ""
    assert " ".join(out.split()).endswith(f"- {line}")
    validation = hashbench.json("split digits --check")["validation"]
    assert [(lists["searches"], lists["n_tested"], lists["is_old"]) for lists in validation] == [(["ours"], 0, False)]
    assert "validation" not in hashbench("split digits").out


def test_split_needs_the_labels_alone(hashbench, tmp_path):
    rule = '[protocols.s1]\ndraw = "stratified"\ntitle = ""\ncitation = ""\n'
    rule += "query = [20, 24]\npool = [0, 20]\nvalidation = 4\n"
    store_toy(tmp_path, np.zeros((24, 2, 2, 3), np.uint8), np.arange(24) % 2, rule, labels_only=True)
    code, out, err = hashbench("split toy --protocol s1 --check")
    assert code == 0
    assert err == ""
    assert out.splitlines()[-1] == "- not compared by bytes: the items are not here"
    assert "validation      4  " in out
    with np.load(paths.data() / "toy" / "splits" / "s1-seed0.npz", allow_pickle=False) as file:
        assert len(file["validation_ids"]) == 4


def test_download_from_a_folder_then_again(hashbench, toy, tmp_path):
    expected = (0, f"toy: 24 items, in {paths.data() / 'toy' / 'toy.h5'}\n", "")
    assert hashbench("download toy --from-dir", toy.write_files(tmp_path / "given")) == expected
    assert hashbench("download toy") == expected


def test_download_of_an_embedded_set_says_so(hashbench):
    code, out, _ = hashbench("download digits")
    assert code == 0
    assert out == "digits: 1,797 items, ships with an installed package, nothing to download\n"
