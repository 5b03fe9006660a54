"""Runs on another split than the protocol's own: names, data, and all that takes a run back from its row."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.errors import CheckFailed
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import draw
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

OWN = "digits-s1-lsh-8b-s0-"
OTHER = "digits-s1-lsh-8b-split7-s0-"
SMALL = {"epochs": 1, "steps_per_epoch": 3, "batch_size": 10, "classes_per_batch": 5, "augment": "none"}
SPARSE = {"d": 8, "k": 2, "model": "mlp", **{f"base.{key}": value for key, value in SMALL.items()}}
SPARSE |= {"base.augment_per": "item"}


@pytest.fixture
def row(tmp_path: Path) -> Row:
    return row_of(on_digits("lsh", {"bits": 8}, split_seed=7), Store(tmp_path / "results"))


def test_the_seed_of_the_split_is_in_the_name_the_row_and_the_configuration(row: Row, tmp_path: Path) -> None:
    assert row.run.startswith(OTHER)
    assert row.split_seed == 7
    assert row.seed == 0
    assert row.config["data"]["split"]["seed"] == 7
    assert "ids_sha256" not in row.config["data"]["split"]
    own = on_digits("lsh", {"bits": 8})
    assert str(own.name).startswith(OWN) and own.name.cell_hash != row.cell_hash
    assert own.derived_seed != Run.from_row(row).derived_seed
    assert Store(tmp_path / "results").find("digits", "s1", row.run) == row


def test_the_own_seed_of_a_protocol_names_the_same_run() -> None:
    for names in (("digits", "s1"), ("cifar100", "sparse_hash")):
        own = load_card(names[0]).protocol(names[1]).seed
        method = "lsh"
        settings = {"bits": 8}
        given = Run.resolve(*names, method, settings, split_seed=own)
        assert given == Run.resolve(*names, method, settings) and given.name.split_seed is None


def test_the_run_is_on_the_split_that_the_seed_draws(row: Row) -> None:
    data = open_data(Run.from_row(row))
    labels = data.dataset.labels
    expected = draw(data.run.protocol, labels, "digits/s1-7", 7)
    assert np.array_equal(data.ids.query_ids, expected.query_ids)
    own = open_data(on_digits("lsh", {"bits": 8}))
    assert not np.array_equal(data.ids.query_ids, own.ids.query_ids)
    assert row.ids_sha256 == data.ids.sha256 != own.ids.sha256


def test_a_row_of_another_rule_than_that_of_the_card_is_refused(row: Row) -> None:
    spec = Run.from_row(row)
    other = {**spec.name.data, "split": {**spec.name.data["split"], "queries_per_class": 40}}
    with pytest.raises(CheckFailed, match="the data or the split are no longer those that the run is named by"):
        open_data(replace(spec, name=replace(spec.name, data=other)))


def test_the_base_is_on_the_same_split_and_comes_back_from_the_row(tmp_path: Path) -> None:
    store = Store(tmp_path)
    spec = on_digits("sparse_th", SPARSE, split_seed=3)
    assert spec.base is not None
    assert spec.base.name.split_seed == 3
    assert spec.base.name.data == spec.name.data
    found = row_of(spec, store)
    (base,) = (row for row in store.rows() if row.method == "exhaustive_search")
    assert base.run == str(spec.base.name)
    assert base.split_seed == 3
    assert base.ids_sha256 == found.ids_sha256
    again = Run.from_row(found)
    assert str(again.name) == found.run
    assert (again.base and str(again.base.name)) == base.run


def test_a_published_split_has_no_other() -> None:
    with one_line() as caught:
        Run.resolve("cifar10", "s2_official", "lsh", {"bits": 8}, split_seed=7)
    said = "split 7: nothing is drawn in cifar10 s2_official, its ids are given: it has one split"
    assert str(caught.value) == said
