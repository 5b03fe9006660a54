"""Audits: what makes them fail, and the duplicates that they find."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from hashbench.foundation.errors import CheckFailed
from hashbench.running.datasets import audit as auditing
from hashbench.running.datasets.audit import Audit, Leak, audit, byte_keys
from hashbench.running.datasets.protocol import Parts, PerClass, PerLabel, Protocol, Stratified
from hashbench.running.datasets.split import Split, split
from hashbench.running.datasets.store import Dataset, DatasetLabels
from hashbench.running.datasets.stored_file import array_sha256

N = 36
CLASSES = np.r_[np.arange(N - 1) % 2, -1]
HOT = np.stack([np.arange(N) % 2, np.arange(N) % 3 == 0], axis=1).astype(np.uint8)
ITEMS = np.arange(N, dtype=np.uint8).reshape(N, 1, 1, 1)
RULES: dict[str, Protocol] = {
    "per_class": PerClass(title="", queries_per_class=2, train_per_class=3, n_queries=4, n_database=N - 4, n_train=6),
    "apart": PerClass(title="", queries_per_class=2, train_per_class=3, database="rest_without_train"),
    "per_label": PerLabel(title="", draw="per_label", queries_per_label=2, train_per_label=3),
    "parts": Parts(title="", draw="parts", query=[30, 36], database=[0, 20], train=[10, 25]),
    "stratified": Stratified(title="", draw="stratified", query=[30, 35], pool=[0, 30], validation=8, n_validation=8),
}


def labelled(kind: str, names: np.ndarray | None = None) -> DatasetLabels:
    labels = HOT if kind == "per_label" else CLASSES
    return DatasetLabels("toy", labels, names, array_sha256(labels))


@cache
def sound(kind: str) -> Split:
    return split(labelled(kind).labels, RULES[kind], "toy", "s1")


def data(kind: str, items: np.ndarray = ITEMS, names: np.ndarray | None = None) -> Dataset:
    return Dataset("toy", items, labelled(kind).labels, "", names)


def audited(kind: str, chosen: Split | None = None, **changes: np.ndarray) -> Audit:
    return audit(data(kind, **changes), chosen or sound(kind), RULES[kind], seed=0)


@pytest.mark.parametrize("kind", RULES)
def test_a_sound_split_of_any_kind_passes(kind: str) -> None:
    chosen = sound(kind)
    report = audited(kind)
    assert report.leaks == []
    counted_labels = labelled(kind).labels[chosen.query_ids]
    counts = (
        counted_labels.sum(axis=0) if counted_labels.ndim == 2 else np.bincount(counted_labels[counted_labels >= 0])
    )
    assert report.class_counts["query"] == counts.tolist()
    assert report.compared_by == ["bytes"]
    assert report.sizes == {role: len(ids) for role, ids in chosen.lists().items()}
    assert len(set(report.checksums.values())) == len({ids.tobytes() for ids in chosen.lists().values()})
    assert report.ids_sha256 == chosen.sha256
    assert report.labels_sha256 == array_sha256(labelled(kind).labels)


def ids(kind: str, role: str) -> np.ndarray:
    return sound(kind).lists()[role]


def test_stated_sizes_are_compared() -> None:
    rule = RULES["per_class"].model_copy(update={"n_database": 99})
    with pytest.raises(CheckFailed, match="32 database ids; the card states 99"):
        audit(data("per_class"), sound("per_class"), rule, seed=0)
    without = dataclasses.replace(sound("stratified"), validation_ids=np.empty(0, np.int64))
    with pytest.raises(CheckFailed, match=r"^toy: 0 validation ids; the card states 8"):
        audited("stratified", without)


def test_the_pinned_checksum_holds_for_the_protocols_own_seed_only() -> None:
    chosen = sound("per_class")
    pinned = RULES["per_class"].model_copy(update={"ids_sha256": "0" * 64})
    with pytest.raises(CheckFailed, match=f"the ids have checksum {chosen.sha256}"):
        audit(data("per_class"), chosen, pinned, seed=0)
    audit(data("per_class"), chosen, pinned, seed=1)


def test_duplicates_in_other_lists_are_found_with_their_ids() -> None:
    query, database, train = (ids("apart", role) for role in ("query", "database", "train"))
    items = ITEMS.copy()
    items[query[1]] = items[database[3]] = items[database[0]]
    items[train[2]] = items[query[3]]
    items[query[0]] = items[query[2]]  # two equal queries are no leak
    assert audited("apart", items=items).leaks == [
        Leak("query", "database", "bytes", 1, [(int(query[1]), int(database[0]))]),
        Leak("query", "train", "bytes", 1, [(int(query[3]), int(train[2]))]),
    ]


def test_names_are_compared_where_there_are_any_and_bytes_where_there_are_items() -> None:
    names = np.array([f"{item}.jpg".encode() for item in range(N)])
    query = ids("per_class", "query")
    database = ids("per_class", "database")
    names[query[0]] = names[database[5]]
    report = audit(labelled("per_class", names), sound("per_class"), RULES["per_class"], seed=0)
    assert report.compared_by == ["file name"]
    assert report.leaks[0] == Leak("query", "database", "file name", 1, [(int(query[0]), int(database[5]))])
    assert audited("per_class", names=names).compared_by == ["bytes", "file name"]


def test_keys_are_of_the_bytes_whatever_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    items = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    items[7] = items[33]
    items[8], items[9] = 0.0, -0.0  # equal numbers of other bytes
    whole = byte_keys(items)
    assert len(set(whole.tolist())) == 39
    monkeypatch.setattr(auditing, "BLOCK_BYTES", 50)
    assert byte_keys(items).tolist() == byte_keys(np.asfortranarray(items)).tolist() == whole.tolist()
