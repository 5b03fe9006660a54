"""Audits: whether a split follows its protocol, and which queries are also in the database under another id."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets import protocol as rules
from hashbench.datasets.protocol import Protocol
from hashbench.datasets.readers import Items
from hashbench.datasets.split import Ids, Split, canonical_bytes
from hashbench.datasets.store import Dataset, DatasetLabels
from hashbench.datasets.stored_file import array_sha256
from hashbench.foundation.errors import CheckFailed
from hashbench.foundation.parallel import slices
from hashbench.relevance.labels import Labels

DISJOINT = [("query", "database"), ("query", "train"), ("validation", "database"), ("validation", "train")]
APART = "rest_without_train"  # the database of such a protocol
N_SHOWN = 5
BLOCK_BYTES = 16 << 20  # of items, in memory at once

Keys = NDArray[np.uint64] | NDArray[np.bytes_]
Lists = dict[str, Ids]


@dataclass(frozen=True)
class Leak:
    """``n`` items of ``role`` that ``inside`` has under another id, ``by`` bytes or file name; ``first`` has some."""

    role: str
    inside: str
    by: str
    n: int
    first: list[tuple[int, int]]


@dataclass(frozen=True)
class Audit:
    """The report on a split that follows its protocol: SHA-256 (hex) and counts of classes or labels for each list."""

    sizes: dict[str, int]
    checksums: dict[str, str]
    ids_sha256: str
    labels_sha256: str
    class_counts: dict[str, list[int]]
    compared_by: list[str]
    leaks: list[Leak]


def audit(data: Dataset | DatasetLabels, chosen: Split, protocol: Protocol, seed: int) -> Audit:
    """A report on the split; raises CheckFailed with the first way in which it does not follow ``protocol``.

    Duplicates between lists, by file name and, if ``data`` has the items, byte for byte, are reported only.
    """
    for violation in _violations(data.labels, chosen, protocol, seed):
        raise CheckFailed(f"{data.name}: {violation}")
    lists, items = chosen.lists(), data.items if isinstance(data, Dataset) else None
    keys: dict[str, Keys] = {} if items is None else {"bytes": byte_keys(items)}
    if data.names is not None:
        keys["file name"] = data.names
    leaks = []
    for by, of in keys.items():
        for role, inside in DISJOINT:
            if pairs := find_duplicates(of, _ids(lists, role), lists[inside], items if by == "bytes" else None):
                leaks.append(Leak(role, inside, by, len(pairs), pairs[:N_SHOWN]))
    return Audit(
        sizes={role: len(ids) for role, ids in lists.items()},
        checksums={role: hashlib.sha256(canonical_bytes(ids)).hexdigest() for role, ids in lists.items()},
        ids_sha256=chosen.sha256,
        labels_sha256=array_sha256(data.labels),
        class_counts={role: _counts(data.labels, ids).tolist() for role, ids in lists.items()},
        compared_by=list(keys),
        leaks=leaks,
    )


def byte_keys(items: Items) -> NDArray[np.uint64]:
    """The first 8 bytes of the BLAKE2b digest of each item, uint64[n]; two items share one with chance 2^-64."""
    digests = []
    for rows in slices(len(items), max(1, BLOCK_BYTES // max(1, items[:1].nbytes))):
        block = np.ascontiguousarray(items[rows])
        block = block.reshape(len(block), -1).view(np.uint8)
        digests += [hashlib.blake2b(row.data, digest_size=8).digest() for row in block]
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64, copy=False)


def find_duplicates(keys: Keys, ids: Ids, others: Ids, items: Items | None = None) -> list[tuple[int, int]]:
    """(item, its first duplicate) for the items of ``ids`` whose key an item of ``others`` has too.

    Both lists are sorted and share no id. With ``items``, only pairs whose bytes are equal, and not only their keys.

    >>> find_duplicates(np.array([7, 8, 7, 7], np.uint64), np.array([0, 1]), np.array([2, 3]))
    [(0, 2)]
    """
    order = np.argsort(keys[others], kind="stable")
    theirs = keys[others][order]
    at = np.searchsorted(theirs, keys[ids])
    found = at < len(theirs)
    found[found] = theirs[at[found]] == keys[ids][found]
    pairs = list(zip(ids[found].tolist(), others[order[at[found]]].tolist(), strict=True))
    return [(a, b) for a, b in pairs if items is None or items[a].tobytes() == items[b].tobytes()]


def _violations(labels: Labels, chosen: Split, protocol: Protocol, seed: int) -> Iterator[str]:
    lists = chosen.lists()
    yield from _overlaps(lists, len(labels), protocol)
    for role in ("query", "database", "train", "validation"):
        stated = getattr(protocol, "n_queries" if role == "query" else f"n_{role}")
        if stated not in (None, n := len(_ids(lists, role))):
            yield f"{n} {role} ids; the card states {stated}"
    yield from protocol_violations(protocol, labels, lists)
    if seed == protocol.seed and protocol.ids_sha256 not in (None, chosen.sha256):
        yield f"the ids have checksum {chosen.sha256}; the card states {protocol.ids_sha256}"


def _overlaps(lists: Lists, n_items: int, protocol: Protocol) -> Iterator[str]:
    for role, ids in lists.items():
        if (np.diff(ids) <= 0).any():
            yield f"{role} ids are not sorted and unique"
        elif ids.size and (ids[0] < 0 or ids[-1] >= n_items):
            yield f"{role} ids run from {ids[0]} to {ids[-1]}; 0 to {n_items - 1} exist"
    for role, other in DISJOINT:
        if shared := np.intersect1d(_ids(lists, role), lists[other]).size:
            yield f"{shared} {role} ids are in the {other} list"
    inside, is_apart = np.isin(lists["train"], lists["database"]), getattr(protocol, "database", "") == APART
    if inside.any() and is_apart:
        yield f"{inside.sum()} training items are in the database, which the protocol keeps apart"
    if not inside.all() and not is_apart and not isinstance(protocol, rules.Parts):  # a published list may do either
        yield f"{(~inside).sum()} training items are not in the database"


@singledispatch
def protocol_violations(protocol: Protocol, labels: Labels, lists: Lists) -> Iterator[str]:
    """The ways in which lists of valid ids do not follow a protocol of that kind, one line each."""
    raise NotImplementedError(type(protocol))


@protocol_violations.register(rules.PerClass)
@protocol_violations.register(rules.PerClassValidation)
def _by_class(protocol: rules.PerClass | rules.PerClassValidation, labels: Labels, lists: Lists) -> Iterator[str]:
    for role, expected in (("query", protocol.queries_per_class), ("train", protocol.train_per_class)):
        counts = _counts(labels, lists[role])
        for label in np.unique(labels[labels >= 0]):
            if expected and counts[label] != expected:
                yield f"class {label} has {counts[label]} {role} ids; the protocol asks for {expected}"
    if isinstance(protocol, rules.PerClass):
        yield from _left_out(lists, len(labels))
        return
    of_class = _counts(labels, np.arange(len(labels)))
    listed = _counts(labels, np.concatenate([lists["query"], lists["database"]]))
    for label in np.flatnonzero(of_class):
        if (n := of_class[label] - listed[label]) != protocol.left_out_per_class:
            yield f"{n} items of class {label} are in no list; the protocol leaves out {protocol.left_out_per_class}"


@protocol_violations.register
def _by_label(protocol: rules.PerLabel, labels: Labels, lists: Lists) -> Iterator[str]:
    """An item drawn for one label may carry others, so that a label can have more items than were drawn for it."""
    for role, expected in (("query", protocol.queries_per_label), ("train", protocol.train_per_label)):
        counts = _counts(labels, lists[role])
        for label in np.flatnonzero(counts < expected):
            yield f"label {label} is on {counts[label]} {role} items; the protocol asks for {expected}"
        if expected and len(lists[role]) != expected * labels.shape[1]:
            yield f"{len(lists[role])} {role} ids; {labels.shape[1]} labels give {expected * labels.shape[1]}"
    yield from _left_out(lists, len(labels))


@protocol_violations.register(rules.Random)
@protocol_violations.register(rules.RandomValidation)
def _at_random(protocol: rules.Random | rules.RandomValidation, labels: Labels, lists: Lists) -> Iterator[str]:
    for role, expected in (("query", protocol.queries), ("train", protocol.train)):
        if expected and len(lists[role]) != expected:
            yield f"{len(lists[role])} {role} ids; the protocol asks for {expected}"
    if isinstance(protocol, rules.RandomValidation):
        n_unlisted = len(labels) - len(lists["query"]) - len(lists["database"])
        if n_unlisted != protocol.left_out:
            yield f"{n_unlisted} items are in no list; the protocol leaves out {protocol.left_out}"
        return
    first, end = protocol.among or (0, len(labels))
    if n_outside := sum(np.count_nonzero((ids < first) | (ids >= end)) for ids in lists.values()):
        yield f"{n_outside} ids are not {first} to {end - 1}"
    yield from _left_out(lists, end - first)


@protocol_violations.register
def _by_parts(protocol: rules.Parts, _labels: Labels, lists: Lists) -> Iterator[str]:
    for role, (first, end) in protocol.ranges.items():
        if not np.array_equal(_ids(lists, role), np.arange(first, end)):
            yield f"{role} ids are not {first} to {end - 1}"


@protocol_violations.register
def _by_strata(protocol: rules.Stratified, labels: Labels, lists: Lists) -> Iterator[str]:
    if not np.array_equal(lists["query"], np.arange(*protocol.query)):
        yield f"query ids are not {protocol.query[0]} to {protocol.query[1] - 1}"
    drawn = np.sort(np.concatenate([lists["train"], lists["validation"]]))
    if not np.array_equal(drawn, pool := np.arange(*protocol.pool)):
        yield f"training and validation ids are not together {protocol.pool[0]} to {protocol.pool[1] - 1}"
    share = _counts(labels, pool) * (protocol.validation / len(pool))
    for label in np.flatnonzero(np.abs(_counts(labels, lists["validation"]) - share) >= 1):
        yield f"class {label} has not its share of the validation items, {share[label]:.1f}"


def _left_out(lists: Lists, n_items: int) -> Iterator[str]:
    n_listed = np.unique(np.concatenate(list(lists.values()))).size
    if n_listed != n_items:
        yield f"{n_items - n_listed} items are in no list"


def _ids(lists: Lists, role: str) -> Ids:
    return lists.get(role, np.empty(0, np.int64))


def _counts(labels: Labels, ids: Ids) -> Ids:
    """The number of those items in each class or with each label, int64[classes]."""
    if labels.ndim == 2:
        return labels[ids].sum(axis=0, dtype=np.int64)
    return np.bincount(labels[ids][labels[ids] >= 0], minlength=int(labels.max(initial=-1)) + 1).astype(np.int64)
