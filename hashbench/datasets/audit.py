"""Audits: a split is what its protocol promises, and no query is an item of the database in disguise."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hashbench.affinity import Labels
from hashbench.datasets.draw import Ids
from hashbench.datasets.protocol import PerClass, Protocol
from hashbench.datasets.readers._reader import Items
from hashbench.datasets.split import Split, canonical_bytes
from hashbench.datasets.store import Dataset
from hashbench.errors import CheckFailed


@dataclass(frozen=True)
class Audit:
    """What an audit found in a sound split.

    ``n_duplicates`` counts the queries that the database holds byte for byte under another id;
    ``checksums`` are SHA-256 (hex) of each list, 8 little-endian bytes an id.
    """

    n_duplicates: int
    checksums: dict[str, str]


def audit(data: Dataset, chosen: Split, protocol: Protocol, seed: int) -> Audit:
    """What is found in the split; raises CheckFailed with the first thing that is not as ``protocol`` says.

    Checked are the ids (sorted, unique, of this data set), disjointness of queries and database, training
    inside the database, the number of items in all and of each class, and, for the protocol's own seed, the
    pinned checksum of the ids.
    """
    for fault in _faults(data.labels, chosen, protocol, seed):
        raise CheckFailed(f"{data.name}: {fault}")
    checksums = {role: hashlib.sha256(canonical_bytes(ids)).hexdigest() for role, ids in chosen.lists().items()}
    return Audit(_n_duplicates(data.items, chosen), checksums)


def _faults(labels: Labels, chosen: Split, protocol: Protocol, seed: int) -> Iterator[str]:
    for role, ids in chosen.lists().items():
        yield from _id_faults(role, ids, len(labels))
    if shared := np.intersect1d(chosen.query_ids, chosen.database_ids).size:
        yield f"{shared} queries are in the database"
    if outside := np.setdiff1d(chosen.train_ids, chosen.database_ids).size:
        yield f"{outside} training items are not in the database"
    yield from _size_faults(chosen, protocol)
    if isinstance(protocol, PerClass):
        yield from _class_faults("query", labels[chosen.query_ids], protocol.queries_per_class)
        if protocol.train_per_class:
            yield from _class_faults("train", labels[chosen.train_ids], protocol.train_per_class)
    if seed == protocol.seed and protocol.ids_sha256 not in (None, chosen.sha256):
        yield f"the ids have checksum {chosen.sha256}; the card states {protocol.ids_sha256}"


def _id_faults(role: str, ids: Ids, n_items: int) -> Iterator[str]:
    if (np.diff(ids) <= 0).any():
        yield f"{role} ids are not sorted and unique"
    elif ids.size and (ids[0] < 0 or ids[-1] >= n_items):
        yield f"{role} ids run from {ids[0]} to {ids[-1]}; 0 to {n_items - 1} exist"


def _size_faults(chosen: Split, protocol: Protocol) -> Iterator[str]:
    stated = {"query": protocol.n_queries, "database": protocol.n_database, "train": protocol.n_train}
    for role, ids in chosen.lists().items():
        if stated[role] not in (None, len(ids)):
            yield f"{len(ids)} {role} ids; the card states {stated[role]}"


def _class_faults(role: str, labels: Labels, expected: int) -> Iterator[str]:
    for label, count in zip(*np.unique(labels, return_counts=True), strict=True):
        if count != expected:
            yield f"class {label} has {count} {role} ids; the protocol asks for {expected}"


def _n_duplicates(items: Items, chosen: Split) -> int:
    database = {_key(items, item) for item in chosen.database_ids}
    return sum(_key(items, item) in database for item in chosen.query_ids)


def _key(items: Items, item: int) -> bytes:
    return hashlib.blake2b(items[item].tobytes(), digest_size=16).digest()
