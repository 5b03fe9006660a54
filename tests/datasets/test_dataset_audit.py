import dataclasses

import numpy as np
import pytest

from hashbench.datasets.audit import audit
from hashbench.datasets.protocol import PerClass as Protocol
from hashbench.datasets.split import Split, split
from hashbench.datasets.store import Dataset
from hashbench.errors import CheckFailed

RULE = Protocol(title="", queries_per_class=2, train_per_class=3, citation="", n_queries=4, n_database=14, n_train=6)
LABELS = np.repeat(np.arange(2), 9)
DATA = Dataset("toy", np.arange(18, dtype=np.uint8).reshape(18, 1, 1, 1), LABELS, "")
SOUND = split(LABELS, RULE, "toy", "s1")


def changed(**lists: list[int]) -> Split:
    return dataclasses.replace(SOUND, **{key: np.array(ids, np.int64) for key, ids in lists.items()})


def test_a_sound_split_passes_and_each_list_has_a_checksum():
    found = audit(DATA, SOUND, RULE, seed=0)
    assert found.n_duplicates == 0
    assert list(found.checksums) == ["query", "database", "train"]
    assert len(set(found.checksums.values())) == 3


def test_identical_items_under_two_ids_are_counted():
    items = DATA.items.copy()
    items[SOUND.query_ids[1]] = items[SOUND.database_ids[0]]
    items[SOUND.query_ids[2]] = items[SOUND.query_ids[3]]  # two equal queries are no leak
    assert audit(dataclasses.replace(DATA, items=items), SOUND, RULE, seed=0).n_duplicates == 1


QUERY, DATABASE, TRAIN = (ids.tolist() for ids in SOUND.lists().values())
FAULTS = {
    "shared": (changed(database_ids=sorted([*DATABASE[1:], QUERY[0]])), "1 queries are in the database"),
    "outside": (changed(train_ids=sorted([*TRAIN[1:], QUERY[0]])), "1 training items are not in the database"),
    "unsorted": (changed(query_ids=QUERY[::-1]), "query ids are not sorted and unique"),
    "twice": (changed(train_ids=[TRAIN[0], *TRAIN[:-1]]), "train ids are not sorted and unique"),
    "beyond": (changed(database_ids=[*DATABASE[:-1], 18]), "0 to 17 exist"),
    "fewer": (changed(database_ids=DATABASE[:-1], train_ids=[]), "13 database ids; the card states 14"),
    "unbalanced": (
        changed(train_ids=[item for item in DATABASE if LABELS[item] == 0][:6]),
        "class 0 has 6 train ids; the protocol asks for 3",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_the_check(fault):
    chosen, message = FAULTS[fault]
    with pytest.raises(CheckFailed, match=message):
        audit(DATA, chosen, RULE, seed=0)


def test_the_pinned_checksum_holds_for_the_protocols_own_seed_only():
    pinned = RULE.model_copy(update={"ids_sha256": "0" * 64})
    with pytest.raises(CheckFailed, match=f"the ids have checksum {SOUND.sha256}"):
        audit(DATA, SOUND, pinned, seed=0)
    audit(DATA, SOUND, pinned, seed=1)
