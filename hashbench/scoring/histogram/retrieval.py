"""The retrieval: the result of a bucket search, from which its metrics are computed (as others from the histogram)."""

import hashlib
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.arrays import open_arrays, write_arrays
from hashbench.foundation.errors import HashbenchError, one_line

CUTOFFS = (1, 4, 16)  # how many nearest items the searches are for [Jeong and Song 2018, section 6]


class Reranked(NamedTuple):
    """A search for the nearest K items."""

    relevant: NDArray[np.bool_]  # [q, K], in the order of their distances
    n_candidates: NDArray[np.integer]  # [q]: different items in the buckets that a query opened


@dataclass(frozen=True, eq=False)
class Retrieval:
    """The searches for the nearest K = 1, 4 and 16 items, or for all where they are fewer, by K."""

    n_items: int  # that a query can find: if items search each other, all but one
    reranked: Mapping[int, Reranked]
    # [d, classes]: items of each class in each bucket; None if one may be in several buckets, or have several labels
    contingency: NDArray[np.integer] | None = None

    def __post_init__(self) -> None:
        if tuple(self.reranked) != CUTOFFS:
            present = ", ".join(map(str, self.reranked)) or "no"
            expected = ", ".join(map(str, CUTOFFS))
            raise HashbenchError(f"searches for {present} items: {expected} are expected")
        q = self.n_queries
        for cutoff, (relevant, n) in self.reranked.items():
            k = min(cutoff, self.n_items)
            fits = relevant.dtype == np.bool_ and relevant.shape == (q, k)
            in_range = n.dtype.kind in "ui" and n.shape == (q,) and bool(((n >= k) & (n <= self.n_items)).all())
            if k < 1 or not fits or not in_range:
                expected = f"bool {q, k} and {k} to {self.n_items} candidates of each query are expected"
                raise HashbenchError(f"relevant, {relevant.dtype} of shape {relevant.shape}: {expected}")
        counts = self.contingency
        if counts is not None and not (
            counts.dtype.kind in "ui" and counts.ndim == 2 and counts.any() and counts.min() >= 0
        ):
            raise HashbenchError(f"contingency of shape {counts.shape}: counts [d, classes] of some items are expected")

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.reranked[CUTOFFS[0]].n_candidates)

    def sha256(self) -> str:
        """SHA-256 of the content, independent of the file format; a row records it."""
        digest = hashlib.sha256()
        for name, array in self._arrays().items():
            stored = np.ascontiguousarray(array, "u1" if array.dtype == np.bool_ else "<i8")
            digest.update(f"{name} {array.shape} ".encode() + stored.tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Writes the retrieval as .npz or .npz.xz, whole or not at all."""
        write_arrays(path, self._arrays())

    @staticmethod
    def load(path: Path) -> "Retrieval":
        """The retrieval that ``save`` wrote; raises HashbenchError if the file is missing or damaged."""
        try:
            with open_arrays(path) as archive:
                reranked = {k: Reranked(archive[f"relevant_{k}"], archive[f"n_candidates_{k}"]) for k in CUTOFFS}
                counts = archive["contingency"]
                n_items = operator.index(archive["n_items"].item())
                return Retrieval(n_items, reranked, counts if counts.size else None)
        except FileNotFoundError:
            raise HashbenchError(f"{path}: no such file") from None
        except Exception as error:  # a damaged archive can raise nearly anything
            raise HashbenchError(f"{path}: not a readable retrieval: {one_line(error)}") from None

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays by their names in the file; without a contingency table its array is empty."""
        counts = self.contingency
        if counts is None:
            counts = np.zeros((0, 0), np.int64)
        arrays: dict[str, NDArray[Any]] = {"n_items": np.array(self.n_items), "contingency": counts}
        for cutoff, search in self.reranked.items():
            arrays[f"relevant_{cutoff}"] = search.relevant
            arrays[f"n_candidates_{cutoff}"] = search.n_candidates
        return arrays
