"""Splits: which items are queries, database, training and validation items, as each kind of protocol draws them.

A random order of items is the order of the BLAKE2b digests of ``dataset/protocol-seed/id``. Such an order never
changes; the numbers of a random generator may change between versions of a library. Only ``Stratified`` uses a random
generator, scikit-learn's, as the code of its authors does.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets import protocol as rules
from hashbench.datasets.protocol import Protocol
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.files import atomic
from hashbench.foundation.registry import canonical
from hashbench.relevance.labels import Labels

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """The item ids of each role, int64, in ascending order; queries are in no other list.

    ``train_ids`` are all inside ``database_ids``, or all outside, as the protocol says. ``validation_ids`` are in
    neither; most protocols have none.
    """

    query_ids: Ids
    database_ids: Ids
    train_ids: Ids
    validation_ids: Ids = field(default_factory=lambda: np.empty(0, np.int64))

    def lists(self) -> dict[str, Ids]:
        """The lists by role, in the order in which they are hashed; "validation" only if it is not empty."""
        lists = {"query": self.query_ids, "database": self.database_ids, "train": self.train_ids}
        return {**lists, "validation": self.validation_ids} if self.validation_ids.size else lists

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the lists: for each a line with its role and length, then its ids, 8 bytes each."""
        digest = hashlib.sha256()
        for role, ids in self.lists().items():
            digest.update(f"{role} {len(ids)}\n".encode() + canonical_bytes(ids))
        return digest.hexdigest()


def canonical_bytes(ids: Ids) -> bytes:
    """The ids as little-endian 64-bit integers, so that they are the same on every machine."""
    return ids.astype("<i8").tobytes()


def split(labels: Labels, protocol: Protocol, dataset: str, protocol_name: str, seed: int | None = None) -> Split:
    """The split of a data set with class ids [n] or labels [n, labels]; the same arguments always give the same ids.

    ``seed`` is by default the protocol's. Raises HashbenchError if the labels cannot be split in this way.
    """
    dataset, protocol_name = canonical(dataset), canonical(protocol_name)
    seed = protocol.seed if seed is None else seed
    try:
        return draw(protocol, labels, f"{dataset}/{protocol.stands_for(protocol_name)}-{seed}", seed)
    except HashbenchError as error:
        raise HashbenchError(f"{dataset} {protocol_name}: {error}") from None


def of_first_classes(ids: Split, labels: Labels, n: int) -> Split:
    """The split without items of classes n and above; raises HashbenchError unless each item has one class."""
    if labels.ndim != 1 or n < 2 or n > labels.max() + 1:
        raise HashbenchError(f"n_classes = {n}: 2 or more of the data set's classes, each item of one class")
    return Split(
        **{f"{role}_ids": each[(labels[each] >= 0) & (labels[each] < n)] for role, each in ids.lists().items()}
    )


def write(path: Path, chosen: Split) -> None:
    """Writes an .npz with query_ids, database_ids, train_ids, validation_ids if there are any, and sha256."""
    lists = {f"{role}_ids": ids for role, ids in chosen.lists().items()}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **lists, sha256=np.array(chosen.sha256))  # type: ignore[arg-type]  # NumPy's own keyword clashes


@singledispatch
def draw(protocol: Protocol, labels: Labels, salt: str, seed: int) -> Split:
    """The split that ``protocol`` draws: ``salt`` decides the random order, ``seed`` is for ``Stratified`` only."""
    raise NotImplementedError(type(protocol))


@draw.register
def _per_class(protocol: rules.PerClass, labels: Labels, salt: str, _seed: int) -> Split:
    """An item with a negative label has no class; it is only in the database."""
    sizes = {"queries": protocol.queries_per_class, "to train": protocol.train_per_class}
    spare = _spare(protocol.train_per_class, protocol.database)
    queries, train = _of_each_class(labels, salt, sizes, spare)
    return _split(np.arange(len(labels)), queries, train, protocol.database)


