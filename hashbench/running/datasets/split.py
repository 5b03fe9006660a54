"""Splits: which items are queries, database, training and validation items, as each kind of protocol draws them.

A random order of items is the order of the BLAKE2b digests of ``dataset/protocol-seed/id``, which never changes. Only
``Stratified`` uses a random generator, scikit-learn's, as the code of its authors does.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.lazy import Lazy
from hashbench.foundation.registry import canonical
from hashbench.running.datasets import protocol as rules
from hashbench.running.datasets.protocol import Protocol
from hashbench.scoring.relevance.labels import Labels

model_selection = Lazy("sklearn.model_selection")

Ids = NDArray[np.int64]
MOST_KEPT = 64
# the trials of a search leave out the queries of the same splits, which take 3 s to draw
_drawn_before: dict[object, "Split"] = {}


@dataclass(frozen=True, eq=False)
class Split:
    """The ascending item ids of each role; ``train_ids`` are all inside ``database_ids`` or all outside."""

    query_ids: Ids
    database_ids: Ids
    train_ids: Ids
    validation_ids: Ids = field(default_factory=lambda: np.empty(0, np.int64))

    def lists(self) -> dict[str, Ids]:
        """The lists by role, in the order in which they are hashed; "validation" only if it is not empty."""
        lists = {"query": self.query_ids, "database": self.database_ids, "train": self.train_ids}
        if self.validation_ids.size:
            lists["validation"] = self.validation_ids
        return lists

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
    """The split, always the same, of class ids [n] or labels [n, labels]; raises HashbenchError if there is none."""
    dataset = canonical(dataset)
    protocol_name = canonical(protocol_name)
    if seed is None:
        seed = protocol.seed
    salt = f"{dataset}/{protocol.stands_for(protocol_name)}-{seed}"
    deciding = salt, repr(protocol), labels.dtype, labels.shape, hashlib.sha256(labels.tobytes()).digest()
    drawn = _drawn_before.get(deciding)
    if drawn is None:
        with retold(lambda fault: f"{dataset} {protocol_name}: {fault}", HashbenchError):
            drawn = draw(protocol, labels, salt, seed)
        for ids in drawn.lists().values():
            ids.flags.writeable = False
        if len(_drawn_before) >= MOST_KEPT:
            _drawn_before.clear()
        _drawn_before[deciding] = drawn
    return drawn


def of_first_classes(ids: Split, labels: Labels, n: int) -> Split:
    """The split without items of classes n and above (0: all stay); HashbenchError unless each item has one class."""
    if not n:
        return ids
    if labels.ndim != 1 or n < 2 or n > labels.max() + 1:
        raise HashbenchError(f"n_classes = {n}: 2 or more of the data set's classes, each item of one class")
    kept = (labels >= 0) & (labels < n)
    lists = (ids.query_ids, ids.database_ids, ids.train_ids, ids.validation_ids)
    return Split(*(ids_of_role[kept[ids_of_role]] for ids_of_role in lists))


def write(path: Path, chosen: Split) -> None:
    """Writes an .npz with query_ids, database_ids, train_ids, validation_ids if there are any, and sha256."""
    lists = {f"{role}_ids": ids for role, ids in chosen.lists().items()}
    write_arrays(path, lists | {"sha256": np.array(chosen.sha256)}, "plain")


@singledispatch
def draw(protocol: Protocol, labels: Labels, salt: str, seed: int) -> Split:
    """The split that ``protocol`` draws: ``salt`` decides the random order, ``seed`` is for ``Stratified`` only."""
    raise NotImplementedError(type(protocol))


@draw.register
def _per_class(protocol: rules.PerClass, labels: Labels, salt: str, _seed: int) -> Split:
    """An item with a negative label has no class; it is only in the database."""
    sizes = {"queries": protocol.queries_per_class, "to train": protocol.train_per_class}
    queries, train = _drawn(_classes(labels), salt, sizes, protocol.database)
    return _split(np.arange(len(labels)), queries, train, protocol.database)


@draw.register
def _per_class_validation(protocol: rules.PerClassValidation, labels: Labels, salt: str, _seed: int) -> Split:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items of each class here too."""
    sizes = {"that are left out": protocol.left_out_per_class, "to train": protocol.train_per_class}
    left_out, train, queries = _drawn(_classes(labels), salt, sizes | {"queries": protocol.queries_per_class})
    return _split(np.setdiff1d(np.arange(len(labels)), left_out), queries, train)


