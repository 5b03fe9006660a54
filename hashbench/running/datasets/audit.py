"""Audits: whether a split is the one that the card states, and which queries the database has under another id."""

import hashlib
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import CheckFailed
from hashbench.foundation.parallel import slices
from hashbench.running.datasets.protocol import Protocol
from hashbench.running.datasets.readers import Items
from hashbench.running.datasets.split import Ids, Split, canonical_bytes
from hashbench.running.datasets.store import Dataset, DatasetLabels
from hashbench.running.datasets.stored_file import array_sha256, label_counts

DISJOINT = [("query", "database"), ("query", "train"), ("validation", "database"), ("validation", "train")]
N_SHOWN = 5
BLOCK_BYTES = 16 << 20  # of items, in memory at once

Keys = NDArray[np.uint64] | NDArray[np.bytes_]


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
    """The report on a split that is as the card states: SHA-256 (hex) and counts of classes or labels for each list."""

    sizes: dict[str, int]
    checksums: dict[str, str]
    ids_sha256: str
    labels_sha256: str
    class_counts: dict[str, list[int]]
    compared_by: list[str]
    leaks: list[Leak]


def audit(data: Dataset | DatasetLabels, chosen: Split, protocol: Protocol, seed: int) -> Audit:
    """A report on a split, with duplicates between lists; CheckFailed unless it is the one that the card states."""
    _require_stated(data.name, chosen, protocol, seed)
    lists = chosen.lists()
    keys: dict[str, Keys] = {}
    if isinstance(data, Dataset):
        keys["bytes"] = byte_keys(data.items)
    if data.names is not None:
        keys["file name"] = data.names
    leaks = []
    for (by, keys_of_items), (role, inside) in product(keys.items(), DISJOINT):
        if role in lists:
            pairs = find_duplicates(keys_of_items, lists[role], lists[inside])
            if pairs:
                leaks.append(Leak(role, inside, by, len(pairs), pairs[:N_SHOWN]))
    n_classes = len(label_counts(data.labels))
    return Audit(
        sizes={role: len(ids) for role, ids in lists.items()},
        checksums={role: hashlib.sha256(canonical_bytes(ids)).hexdigest() for role, ids in lists.items()},
        ids_sha256=chosen.sha256,
        labels_sha256=array_sha256(data.labels),
        class_counts={role: label_counts(data.labels[ids], n_classes).tolist() for role, ids in lists.items()},
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


def find_duplicates(keys: Keys, ids: Ids, others: Ids) -> list[tuple[int, int]]:
    """(item, its first duplicate) for the items of ``ids`` whose key an item of ``others`` has too.

    Both lists are sorted and share no id.

    >>> find_duplicates(np.array([7, 8, 7, 7], np.uint64), np.array([0, 1]), np.array([2, 3]))
    [(0, 2)]
    """
    order = np.argsort(keys[others], kind="stable")
    theirs = keys[others][order]
    at = np.searchsorted(theirs, keys[ids])
    is_there = at < len(theirs)
    is_there[is_there] = theirs[at[is_there]] == keys[ids][is_there]
    return list(zip(ids[is_there].tolist(), others[order[at[is_there]]].tolist(), strict=True))


def _require_stated(name: str, chosen: Split, protocol: Protocol, seed: int) -> None:
    """Raises CheckFailed for other sizes than the card states and, for the protocol's own seed, for other ids."""
    sizes = {
        "query": (protocol.n_queries, len(chosen.query_ids)),
        "database": (protocol.n_database, len(chosen.database_ids)),
        "train": (protocol.n_train, len(chosen.train_ids)),
        "validation": (protocol.n_validation, len(chosen.validation_ids)),
    }
    for role, (stated, n) in sizes.items():
        if stated not in (None, n):
            raise CheckFailed(f"{name}: {n} {role} ids; the card states {stated}")
    if seed == protocol.seed and protocol.ids_sha256 not in (None, chosen.sha256):
        raise CheckFailed(f"{name}: the ids have checksum {chosen.sha256}; the card states {protocol.ids_sha256}")
