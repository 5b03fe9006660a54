"""Draws: how each kind of protocol chooses the queries, the database and the training items.

A random order of items is the order of the BLAKE2b digests of ``dataset/protocol-seed/id``. Such an order never
changes; the numbers of a random generator may change between versions of a library. Only ``Stratified`` uses a random
generator, scikit-learn's, as the code of its authors does.
"""

import hashlib
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.protocol import (
    Database,
    Parts,
    PerClass,
    PerClassValidation,
    PerLabel,
    Protocol,
    Random,
    RandomValidation,
    Stratified,
)
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.relevance.labels import Labels

Ids = NDArray[np.int64]
Roles = dict[str, Ids]  # query, database, train and perhaps validation, each sorted


@singledispatch
def draw(protocol: Protocol, labels: Labels, salt: str, seed: int) -> Roles:
    """The ids of each role, as ``protocol`` chooses them from ``labels`` [n] or [n, labels]; deterministic.

    ``salt`` decides the random order of the items; ``seed`` is for ``Stratified`` only. Raises HashbenchError, without
    the name of the data set, if the labels cannot be split in this way.
    """
    raise NotImplementedError(type(protocol))


@draw.register
def _per_class(protocol: PerClass, labels: Labels, salt: str, _seed: int) -> Roles:
    """An item with a negative label has no class; it is only in the database."""
    first, train_n, database = protocol.queries_per_class, protocol.train_per_class, protocol.database
    last = first + train_n
    parts = f"{first} queries, {train_n} to train and the database"
    orders = _orders_by_class(labels, salt, last + _spare(train_n, database), parts)
    queries = np.concatenate([order[:first] for order in orders])
    train = np.concatenate([order[first:last] for order in orders])
    return _roles(np.arange(len(labels)), queries, train, database)


@draw.register
def _per_label(protocol: PerLabel, labels: Labels, salt: str, _seed: int) -> Roles:
    """Labels are drawn for in descending order of frequency; equally frequent ones in the order of their columns."""
    if labels.ndim != 2 or not labels.shape[1]:
        raise HashbenchError("splits by label need several labels an item")
    per_label = protocol.queries_per_label, protocol.train_per_label
    free = np.ones(len(labels), np.bool_)
    taken: tuple[list[Ids], list[Ids]] = ([], [])
    for label in np.argsort(-labels.sum(axis=0, dtype=np.int64), kind="stable"):
        carrying = _order(np.flatnonzero(free & (labels[:, label] > 0)), salt)
        if len(carrying) < sum(per_label):
            raise HashbenchError(f"label {label} has {len(carrying)} items not drawn yet; {sum(per_label)} are needed")
        for ids, start, size in zip(taken, (0, per_label[0]), per_label, strict=True):
            ids.append(carrying[start : start + size])
            free[ids[-1]] = False
    roles = _roles(np.arange(len(labels)), np.concatenate(taken[0]), np.concatenate(taken[1]), "rest")
    if (lost := np.flatnonzero(~(labels[roles["database"]] > 0).any(axis=0))).size:
        raise HashbenchError(f"label {lost[0]} is on queries alone; an item of the database must carry it to be found")
    return roles


@draw.register
def _random(protocol: Random, labels: Labels, salt: str, _seed: int) -> Roles:
    first, last = protocol.queries, protocol.queries + protocol.train
    needed = last + _spare(protocol.train, protocol.database)
    items = _range(protocol.among or [0, len(labels)], len(labels))
    if len(items) < needed:
        raise HashbenchError(
            f"{len(items)} items; {first} queries, {protocol.train} to train and the database need {needed}"
        )
    order = _order(items, salt)
    return _roles(items, order[:first], order[first:last], protocol.database)