@draw.register
def _random(protocol: rules.Random, labels: Labels, salt: str, _seed: int) -> Split:
    items = _range(protocol.among or [0, len(labels)], len(labels))
    sizes = {"queries": protocol.queries, "to train": protocol.train}
    queries, train = _drawn({"": items}, salt, sizes, protocol.database)
    return _split(items, queries, train, protocol.database)


@draw.register
def _random_validation(protocol: rules.RandomValidation, labels: Labels, salt: str, _seed: int) -> Split:
    """``salt`` comes from the protocol ``of``, so that its queries are the first items here too."""
    items = np.arange(len(labels))
    sizes = {"that are left out": protocol.left_out, "to train": protocol.train, "queries": protocol.queries}
    left_out, train, queries = _drawn({"": items}, salt, sizes)
    return _split(np.setdiff1d(items, left_out), queries, train)


@draw.register
def _per_label(protocol: rules.PerLabel, labels: Labels, salt: str, _seed: int) -> Split:
    """Labels are drawn for in descending order of frequency; equally frequent ones in the order of their columns."""
    if labels.ndim != 2 or not labels.shape[1]:
        raise HashbenchError("splits by label need several labels an item")
    n_queries = protocol.queries_per_label
    needed = protocol.queries_per_label + protocol.train_per_label
    free = np.ones(len(labels), np.bool_)
    drawn = []
    for label in np.argsort(-labels.sum(axis=0, dtype=np.int64), kind="stable"):
        carrying = _order(np.flatnonzero(free & (labels[:, label] > 0)), salt)
        if len(carrying) < needed:
            raise HashbenchError(f"label {label} has {len(carrying)} items not drawn yet; {needed} are needed")
        drawn.append(carrying[:needed])
        free[drawn[-1]] = False
    chosen = np.stack(drawn)
    ids = _split(np.arange(len(labels)), chosen[:, :n_queries].ravel(), chosen[:, n_queries:].ravel())
    if (lost := np.flatnonzero(~(labels[ids.database_ids] > 0).any(axis=0))).size:
        raise HashbenchError(f"label {lost[0]} is on queries alone; an item of the database must carry it to be found")
    return ids


@draw.register
def _parts(protocol: rules.Parts, labels: Labels, _salt: str, _seed: int) -> Split:
    return Split(**{f"{role}_ids": _range(within, len(labels)) for role, within in protocol.ranges.items()})


@draw.register
def _stratified(protocol: rules.Stratified, labels: Labels, _salt: str, seed: int) -> Split:
    query = _range(protocol.query, len(labels))
    pool = _range(protocol.pool, len(labels))
    if labels.ndim != 1 or (labels[pool] < 0).any():
        raise HashbenchError("each item of the pool needs one class: a share of each class is drawn")
    with retold("validation: {}".format, ValueError):  # too few of a class, or fewer validation items than classes
        parts = model_selection.train_test_split(
            pool, test_size=protocol.validation, random_state=seed, stratify=labels[pool]
        )
    train, validation = map(np.sort, parts)
    return Split(query, train, train, validation)


@draw.register
def _parts_drawn(protocol: rules.PartsDrawn, labels: Labels, salt: str, _seed: int) -> Split:
    part = _range(protocol.query, len(labels))
    database = _range(protocol.database, len(labels))
    if len(part) <= protocol.queries:
        raise HashbenchError(f"{len(part)} items; {protocol.queries} queries and those that validate need more")
    queries, validation = np.split(_order(part, salt), [protocol.queries])
    if labels.ndim == 1:
        labels = np.where(np.isin(np.arange(len(labels)), database), labels, -1)
    (train,) = _drawn(_classes(labels), salt, {"to train": protocol.train_per_class})
    return Split(np.sort(queries), database, np.sort(train), np.sort(validation))