@draw.register
def _per_class_validation(protocol: rules.PerClassValidation, labels: Labels, salt: str, _seed: int) -> Split:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items of each class here too."""
    sizes = {"that are left out": protocol.left_out_per_class, "to train": protocol.train_per_class}
    sizes["queries"] = protocol.queries_per_class
    left_out, train, queries = _of_each_class(labels, salt, sizes, _spare(protocol.train_per_class, "rest"))
    return _split(np.setdiff1d(np.arange(len(labels)), left_out), queries, train, "rest")


@draw.register
def _per_label(protocol: rules.PerLabel, labels: Labels, salt: str, _seed: int) -> Split:
    """Labels are drawn for in descending order of frequency; equally frequent ones in the order of their columns."""
    if labels.ndim != 2 or not labels.shape[1]:
        raise HashbenchError("splits by label need several labels an item")
    n_queries, needed = protocol.queries_per_label, protocol.queries_per_label + protocol.train_per_label
    free, drawn = np.ones(len(labels), np.bool_), []
    for label in np.argsort(-labels.sum(axis=0, dtype=np.int64), kind="stable"):
        carrying = _order(np.flatnonzero(free & (labels[:, label] > 0)), salt)
        if len(carrying) < needed:
            raise HashbenchError(f"label {label} has {len(carrying)} items not drawn yet; {needed} are needed")
        drawn.append(carrying[:needed])
        free[drawn[-1]] = False
    chosen = np.stack(drawn)
    found = _split(np.arange(len(labels)), chosen[:, :n_queries].ravel(), chosen[:, n_queries:].ravel(), "rest")
    if (lost := np.flatnonzero(~(labels[found.database_ids] > 0).any(axis=0))).size:
        raise HashbenchError(f"label {lost[0]} is on queries alone; an item of the database must carry it to be found")
    return found


@draw.register
def _random(protocol: rules.Random, labels: Labels, salt: str, _seed: int) -> Split:
    first, last = protocol.queries, protocol.queries + protocol.train
    needed = last + _spare(protocol.train, protocol.database)
    items = _range(protocol.among or [0, len(labels)], len(labels))
    if len(items) < needed:
        parts = f"{first} queries, {protocol.train} to train and the database"
        raise HashbenchError(f"{len(items)} items; {parts} need {needed}")
    order = _order(items, salt)
    return _split(items, order[:first], order[first:last], protocol.database)


@draw.register
def _random_validation(protocol: rules.RandomValidation, labels: Labels, salt: str, _seed: int) -> Split:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items here too."""
    left_out, first = protocol.left_out, protocol.left_out + protocol.train
    last = first + protocol.queries
    if len(labels) < last:
        parts = f"{left_out} that are left out, {protocol.train} to train and {protocol.queries} queries"
        raise HashbenchError(f"{len(labels)} items; {parts} need {last}")
    order = _order(np.arange(len(labels)), salt)
    return _split(np.sort(order[left_out:]), order[first:last], order[left_out:first], "rest")


@draw.register
def _parts(protocol: rules.Parts, labels: Labels, _salt: str, _seed: int) -> Split:
    return Split(**{f"{role}_ids": _range(within, len(labels)) for role, within in protocol.ranges.items()})


@draw.register
def _stratified(protocol: rules.Stratified, labels: Labels, _salt: str, seed: int) -> Split:
    from sklearn.model_selection import train_test_split

    _require_classes(labels)
    query, pool = (_range(within, len(labels)) for within in (protocol.query, protocol.pool))
    if (labels[pool] < 0).any():
        raise HashbenchError("an item of the pool has no class; a share of each class is drawn")
    try:
        parts = train_test_split(pool, test_size=protocol.validation, random_state=seed, stratify=labels[pool])
    except ValueError as error:  # too few of a class, or fewer validation items than classes
        raise HashbenchError(f"validation: {one_line(error)}") from None
    train, validation = map(np.sort, parts)
    return Split(query, train, train, validation)


def _split(items: Ids, queries: Ids, train: Ids, database: rules.Database) -> Split:
    """The sorted ids of each role among ``items``; if ``train`` is empty, the whole database is trained on."""
    query, train = np.sort(queries), np.sort(train)
    rest = np.setdiff1d(items, query, assume_unique=True)
    if database == "rest_without_train":
        rest = np.setdiff1d(rest, train, assume_unique=True)
    return Split(query, rest, train if train.size else rest)


def _of_each_class(labels: Labels, salt: str, sizes: dict[str, int], spare: int) -> list[Ids]:
    """The items of each part, drawn from each class one part after another, and ``spare`` items left for the database.

    A negative label is no class. Raises HashbenchError if a class has fewer items.
    """
    _require_classes(labels)
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if not classes.size:
        raise HashbenchError("no item has a class")
    ends = np.cumsum([*sizes.values()])
    needed, smallest = int(ends[-1]) + spare, int(counts.argmin())
    if counts[smallest] < needed:
        parts = ", ".join(f"{size} {part}" for part, size in sizes.items())
        given = f"class {classes[smallest]} has {counts[smallest]} items"
        raise HashbenchError(f"{given}; {parts} and the database need {needed}")
    drawn = np.stack([_order(np.flatnonzero(labels == label), salt)[: ends[-1]] for label in classes])
    return [part.ravel() for part in np.split(drawn, ends[:-1], axis=1)]


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


def _spare(n_train: int, database: rules.Database) -> int:
    """How many items must be left for the database: 1, unless the training items are in it too."""
    return int(n_train == 0 or database == "rest_without_train")
