"""Diagnostics of codes: dead and unbalanced bits, and the number of distinct codes; and of queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.distinct import Distinct
from hashbench.scoring.histogram import Histogram

BLOCK = 1 << 12  # codes whose bits are unpacked at a time
DISTINCT_LIMIT = 1 << 21  # words of distinct codes in memory, 16 MiB; beyond it they are not counted


@dataclass(frozen=True)
class CodeDiagnostics:
    """Distinct codes, dead bits and the share of ones; bits are numbered from 0."""

    n_items: int
    n_bits: int
    n_distinct: int | None  # None if the distinct codes take more than DISTINCT_LIMIT words
    dead: tuple[int, ...]  # bits with one value in all codes
    ones: NDArray[np.float64]  # the share of ones of each bit, float64[bits]; 1/2 is balanced


@dataclass(frozen=True)
class QueryDiagnostics:
    """The numbers of queries with no relevant item, an empty Hamming ball, or a relevant item with the same code."""

    without_relevant: int  # queries with no relevant item in the database
    empty_balls: int  # queries with no item inside the Hamming radius
    radius: int
    twins: int  # queries for which a relevant item has the same code: because of a leak, or because codes are short


def diagnose(codes: Codes) -> CodeDiagnostics:
    """The diagnostics of ``codes``, read block by block."""
    tally = Tally(codes.n_bits)
    tally.add(codes)
    return tally.diagnostics()


class Tally:
    """Computes the diagnostics of codes that come in pieces; the result does not depend on the pieces."""

    def __init__(self, n_bits: int) -> None:
        self.n_items = 0
        self._ones = np.zeros(n_bits, np.int64)
        self._distinct = Distinct(DISTINCT_LIMIT)

    def add(self, codes: Codes) -> None:
        """Adds one piece."""
        self._distinct.add(codes.words)
        for rows in slices(len(codes), BLOCK):
            self._ones += codes[rows].bits().sum(axis=0, dtype=np.int64)
        self.n_items += len(codes)

    def merge(self, other: "Tally") -> None:
        """Adds what ``other`` has counted, of other pieces of the same database."""
        self._distinct.merge(other._distinct)
        self._ones = self._ones + other._ones  # arrays that a cluster sends cannot be written
        self.n_items += other.n_items

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was counted, as arrays by name; ``of_arrays`` makes a tally of them again."""
        arrays: dict[str, NDArray[Any]] = {"n_items": np.array([self.n_items]), "ones": self._ones}
        if self._distinct.known is not None:
            arrays["distinct"] = self._distinct.known
        return arrays

    @staticmethod
    def of_arrays(arrays: Mapping[str, NDArray[Any]]) -> "Tally":
        """The tally that ``arrays`` returned them of."""
        tally = Tally(len(arrays["ones"]))
        tally.n_items = int(arrays["n_items"][0])
        tally._ones = arrays["ones"]
        tally._distinct.known = arrays.get("distinct")
        tally._distinct.is_beyond = tally.n_items > 0 and tally._distinct.known is None
        return tally

    def diagnostics(self) -> CodeDiagnostics:
        """The diagnostics of the pieces added so far."""
        n = self.n_items
        dead = tuple(np.flatnonzero((self._ones == 0) | (self._ones == n)).tolist())
        return CodeDiagnostics(n, len(self._ones), self._distinct.count(), dead, self._ones / max(n, 1))


def diagnose_queries(histogram: Histogram, radius: int = 2) -> QueryDiagnostics:
    """The diagnostics of the queries of ``histogram``, with the Hamming ball of ``radius`` around each query."""
    n_inside = histogram.at_distance[:, : radius + 1].sum(axis=1)
    return QueryDiagnostics(
        without_relevant=int((histogram.n_relevant == 0).sum()),
        empty_balls=int((n_inside == 0).sum()),
        radius=radius,
        twins=int((histogram.relevant[:, 0] > 0).sum()),
    )
