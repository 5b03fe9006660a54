"""Every kind of protocol, against its definition item by item."""

import hashlib
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.one_line import one_line

from hashbench.running.datasets.protocol import (
    Parts,
    PartsDrawn,
    PerClass,
    PerClassValidation,
    PerLabel,
    Protocol,
    Random,
    RandomValidation,
    Stratified,
)
from hashbench.running.datasets.split import Split, split


def by_name(ids: list[int], salt: str) -> list[int]:
    return sorted(ids, key=lambda item: hashlib.blake2b(f"{salt}/{item}".encode(), digest_size=16).hexdigest())


def lists(chosen: Split) -> dict[str, list[int]]:
    return {role: ids.tolist() for role, ids in chosen.lists().items()}


def roles(items: Iterable[int], query: list[int], train: list[int], database: str = "rest") -> dict[str, list[int]]:
    rest = [item for item in items if item not in query]
    if database == "rest_without_train":
        rest = [item for item in rest if item not in train]
    return {"query": sorted(query), "database": rest, "train": sorted(train) or rest}


def slow_per_class(rule: PerClass, labels: list[int], salt: str) -> dict[str, list[int]]:
    query = []
    train = []
    for label in {label for label in labels if label >= 0}:
        order = by_name([item for item, other in enumerate(labels) if other == label], salt)
        query += order[: rule.queries_per_class]
        train += order[rule.queries_per_class :][: rule.train_per_class]
    return roles(range(len(labels)), query, train, rule.database)


def slow_per_label(rule: PerLabel, labels: list[list[int]], salt: str) -> dict[str, list[int]] | None:
    """None where a label cannot be drawn from, or is in the database no more."""
    query = []
    train = []
    totals = [sum(column) for column in zip(*labels, strict=True)]
    for label in sorted(range(len(totals)), key=lambda label: (-totals[label], label)):
        free = [item for item, row in enumerate(labels) if row[label] and item not in query + train]
        if len(free) < rule.queries_per_label + rule.train_per_label:
            return None
        order = by_name(free, salt)
        query += order[: rule.queries_per_label]
        train += order[rule.queries_per_label :][: rule.train_per_label]
    chosen = roles(range(len(labels)), query, train)
    has_each_label = all(any(labels[item][label] for item in chosen["database"]) for label in range(len(totals)))
    return chosen if has_each_label else None


@given(
    st.integers(1, 3), st.integers(0, 3), st.booleans(), st.lists(st.integers(7, 9), min_size=1, max_size=4), st.data()
)
def test_per_class(queries: int, train: int, apart: bool, sizes: list[int], data: st.DataObject) -> None:
    database = "rest_without_train" if apart and train else "rest"
    rule = PerClass(title="", queries_per_class=queries, train_per_class=train, database=database, seed=3)
    labels = data.draw(st.permutations([-1, -1, *(label for label, size in enumerate(sizes) for _ in range(size))]))
    chosen = split(np.array(labels, np.int64), rule, "Some-Set", "S1")
    assert lists(chosen) == slow_per_class(rule, labels, "some_set/s1-3")


@given(st.integers(1, 2), st.integers(0, 2), st.integers(1, 3), st.integers(4, 14), st.data())
def test_per_label(queries: int, train: int, n_labels: int, n: int, data: st.DataObject) -> None:
    rule = PerLabel(title="", draw="per_label", queries_per_label=queries, train_per_label=train)
    row = st.lists(st.integers(0, 1), min_size=n_labels, max_size=n_labels)
    labels = data.draw(st.lists(row, min_size=n, max_size=n))
    expected = slow_per_label(rule, labels, "a/s1-7")
    if expected is None:
        with one_line(r"^a s1: label "):
            split(np.array(labels, np.uint8), rule, "a", "s1", 7)
    else:
        assert lists(split(np.array(labels, np.uint8), rule, "a", "s1", 7)) == expected


@given(st.integers(1, 4), st.integers(0, 4), st.booleans(), st.integers(0, 5), st.integers(0, 5))
def test_random(queries: int, train: int, apart: bool, before: int, after: int) -> None:
    database = "rest_without_train" if apart and train else "rest"
    end = before + 10
    order = by_name(list(range(before, end)), "a/s1-0")
    expected = roles(list(range(before, end)), order[:queries], order[queries : queries + train], database)
    rule = Random(title="", draw="random", queries=queries, train=train, database=database, among=[before, end])
    n = end + after
    for labels in (np.zeros(n, np.int64), np.zeros((n, 0), np.uint8), np.zeros((n, 2), np.uint8)):
        assert lists(split(labels, rule, "a", "s1")) == expected
    everything = rule.model_copy(update={"among": None})
    assert lists(split(np.zeros(end, np.int64)[before:], everything, "a", "s1"))["query"] == sorted(
        by_name(list(range(10)), "a/s1-0")[:queries]
    )


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(1, 9), st.booleans())
def test_validation_leaves_the_queries_out_and_keeps_the_training_items(
    left_out: int, train: int, queries: int, more: int, by_class: bool
) -> None:
    n = left_out + train + queries + more
    labels = np.zeros(n, np.int64)
    base: Protocol = Random(title="", draw="random", queries=left_out, train=train, seed=9)
    sizes = {"left_out": left_out, "train": train, "queries": queries}
    rule: Protocol = RandomValidation(title="", draw="random_validation", of="s1", seed=9, **sizes)
    if by_class:
        labels = np.r_[np.arange(3 * n) % 3, -1]
        base = PerClass(title="", queries_per_class=left_out, train_per_class=train, seed=9)
        sizes = {f"{role}_per_class": size for role, size in sizes.items()}
        rule = PerClassValidation(title="", draw="per_class_validation", of="s1", seed=9, **sizes)
    tested = lists(split(labels, base, "a", "s1"))
    chosen = lists(split(labels, rule, "a", "held_out"))
    orders = [by_name(np.flatnonzero(labels == label).tolist(), "a/s1-9") for label in set(labels.tolist()) - {-1}]
    query = [item for order in orders for item in order[left_out + train :][:queries]]
    assert chosen == roles(tested["database"], query, tested["train"])


