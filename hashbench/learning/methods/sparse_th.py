"""Th: the buckets of an item are the k largest dimensions, with sign, of its metric embedding (Jeong and Song 2018)."""

from dataclasses import dataclass
from pathlib import Path

from hashbench.foundation.files import write_text
from hashbench.learning.methods.exhaustive_search import SparseSettings, sparse_method
from hashbench.learning.sparse.hasher import BucketHasher


@dataclass(frozen=True)
class TopKHasher(BucketHasher):
    """The base and k."""

    def save(self, folder: Path) -> None:
        """Writes an empty hasher.json: there is nothing to save, because the base is saved by its own run."""
        write_text(folder / "hasher.json", "{}\n")


METHOD = sparse_method(
    SparseSettings,
    lambda settings, data, base: TopKHasher(base, settings.k),  # noqa: ARG005
    lambda settings, stored, base: TopKHasher(base, settings.k),  # noqa: ARG005
)