@draw.register
def _held_out(protocol: rules.HeldOut, labels: Labels, salt: str, _seed: int) -> Split:
    """``salt`` begins with the data set, and with the seed of ``protocol`` decides the order of the queries."""
    dataset = salt.partition("/")[0]
    if protocol.splits is not None:
        return _validation(protocol, labels, dataset, protocol.splits)
    splits = {name: split(labels, rule, dataset, name) for name, rule in protocol.rules.items()}
    seen = np.concatenate([drawn.query_ids for drawn in splits.values()])
    database = np.setdiff1d(splits[protocol.of].database_ids, seen)
    train = np.setdiff1d(splits[protocol.of].train_ids, seen)
    n_queries = min(protocol.queries, len(database) // 5)
    if not n_queries or not train.size:
        left = f"{len(database)} items of the database and {len(train)} training items"
        raise HashbenchError(f"{left} are no query of {', '.join(protocol.rules)}: too few to hold queries out")
    return _hold_out(database, train, database, n_queries, salt)


def _hold_out(database: Ids, train: Ids, free: Ids, n_queries: int, salt: str) -> Split:
    """The split whose queries are drawn from the ``free`` items: from those that are not trained on, if these do."""
    untrained = np.setdiff1d(free, train)
    if len(untrained) >= n_queries:
        free = untrained
    queries = np.sort(_order(free, salt)[:n_queries])
    return Split(queries, np.setdiff1d(database, queries), np.setdiff1d(train, queries))


def _validation(protocol: rules.HeldOut, labels: Labels, dataset: str, n_splits: int) -> Split:
    """The queries have a random order of their own, which no split and no other repeat of a search has."""
    rule = protocol.rules[protocol.of]
    base = split(labels, rule, dataset, protocol.of, rules.nth_seed(rule, protocol.seed))
    shown = shown_queries(labels, protocol.rules, dataset, n_splits)
    free = np.setdiff1d(base.database_ids, shown)
    n_queries = min(protocol.queries, len(base.database_ids) // 5, len(free))
    if not n_queries:
        left = f"no item of the database is a query of none of {n_splits} splits of {', '.join(protocol.rules)}"
        raise HashbenchError(f"{left}: none is left to choose settings by")
    salt = f"{dataset}/{protocol.of}-validation-{protocol.seed}"
    return _hold_out(base.database_ids, base.train_ids, free, n_queries, salt)


def shown_queries(labels: Labels, protocols: Mapping[str, Protocol], dataset: str, n_splits: int) -> Ids:
    """The ascending ids of all queries of the first ``n_splits`` splits of the ``protocols``, by name."""
    queries = []
    for name, rule in protocols.items():
        queries += queries_of_splits(labels, rule, dataset, name, n_splits)
    return np.unique(np.concatenate(queries))


def queries_of_splits(labels: Labels, rule: Protocol, dataset: str, name: str, n_splits: int) -> list[Ids]:
    """The queries of each of the first ``n_splits`` splits of the protocol ``rule``, which is called ``name``."""
    return [split(labels, rule, dataset, name, seed).query_ids for seed in rules.shown_seeds(rule, n_splits)]


def _split(items: Ids, queries: Ids, train: Ids, database: rules.Database = "rest") -> Split:
    """The sorted ids of each role among ``items``; if ``train`` is empty, the whole database is trained on."""
    query = np.sort(queries)
    train = np.sort(train)
    rest = np.setdiff1d(items, query, assume_unique=True)
    if database == "rest_without_train":
        rest = np.setdiff1d(rest, train, assume_unique=True)
    if not train.size:
        train = rest
    return Split(query, rest, train)


def _drawn(groups: dict[str, Ids], salt: str, sizes: dict[str, int], database: rules.Database = "rest") -> list[Ids]:
    """The items of each part, drawn from each group in its random order; an item is left over for the database."""
    ends = np.cumsum([*sizes.values()])
    needed = int(ends[-1]) + int(not sizes["to train"] or database == "rest_without_train")
    smallest = min(groups, key=lambda name: len(groups[name]))
    if len(groups[smallest]) < needed:
        parts = ", ".join(f"{size} {part}" for part, size in sizes.items())
        raise HashbenchError(f"{smallest}{len(groups[smallest])} items; {parts} and the database need {needed}")
    drawn = np.stack([_order(ids, salt)[: ends[-1]] for ids in groups.values()])
    return [part.ravel() for part in np.split(drawn, ends[:-1], axis=1)]


def _classes(labels: Labels) -> dict[str, Ids]:
    """The items of each class, without those of negative labels; the keys begin an error."""
    if labels.ndim != 1:
        raise HashbenchError("splits by class need one class id an item")
    ascending = np.argsort(labels, kind="stable")
    classes, starts = np.unique(labels[ascending], return_index=True)
    members = np.split(ascending, starts[1:])
    by_class = zip(classes.tolist(), members, strict=False)
    ids_by_class = {f"class {label} has ": ids for label, ids in by_class if label >= 0}
    if not ids_by_class:
        raise HashbenchError("no item has a class")
    return ids_by_class


def _order(ids: Ids, salt: str) -> Ids:
    keys = [hashlib.blake2b(f"{salt}/{item}".encode(), digest_size=16).digest() for item in ids.tolist()]
    return ids[sorted(range(len(ids)), key=keys.__getitem__)]


def _range(within: list[int], n_items: int) -> Ids:
    first, end = within
    if not first < end <= n_items:
        raise HashbenchError(f"the protocol needs ids {first} to {end - 1}; 0 to {n_items - 1} exist")
    return np.arange(first, end)