def test_parts() -> None:
    rule = Parts(title="", draw="parts", query=[8, 10], database=[0, 6], train=[4, 8])
    expected = {"query": [8, 9], "database": [0, 1, 2, 3, 4, 5], "train": [4, 5, 6, 7]}
    assert lists(split(np.zeros((10, 0), np.uint8), rule, "a", "s1")) == expected
    assert lists(split(np.zeros(10, np.int64), rule, "a", "s1", seed=5)) == expected  # nothing is drawn


@given(st.integers(0, 50), st.integers(0, 2**32 - 1))
def test_stratified_is_scikit_learns_draw(seed: int, data_seed: int) -> None:
    from sklearn.model_selection import train_test_split

    labels = np.random.default_rng(data_seed).permutation(np.repeat(np.arange(4), [20, 30, 10, 50]))
    rule = Stratified(title="", draw="stratified", query=[100, 110], pool=[0, 100], validation=12, seed=seed)
    chosen = split(labels, rule, "a", "s1")
    # as a share, as the code of the sparse hash has it
    train, validation = train_test_split(range(100), test_size=0.12, random_state=seed, stratify=labels[:100])
    expected = {"query": list(range(100, 110)), "database": sorted(train), "train": sorted(train)}
    assert lists(chosen) == {**expected, "validation": sorted(validation)}


@given(st.integers(1, 7), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_parts_drawn(queries: int, train: int, seed: int) -> None:
    labels = np.random.default_rng(seed).permutation(np.repeat([0, 1, 2, -1], [3, 4, 5, 2]))
    all_labels = [*np.repeat([2, 0], 4), *labels.tolist()]  # the part of the queries comes first here
    values = {"query": [0, 8], "database": [8, 22], "queries": queries, "train_per_class": train}
    drawn = lists(split(np.array(all_labels), PartsDrawn(title="", draw="parts_drawn", **values), "a", "s1"))
    order = by_name([*range(8)], "a/s1-0")
    of_classes = []
    for label in range(3):
        of_classes += by_name([item for item in range(8, 22) if all_labels[item] == label], "a/s1-0")[:train]
    expected = {"query": sorted(order[:queries]), "database": [*range(8, 22)], "train": sorted(of_classes)}
    assert drawn == {**expected, "validation": sorted(order[queries:])}


CLASSES = np.arange(120) % 6
HOT = (np.arange(120)[:, None] % np.array([2, 3, 5, 7]) == 0).astype(np.uint8)
RULES = {
    "per_class": PerClass(title="", queries_per_class=3, train_per_class=5),
    "per_class apart": PerClass(title="", queries_per_class=3, train_per_class=5, database="rest_without_train"),
    "per_label": PerLabel(title="", draw="per_label", queries_per_label=2, train_per_label=4),
    "random": Random(title="", draw="random", queries=10, train=20),
    "parts": Parts(title="", draw="parts", query=[100, 120], database=[0, 100], train=[0, 50]),
    "stratified": Stratified(title="", draw="stratified", query=[100, 120], pool=[0, 100], validation=15, seed=40),
    "parts_drawn": PartsDrawn(
        title="", draw="parts_drawn", query=[100, 120], database=[0, 100], queries=10, train_per_class=4
    ),
}


UNFIT = {
    "classes by label": (RULES["per_label"], CLASSES, "splits by label need several labels an item"),
    "labels by class": (RULES["per_class"], HOT, "splits by class need one class id an item"),
    "no class stratified": (RULES["stratified"], CLASSES - 1, "each item of the pool needs one class"),
    "parts beyond": (RULES["parts"], CLASSES[:119], "the protocol needs ids 100 to 119; 0 to 118 exist"),
    "too few at random": (RULES["random"], CLASSES[:29], "29 items; 10 queries, 20 to train and the database need 30"),
    "nothing to validate": (
        RULES["parts_drawn"].model_copy(update={"queries": 20}),
        CLASSES,
        "20 items; 20 queries and those that validate need more",
    ),
    "label too rare": (RULES["per_label"], HOT[:20], "label . has . items not drawn yet; 6 are needed"),
    "class too small": (
        RULES["per_class apart"],
        np.repeat([0, 1], [8, 9]),
        "class 0 has 8 items; 3 queries, 5 to train and the database need 9",
    ),
}


@pytest.mark.parametrize("case", UNFIT)
def test_labels_that_do_not_fit_the_protocol_are_one_line(case: str) -> None:
    rule, labels, message = UNFIT[case]
    with one_line(f"^a s1: {message}"):
        split(labels, rule, "a", "s1")


@pytest.mark.parametrize(
    "kind, values, message",
    [
        (PerClass, {"queries_per_class": 1, "train_per_class": 0, "database": "rest_without_train"}, "needs training"),
        (Parts, {"draw": "parts", "query": [3, 6], "database": [0, 4], "train": [0, 3]}, "held out .* and database"),
        (
            Parts,
            {"draw": "parts", "query": [3, 6], "database": [0, 3], "train": [0, 3], "validation": [5, 8]},
            "held out .* and query",
        ),
        (Stratified, {"draw": "stratified", "query": [0, 9], "pool": [8, 20], "validation": 1}, "held out .* and pool"),
    ],
)
def test_a_protocol_that_contradicts_itself_is_refused(kind: type, values: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        kind(title="", **values)
