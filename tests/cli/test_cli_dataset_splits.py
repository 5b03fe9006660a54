"""``hashbench dataset add`` where the queries are given, and the protocol that holds queries out to choose settings."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine

from hashbench.datasets import store
from hashbench.datasets.card import load_card
from hashbench.datasets.split import Split, split

RNG = np.random.default_rng(7)
ITEMS, LABELS = RNG.standard_normal((30, 4)).astype(np.float32), np.arange(30) % 3


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    return partial(call, capsys)


def drawn(name: str, protocol: str = "own") -> Split:
    card = load_card(name)
    return split(store.verify(card).labels, card.protocol(protocol), name, protocol)


def write_images(folder: str, classes: dict[str, int]) -> None:
    for name, n in classes.items():
        Path(folder, name).mkdir(parents=True)
        for number in range(n):
            Image.fromarray(RNG.integers(0, 255, (4, 4, 3), np.uint8)).save(Path(folder, name, f"{number}.png"))


def two_files() -> list[str]:
    np.savez("db.npz", items=ITEMS[:24], labels=LABELS[:24])
    np.savez("q.npz", items=ITEMS[24:], labels=LABELS[24:])
    return ["db.npz", "q.npz"]


def one_file(keys: tuple[str, str, str, str]) -> list[str]:
    np.savez("all.npz", **dict(zip(keys, (ITEMS[:24], LABELS[:24], ITEMS[24:], LABELS[24:]), strict=True)))
    return ["all.npz"]


@pytest.mark.parametrize(
    "make",
    [
        two_files,
        partial(one_file, ("train", "train_labels", "test", "test_labels")),
        partial(one_file, ("X_train", "y_train", "X_test", "y_test")),
    ],
)
def test_the_queries_are_those_that_are_given(make: Callable[[], list[str]], hashbench: CommandLine) -> None:
    arguments = make()
    code, out, err = hashbench("dataset add mine", *arguments)
    assert (code, err) == (0, "")
    rule = "own: 6 queries, which are given; the whole database is trained on: 6 queries, 24 in the database"
    assert rule in " ".join(out.split())
    data, found = store.verify(load_card("mine")), drawn("mine")
    np.testing.assert_allclose(data.items, ITEMS, atol=1e-6)
    assert data.labels.tolist() == LABELS.tolist()
    assert (found.query_ids.tolist(), found.database_ids.tolist()) == ([*range(24, 30)], [*range(24)])
    assert found.train_ids.tolist() == found.database_ids.tolist()
    code, out, _ = hashbench("train itq mine --bits 4 --json")
    assert (code, json.loads(out)["searches"]["database"]["ap"]["n_queries"]) == (0, 6)
    code, _, err = hashbench("train itq mine --bits 4 --split 1")
    assert (code, err) == (2, "error: split 1: nothing is drawn in mine own, its ids are given: it has one split\n")
    repeated = load_card("mine").made_from.split()  # from any folder
    assert all(Path(word).is_absolute() for word in repeated if not word.startswith("--"))
    assert hashbench("dataset add mine", *repeated, "--replace").code == 0
    assert drawn("mine").sha256 == found.sha256


def test_ids_need_not_be_the_last_items(hashbench: CommandLine) -> None:
    np.savez("all.npz", items=ITEMS, labels=LABELS)
    Path("q.txt").write_text("3\n0\n7")
    assert hashbench("dataset add mine all.npz --query-ids q.txt").code == 0
    assert drawn("mine").query_ids.tolist() == [0, 3, 7]
    assert set(drawn("mine").database_ids.tolist()) == set(range(30)) - {0, 3, 7}


def test_folders_of_train_and_test_images(hashbench: CommandLine) -> None:
    write_images("set/train", {"cat": 3, "dog": 4})
    write_images("set/test", {"dog": 2, "cat": 1})
    assert hashbench("dataset add pets set/train", Path("set/test").resolve()).code == 0
    data = store.verify(load_card("pets"))
    assert (load_card("pets").class_names, data.labels.tolist()) == (["cat", "dog"], [0, 0, 0, 1, 1, 1, 1, 0, 1, 1])
    assert drawn("pets").query_ids.tolist() == [7, 8, 9]
    assert data.names is not None
    assert [data.names[0], data.names[-1]] == [b"train/cat/0.png", b"test/dog/1.png"]
    np.testing.assert_array_equal(data.items[-1], np.asarray(Image.open("set/test/dog/1.png")))


def test_ids_of_images_are_their_paths(hashbench: CommandLine) -> None:
    write_images("pets", {"cat": 3, "dog": 4})
    Path("q.txt").write_text("dog/2.png\ncat/0.png\n")
    assert hashbench("dataset add pets pets --query-ids q.txt").code == 0
    assert drawn("pets").query_ids.tolist() == [0, 5]


@pytest.mark.parametrize("given", [True, False])
def test_a_protocol_for_choosing_settings_has_no_query_of_its_own_protocol(given: bool, hashbench: CommandLine) -> None:
    np.savez("all.npz", items=ITEMS, labels=LABELS)
    assert hashbench("dataset add mine", *(two_files() if given else ["all.npz"])).code == 0
    own, chosen = drawn("mine"), drawn("mine", "own_held_out")
    assert len(chosen.query_ids) == len(own.database_ids) // 5
    held = {*chosen.query_ids.tolist(), *chosen.database_ids.tolist(), *chosen.train_ids.tolist()}
    assert held == set(own.database_ids.tolist())
    code, out, _ = hashbench("train itq mine --protocol own_held_out --bits 4 --json")
    row = json.loads(out)
    assert (code, row["protocol"]) == (0, "own_held_out")
    assert row["searches"]["database"]["ap"]["n_queries"] == len(chosen.query_ids)
    code, _, err = hashbench("train itq mine --protocol other_held_out --bits 4")
    assert (code, err.count("\n")) == (2, 1)
    assert "unknown protocol of mine 'other_held_out'" in err
