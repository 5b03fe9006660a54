"""Splits: which items of a data set are queries, which are the database, which are trained on."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Protocol
from hashbench.errors import HashbenchError
from hashbench.files import atomic
from hashbench.registry import canonical

Ids = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Item ids, int64, sorted ascending; ``train_ids`` lie inside ``database_ids``, queries do not."""

    query_ids: Ids
    database_ids: Ids
    train_ids: Ids

    def lists(self) -> dict[str, Ids]:
        """The three lists by role, in the order that the checksum takes them."""
        return {"query": self.query_ids, "database": self.database_ids, "train": self.train_ids}

    @cached_property
    def sha256(self) -> str:
        """SHA-256 (hex) of the three lists, each as a line with its role and length and then its ids, 8 bytes each."""
        digest = hashlib.sha256()
        for part in self._canonical():
            digest.update(part)
        return digest.hexdigest()

    def _canonical(self) -> Iterator[bytes]:
        for role, ids in self.lists().items():
            yield f"{role} {len(ids)}\n".encode()
            yield canonical_bytes(ids)


def canonical_bytes(ids: Ids) -> bytes:
    """The ids as little-endian 64-bit integers, the same on every machine."""
    return ids.astype("<i8").tobytes()


def split(
    labels: NDArray[np.int64], protocol: Protocol, dataset: str, protocol_name: str, seed: int | None = None
) -> Split:
    """The split of a data set with class ids ``labels`` [n]; the same arguments always give the same ids.

    Within a class the items are ordered by the BLAKE2b digest of ``dataset/protocol-seed/id``: the first
    ``queries_per_class`` are queries, the next ``train_per_class`` are trained on. A hash of names keeps
    its order for ever; the stream of a NumPy generator may change between versions. ``seed`` defaults to the
    protocol's. An item with a negative label has no class and is in the database only.

    Raises:
        HashbenchError: a class is too small, or the labels are not class ids.
    """
    dataset, protocol_name = canonical(dataset), canonical(protocol_name)
    seed = protocol.seed if seed is None else seed
    salt = f"{dataset}/{protocol_name}-{seed}"
    if labels.ndim != 1:
        raise HashbenchError(f"{dataset} {protocol_name}: splits by class need one class id an item")
    _require_enough(labels, protocol, f"{dataset} {protocol_name}")
    orders = [_order(np.flatnonzero(labels == label), salt) for label in np.unique(labels[labels >= 0])]
    first, last = protocol.queries_per_class, protocol.queries_per_class + protocol.train_per_class
    query_ids = _sorted_union([order[:first] for order in orders])
    database_ids = np.setdiff1d(np.arange(len(labels)), query_ids, assume_unique=True)
    train_ids = _sorted_union([order[first:last] for order in orders]) if protocol.train_per_class else database_ids
    return _checked(Split(query_ids, database_ids, train_ids), len(labels))


def write(path: Path, chosen: Split) -> None:
    """Writes the three lists and their checksum as a .npz: query_ids, database_ids, train_ids, sha256."""
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            query_ids=chosen.query_ids,
            database_ids=chosen.database_ids,
            train_ids=chosen.train_ids,
            sha256=np.array(chosen.sha256),
        )


def _order(ids: Ids, salt: str) -> Ids:
    keys = [hashlib.blake2b(f"{salt}/{item}".encode(), digest_size=16).digest() for item in ids.tolist()]
    return ids[sorted(range(len(ids)), key=keys.__getitem__)]


def _sorted_union(parts: list[Ids]) -> Ids:
    return np.sort(np.concatenate(parts))


def _require_enough(labels: NDArray[np.int64], protocol: Protocol, where: str) -> None:
    classes, counts = np.unique(labels[labels >= 0], return_counts=True)
    if not classes.size:
        raise HashbenchError(f"{where}: no item has a class")
    # where the whole database is trained on, a class still needs an item there to be found
    needed = protocol.queries_per_class + max(protocol.train_per_class, 1)
    smallest = int(counts.argmin())
    if counts[smallest] < needed:
        raise HashbenchError(
            f"{where}: class {classes[smallest]} has {counts[smallest]} items; "
            f"{protocol.queries_per_class} queries and {needed - protocol.queries_per_class} to train need {needed}"
        )


def _checked(chosen: Split, n_items: int) -> Split:
    assert len(chosen.query_ids) + len(chosen.database_ids) == n_items
    assert not np.intersect1d(chosen.query_ids, chosen.database_ids).size
    assert np.isin(chosen.train_ids, chosen.database_ids).all()
    return chosen
