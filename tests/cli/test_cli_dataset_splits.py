"""``hashbench dataset add`` where the queries are given, and the protocol that holds queries out to choose settings."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.command_line import CommandLine

from hashbench.running.datasets import store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import Split, split

RNG = np.random.default_rng(7)
ITEMS = RNG.standard_normal((30, 4)).astype(np.float32)
LABELS = np.arange(30) % 3
BASE = slice(0, 24)
QUERY = slice(24, 30)

pytestmark = pytest.mark.usefixtures("here")


def drawn(name: str, protocol: str = "own") -> Split:
    card = load_card(name)
    return split(store.verify(card).labels, card.protocol(protocol), name, protocol)


def write_images(folder: str, classes: dict[str, int]) -> None:
    for name, n in classes.items():
        Path(folder, name).mkdir(parents=True)
        for number in range(n):
            Image.fromarray(RNG.integers(0, 255, (4, 4, 3), np.uint8)).save(Path(folder, name, f"{number}.png"))


def two_files() -> str:
    for name, rows in (("db", BASE), ("q", QUERY)):
        np.savez(f"{name}.npz", items=ITEMS[rows], labels=LABELS[rows])
    return "db.npz q.npz"


def one_file(*keys: str) -> str:
    arrays = (ITEMS[BASE], LABELS[BASE], ITEMS[QUERY], LABELS[QUERY])
    np.savez("all.npz", **dict(zip(keys, arrays, strict=True)))
    return "all.npz"


@pytest.mark.parametrize(
    "make",
    [
        two_files,
        partial(one_file, "X_train", "y_train", "X_test", "y_test"),
    ],
)
def test_the_queries_are_those_that_are_given(make: Callable[[], str], hashbench: CommandLine) -> None:
    answer = hashbench.done("dataset add mine", make())
    rule = "own: 6 queries, which are given; the whole database is trained on: 6 queries, 24 in the database"
    assert rule in answer.text
    assert answer.err == ""
    data = store.verify(load_card("mine"))
    ids = drawn("mine")
    np.testing.assert_allclose(data.items, ITEMS, atol=1e-6)
    assert data.labels.tolist() == LABELS.tolist()
    assert ids.query_ids.tolist() == [*range(24, 30)]
    assert ids.database_ids.tolist() == [*range(24)]
    assert ids.train_ids.tolist() == ids.database_ids.tolist()
    repeated = load_card("mine").made_from  # from any folder
    assert all(Path(word).is_absolute() for word in repeated.split() if not word.startswith("--"))
    hashbench.done(f"dataset add mine {repeated} --replace")
    assert drawn("mine").sha256 == ids.sha256


def test_folders_of_train_and_test_images(hashbench: CommandLine) -> None:
    write_images("set/train", {"cat": 3, "dog": 4})
    write_images("set/test", {"dog": 2, "cat": 1})
    hashbench.done("dataset add pets set/train", Path("set/test").resolve())
    data = store.verify(load_card("pets"))
    assert load_card("pets").class_names == ["cat", "dog"]
    assert data.labels.tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 1, 1]
    assert drawn("pets").query_ids.tolist() == [7, 8, 9]
    assert data.names is not None
    assert data.names[0] == b"train/cat/0.png"
    assert data.names[-1] == b"test/dog/1.png"
    np.testing.assert_array_equal(data.items[-1], np.asarray(Image.open("set/test/dog/1.png")))


def test_a_protocol_for_choosing_settings_has_no_query_of_its_own_protocol(hashbench: CommandLine) -> None:
    hashbench.done("dataset add mine", two_files())
    own_ids = drawn("mine").database_ids.tolist()
    chosen = drawn("mine", "own_held_out")
    assert len(chosen.query_ids) == len(own_ids) // 5
    ids = {*chosen.query_ids.tolist(), *chosen.database_ids.tolist(), *chosen.train_ids.tolist()}
    assert ids == set(own_ids)
    row = hashbench.json("train itq mine --protocol own_held_out --bits 4")
    assert row["protocol"] == "own_held_out"
    assert row["searches"]["database"]["ap"]["n_queries"] == len(chosen.query_ids)
