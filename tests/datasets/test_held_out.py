"""Queries of a search: held out of the database, none of them a query that a table shows."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from support.one_line import one_line
from support.stored_toy import card_of

from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.protocol import nth_seed
from hashbench.running.datasets.split import Split, split
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.run import Run

LABELS = np.arange(600) % 6
PROTOCOLS = """
[protocols.s1]
title = "by class"
citation = "none"
queries_per_class = 10
train_per_class = 20

[protocols.s2]
draw = "random"
title = "at random, training items apart from the database"
citation = "none"
queries = 90
train = 120
database = "rest_without_train"

[protocols.s3]
draw = "parts"
title = "fixed"
citation = "none"
query = [0, 50]
database = [50, 600]
train = [50, 600]
"""


def held_out(of: str, left_out: list[str], study: int = 0, splits: int | None = None) -> Split:
    rule = load_card("toy").held_out(of, left_out, study, splits)
    return split(LABELS, rule, "toy", f"{of}_held_out")


def shared(a: np.ndarray, b: np.ndarray) -> int:
    return int(np.intersect1d(a, b).size)


@pytest.fixture
def toy(tmp_path: Path) -> None:
    card_of(tmp_path / "root", np.zeros((600, 3), np.float32), LABELS, PROTOCOLS)


@pytest.mark.parametrize(
    "of, left_out", [("s1", ["s1"]), ("s1", ["s1", "s2", "s3"]), ("s2", ["s1", "s2"]), ("s3", ["s1", "s3"])]
)
def test_no_query_of_a_table_is_in_any_list(toy: None, of: str, left_out: list[str]) -> None:
    chosen = held_out(of, left_out)
    base = split(LABELS, load_card("toy").protocol(of), "toy", of)
    for name in left_out:
        shown = split(LABELS, load_card("toy").protocol(name), "toy", name).query_ids
        assert [shared(ids, shown) for ids in chosen.lists().values()] == [0, 0, 0], name
    assert shared(chosen.query_ids, chosen.database_ids) == shared(chosen.query_ids, chosen.train_ids) == 0
    assert shared(chosen.query_ids, base.database_ids) == len(chosen.query_ids)
    assert shared(chosen.database_ids, base.database_ids) == len(chosen.database_ids)
    assert shared(chosen.train_ids, base.train_ids) == len(chosen.train_ids)
    # training items are inside the database, or apart from it, as in the protocol itself
    inside = shared(base.train_ids, base.database_ids) > 0
    assert shared(chosen.train_ids, chosen.database_ids) == (len(chosen.train_ids) if inside else 0)
    n_usable = len(chosen.query_ids) + len(chosen.database_ids)
    assert len(chosen.query_ids) == n_usable // 5
    if of == "s1":  # enough items that are not trained on
        assert shared(chosen.query_ids, base.train_ids) == 0


def test_each_study_has_other_queries_and_each_is_always_the_same(toy: None) -> None:
    studies = [held_out("s1", ["s1"], study).query_ids for study in range(4)]
    for a, b in combinations(studies, 2):
        assert shared(a, b) < 0.5 * len(a)
    assert np.array_equal(held_out("s1", ["s1"], 2).query_ids, studies[2])


@pytest.mark.parametrize("of, repeat", [("s1", 0), ("s1", 2), ("s2", 1), ("s3", 1)])
def test_no_query_of_any_split_of_a_table_chooses_settings(toy: None, of: str, repeat: int) -> None:
    card = load_card("toy")
    chosen = held_out(of, ["s1", "s2", "s3"], repeat, splits=3)
    for name, rule in card.protocols.items():
        for n in range(3):
            shown = split(LABELS, rule, "toy", name, nth_seed(rule, n)).query_ids
            assert shared(chosen.query_ids, shown) == 0, (name, n)
    # all else is that split of the protocol itself, so each repeat has other training items
    base = split(LABELS, card.protocol(of), "toy", of, nth_seed(card.protocol(of), repeat))
    assert np.array_equal(chosen.database_ids, np.setdiff1d(base.database_ids, chosen.query_ids))
    assert np.array_equal(chosen.train_ids, np.setdiff1d(base.train_ids, chosen.query_ids))
    assert np.isin(chosen.query_ids, base.database_ids).all() and len(chosen.query_ids) == len(base.database_ids) // 5


def test_the_queries_of_two_repeats_have_no_order_in_common(toy: None) -> None:
    first, second = (held_out("s1", ["s1"], repeat, splits=1) for repeat in (0, 1))
    share = shared(first.query_ids, second.query_ids) / len(first.query_ids)
    assert 0.05 < share < 0.4  # a fifth by chance


def test_a_protocol_whose_items_are_all_queries_of_another_is_one_line(tmp_path: Path) -> None:
    card_of(tmp_path / "root", np.zeros((600, 3), np.float32), LABELS, PROTOCOLS)
    few = PROTOCOLS.replace("query = [0, 50]", "query = [4, 600]").replace("[50, 600]", "[0, 4]")
    card_of(tmp_path / "root", np.zeros((600, 3), np.float32), LABELS, few)
    with one_line() as caught:
        held_out("s3", ["s3"])
    assert str(caught.value) == (
        "toy s3_held_out: 4 items of the database and 4 training items are no query of s3: too few to hold queries out"
    )


def test_runs_on_held_out_queries_of_the_digits() -> None:
    card = load_card("digits")
    runs = [Run.resolve("digits", card.held_out("s1", ["s1"], study), "lsh", {"bits": 16}) for study in (0, 1)]
    # written down once: a search is resumed by these names
    assert [str(run.name) for run in runs] == GOLDEN_NAMES
    labels = open_dataset(card).labels
    splits = [split(labels, run.protocol, "digits", run.name.protocol) for run in runs]
    assert [len(ids) for ids in splits[0].lists().values()] == [259, 1038, 500]
    assert splits[0].sha256 != splits[1].sha256
    shown = split(labels, card.protocol("s1"), "digits", "s1")
    assert [shared(ids, shown.query_ids) for ids in splits[0].lists().values()] == [0, 0, 0]


GOLDEN_NAMES = ["digits-s1_held_out-lsh-16b-s0-a2c584034e", "digits-s1_held_out-lsh-16b-s0-742ed120e0"]
