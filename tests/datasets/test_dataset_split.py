import hashlib

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import PerClass as Protocol
from hashbench.running.datasets.protocol import Stratified
from hashbench.running.datasets.split import split, write
from hashbench.running.datasets.store import open_dataset


def protocol(queries: int, train: int, seed: int = 0) -> Protocol:
    return Protocol(title="", queries_per_class=queries, train_per_class=train, citation="", seed=seed)


# written down once: an id list that changes is another benchmark
GOLDEN = "fd9d2da3b32a2450bb0c6f70a3c76e41645d7eb45ed80e892320bdbc0de8e110"


def test_digits_s1_is_what_it_always_was():
    data = open_dataset(load_card("digits"))
    chosen = split(data.labels, load_card("digits").protocol("s1"), "digits", "s1")
    assert chosen.sha256 == GOLDEN
    assert [len(ids) for ids in chosen.lists().values()] == [500, 1297, 500]


def test_the_checksum_is_of_the_lists_with_their_names_and_lengths():
    chosen = split(np.array([0, 0, 1, 1]), protocol(1, 0), "a", "b")
    by_hand = b"".join(
        f"{role} 2\n".encode() + b"".join(int(item).to_bytes(8, "little") for item in ids)
        for role, ids in chosen.lists().items()
    )
    assert chosen.sha256 == hashlib.sha256(by_hand).hexdigest()


def test_dataset_protocol_and_seed_each_change_the_ids():
    labels = np.repeat(np.arange(10), 60)
    others = [("a", "s1", 0), ("b", "s1", 0), ("a", "s2", 0), ("a", "s1", 1)]
    chosen = {split(labels, protocol(5, 5), dataset, name, seed).sha256 for dataset, name, seed in others}
    assert len(chosen) == len(others)
    assert split(labels, protocol(5, 5), "A", "S1").sha256 == split(labels, protocol(5, 5), "a", "s1", 0).sha256


@pytest.mark.parametrize("labels", [[-1, -1], []])
def test_without_a_class_nothing_is_drawn(labels):
    with one_line(r"^a s1: no item has a class"):
        split(np.array(labels, np.int64), protocol(1, 1), "a", "s1")


STRATIFIED = Stratified(title="", citation="", draw="stratified", query=[20, 27], pool=[0, 20], validation=4)


@pytest.mark.parametrize("rule", [protocol(2, 3), STRATIFIED])
def test_the_file_holds_the_lists_and_their_checksum(tmp_path, rule):
    chosen = split(np.arange(27) % 3, rule, "a", "s1")
    for name in ("one.npz", "two.npz"):
        write(tmp_path / "splits" / name, chosen)
    with np.load(tmp_path / "splits" / "one.npz", allow_pickle=False) as file:
        assert file["sha256"].item() == chosen.sha256
        assert {*file} == {"sha256", *(f"{role}_ids" for role in chosen.lists())}
        for role, ids in chosen.lists().items():
            np.testing.assert_array_equal(file[f"{role}_ids"], ids)
    assert (tmp_path / "splits" / "one.npz").read_bytes() == (tmp_path / "splits" / "two.npz").read_bytes()