@draw.register
def _random_validation(protocol: RandomValidation, labels: Labels, salt: str, _seed: int) -> Roles:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items here too."""
    left_out, train = protocol.left_out, protocol.train
    needed = left_out + train + protocol.queries
    if len(labels) < needed:
        raise HashbenchError(
            f"{len(labels)} items; {left_out} that are left out, {train} to train and {protocol.queries} queries "
            f"need {needed}"
        )
    order = _order(np.arange(len(labels)), salt)
    items, queries = np.sort(order[left_out:]), order[left_out + train : needed]
    return _roles(items, queries, order[left_out : left_out + train], "rest")


@draw.register
def _per_class_validation(protocol: PerClassValidation, labels: Labels, salt: str, _seed: int) -> Roles:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items of each class here too."""
    left_out, train_n, queries_n = protocol.left_out_per_class, protocol.train_per_class, protocol.queries_per_class
    first, last = left_out + train_n, left_out + train_n + queries_n
    parts = f"{left_out} that are left out, {train_n} to train, {queries_n} queries and the database"
    orders = _orders_by_class(labels, salt, last + _spare(train_n, "rest"), parts)
    other_queries = np.concatenate([order[:left_out] for order in orders])
    train = np.concatenate([order[left_out:first] for order in orders])
    queries = np.concatenate([order[first:last] for order in orders])
    return _roles(np.setdiff1d(np.arange(len(labels)), other_queries), queries, train, "rest")


@draw.register
def _parts(protocol: Parts, labels: Labels, _salt: str, _seed: int) -> Roles:
    return {role: _range(within, len(labels)) for role, within in protocol.ranges.items()}


@draw.register
def _stratified(protocol: Stratified, labels: Labels, _salt: str, seed: int) -> Roles:
    from sklearn.model_selection import train_test_split

    _require_classes(labels)
    pool = _range(protocol.pool, len(labels))
    if (labels[pool] < 0).any():
        raise HashbenchError("an item of the pool has no class; a share of each class is drawn")
    try:
        train, validation = train_test_split(
            pool, test_size=protocol.validation, random_state=seed, stratify=labels[pool]
        )
    except ValueError as error:  # too few of a class, or fewer validation items than classes
        raise HashbenchError(f"validation: {one_line(error)}") from None
    train = np.sort(train)
    query = _range(protocol.query, len(labels))
    return {"query": query, "database": train, "train": train, "validation": np.sort(validation)}


def _roles(items: Ids, queries: Ids, train: Ids, database: Database) -> Roles:
    """The sorted ids of each role among ``items``; if ``train`` is empty, the whole database is trained on."""
    query, train = np.sort(queries), np.sort(train)
    rest = np.setdiff1d(items, query, assume_unique=True)
    if database == "rest_without_train":
        rest = np.setdiff1d(rest, train, assume_unique=True)
    return {"query": query, "database": rest, "train": train if train.size else rest}


def _orders_by_class(labels: Labels, salt: str, needed: int, parts: str) -> list[Ids]:
    """The items of each class in their random order, class by class; a negative label is no class.

    Raises HashbenchError if a class has fewer than ``needed`` items; ``parts`` says for what they are needed.
    """
    _require_classes(labels)
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if not classes.size:
        raise HashbenchError("no item has a class")
    smallest = int(counts.argmin())
    if counts[smallest] < needed:
        raise HashbenchError(f"class {classes[smallest]} has {counts[smallest]} items; {parts} need {needed}")
    return [_order(np.flatnonzero(labels == label), salt) for label in classes]


def _require_classes(labels: Labels) -> None:
    if labels.ndim != 1:
        raise HashbenchError("splits by class need one class id an item")


def _order(ids: Ids, salt: str) -> Ids:
    keys = [hashlib.blake2b(f"{salt}/{item}".encode(), digest_size=16).digest() for item in ids.tolist()]
    return ids[sorted(range(len(ids)), key=keys.__getitem__)]


def _range(within: list[int], n_items: int) -> Ids:
    first, end = within
    if not first < end <= n_items:
        raise HashbenchError(f"the protocol needs ids {first} to {end - 1}; 0 to {n_items - 1} exist")
    return np.arange(first, end)


def _spare(n_train: int, database: Database) -> int:
    """How many items must be left for the database: 1, unless the training items are in it too."""
    return int(n_train == 0 or database == "rest_without_train")
