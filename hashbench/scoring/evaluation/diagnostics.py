"""Diagnostics of codes: dead, duplicate and unbalanced bits, and the number of distinct codes; and of queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.scoring.codes.distinct import Distinct
from hashbench.scoring.histogram import Histogram

MOST_IN_A_BYTE = 255
BLOCK = 16 * MOST_IN_A_BYTE  # codes whose bits are unpacked at a time
DISTINCT_LIMIT = 1 << 21  # words of distinct codes in memory, 16 MiB; beyond it they are not counted


@dataclass(frozen=True)
class CodeDiagnostics:
    """Distinct codes, dead bits, duplicate bits and the share of ones; bits are numbered from 0."""

    n_items: int
    n_bits: int
    n_distinct: int | None  # None if the distinct codes take more than DISTINCT_LIMIT words
    dead: tuple[int, ...]  # bits with one value in all codes
    duplicates: tuple[tuple[int, int], ...]  # (bit, earlier bit) that are equal or opposite in every code, none dead
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
        self._first: NDArray[np.uint8] | None = None  # bits of the first code
        # for each bit, the earliest bit that has been equal to it in all codes so far, or opposite in all
        self._like = np.zeros(n_bits, np.int64)
        self._distinct = Distinct(DISTINCT_LIMIT)

    def add(self, codes: Codes) -> None:
        """Adds one piece."""
        self._distinct.add(codes.words)
        for rows in slices(len(codes), BLOCK):
            bits = codes[rows].bits()
            # up to 255 rows are summed in bytes, which is many times faster
            whole = len(bits) - len(bits) % MOST_IN_A_BYTE
            runs = bits[:whole].reshape(-1, MOST_IN_A_BYTE, bits.shape[1])
            sums = np.add.reduce(runs, axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
            self._ones += sums + bits[whole:].sum(axis=0, dtype=np.int64)
            if self._first is None:
                self._first = bits[0].copy()
            # usually no bit has a duplicate after a few codes; only those that have are compared
            alike = np.flatnonzero(np.bincount(self._like)[self._like] > 1)
            # each bit is compared with its value in the first code, so a bit and its opposite have the same column
            columns = np.packbits((bits[:, alike] ^ self._first[alike]).T, axis=1)
            earliest: dict[tuple[int, bytes], int] = {}
            for bit, column in zip(alike.tolist(), columns, strict=True):
                self._like[bit] = earliest.setdefault((int(self._like[bit]), column.tobytes()), bit)
        self.n_items += len(codes)

    def merge(self, other: "Tally") -> None:
        """Adds what ``other`` has counted, of other pieces of the same database."""
        if other._first is None:
            return
        if self._first is None:
            self._first = other._first
            self._like = other._like
        else:  # bits are alike in both if they are so in the same way: equal in both, or opposite
            ways = np.stack([self._like, other._like, self._first ^ other._first], axis=1)
            earliest: dict[tuple[int, ...], int] = {}
            self._like = np.array([earliest.setdefault(tuple(way), bit) for bit, way in enumerate(ways.tolist())])
        self._distinct.merge(other._distinct)
        self._ones = self._ones + other._ones  # arrays that a cluster sends cannot be written
        self.n_items += other.n_items

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that was counted, as arrays by name; ``of_arrays`` makes a tally of them again."""
        arrays = {
            "n_items": np.array([self.n_items]),
            "ones": self._ones,
            "like": self._like,
            "first": self._first,
            "distinct": self._distinct.known(),
        }
        return {name: array for name, array in arrays.items() if array is not None}

    @staticmethod
    def of_arrays(arrays: Mapping[str, NDArray[Any]]) -> "Tally":
        """The tally that ``arrays`` returned them of."""
        tally = Tally(len(arrays["ones"]))
        tally.n_items = int(arrays["n_items"][0])
        tally._ones = arrays["ones"]
        tally._like = arrays["like"]
        tally._first = arrays.get("first")
        tally._distinct = Distinct.of(arrays.get("distinct"), DISTINCT_LIMIT)
        return tally

    def diagnostics(self) -> CodeDiagnostics:
        """The diagnostics of the pieces added so far."""
        n = self.n_items
        like = self._like.tolist()
        dead = tuple(np.flatnonzero((self._ones == 0) | (self._ones == n)).tolist())
        duplicates = tuple((bit, other) for bit, other in enumerate(like) if bit != other and bit not in dead)
        return CodeDiagnostics(n, len(like), self._distinct.count(), dead, duplicates, self._ones / max(n, 1))


def diagnose_queries(histogram: Histogram, radius: int = 2) -> QueryDiagnostics:
    """The diagnostics of the queries of ``histogram``, with the Hamming ball of ``radius`` around each query."""
    n_inside = histogram.at_distance[:, : radius + 1].sum(axis=1)
    return QueryDiagnostics(
        without_relevant=int((histogram.n_relevant == 0).sum()),
        empty_balls=int((n_inside == 0).sum()),
        radius=radius,
        twins=int((histogram.relevant[:, 0] > 0).sum()),
    )
