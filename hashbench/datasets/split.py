"""Splits: which items of a data set are queries, database, training and validation items."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from hashbench.datasets.draw import Ids, draw
from hashbench.datasets.protocol import Protocol
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import atomic
from hashbench.foundation.registry import canonical
from hashbench.relevance.labels import Labels


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

    ``seed`` is by default the protocol's. :mod:`hashbench.datasets.draw` says how each kind of protocol draws.
    Raises HashbenchError if a class has too few items, or if the protocol needs labels of another kind.
    """
    dataset, protocol_name = canonical(dataset), canonical(protocol_name)
    seed = protocol.seed if seed is None else seed
    try:
        roles = draw(protocol, labels, f"{dataset}/{protocol.stands_for(protocol_name)}-{seed}", seed)
    except HashbenchError as error:
        raise HashbenchError(f"{dataset} {protocol_name}: {error}") from None
    return Split(**{f"{role}_ids": ids for role, ids in roles.items()})


def of_first_classes(ids: Split, labels: Labels, n: int) -> Split:
    """The split without items of classes n and above; raises HashbenchError unless each item has one class."""
    if labels.ndim != 1 or n < 2 or n > labels.max() + 1:
        raise HashbenchError(f"n_classes = {n}: 2 or more of the data set's classes, each item of one class")
    kept = {f"{role}_ids": each[(labels[each] >= 0) & (labels[each] < n)] for role, each in ids.lists().items()}
    return Split(**kept)


def write(path: Path, chosen: Split) -> None:
    """Writes an .npz with query_ids, database_ids, train_ids, validation_ids if there are any, and sha256."""
    lists = {f"{role}_ids": ids for role, ids in chosen.lists().items()}
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **lists, sha256=np.array(chosen.sha256))  # type: ignore[arg-type]  # NumPy's own keyword clashes
