"""What is wrong with codes before any query is asked: dead, duplicate, lopsided bits; codes that are not distinct."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.histogram import Histogram

BLOCK = 1 << 16  # codes whose bits are looked at together
DISTINCT_LIMIT = 1 << 23  # words that are sorted to find the distinct codes; beyond it they are not counted


@dataclass(frozen=True)
class Diagnostics:
    """What a set of codes looks like; bits are numbered from 0.

    ``duplicates`` are the pairs (bit, earlier bit) that are equal in every code, or opposite in every code: the two
    count as one bit of information. Dead bits are not among them.
    """

    n_items: int
    n_bits: int
    n_distinct: int | None  # None where there are too many codes to compare them all
    dead: tuple[int, ...]  # bits with one value in all codes
    duplicates: tuple[tuple[int, int], ...]
    ones: NDArray[np.float64]  # the share of ones of each bit, float64[bits]; 1/2 is balanced


@dataclass(frozen=True)
class Retrieval:
    """What the queries met, whatever the metric."""

    without_relevant: int  # queries with no relevant item in the database
    empty_balls: int  # queries with no item inside the Hamming radius
    radius: int
    twins: int  # queries whose very code a relevant item has: a trace of a leak, or a short code


def diagnose(codes: Codes) -> Diagnostics:
    """The diagnostics of ``codes``, read block by block.

    The third bit is always set, the second is the opposite of the first:

    >>> from hashbench.codes import pack
    >>> found = diagnose(pack(np.array([[0, 1, 1], [1, 0, 1], [1, 0, 1]], np.uint8)))
    >>> found.n_distinct, found.dead, found.duplicates, found.ones.round(2)
    (2, (2,), ((1, 0),), array([0.67, 0.33, 1.  ]))
    """
    n_ones = np.zeros(codes.n_bits, np.int64)
    columns = [hashlib.blake2b(digest_size=16) for _ in range(codes.n_bits)]
    first = codes[:1].bits()
    for block in _blocks(codes):
        bits = np.ascontiguousarray(block.bits().T)
        n_ones += bits.sum(axis=1, dtype=np.int64)
        # a bit that differs from that of the first code: the same column for a bit and for its opposite
        for column, changed in zip(columns, np.packbits(bits ^ first.T, axis=1), strict=True):
            column.update(changed.tobytes())
    n = len(codes)
    dead = tuple(int(bit) for bit in np.flatnonzero((n_ones == 0) | (n_ones == n)))
    duplicates = _duplicates([column.digest() for column in columns], set(dead))
    return Diagnostics(n, codes.n_bits, count_distinct(codes), dead, duplicates, n_ones / max(n, 1))


def retrieval(histogram: Histogram, radius: int = 2) -> Retrieval:
    """How many queries have no relevant item, an empty Hamming ball of ``radius``, a relevant item with their code."""
    inside = histogram.at_distance[:, : radius + 1].sum(axis=1)
    return Retrieval(
        without_relevant=int((histogram.n_relevant == 0).sum()),
        empty_balls=int((inside == 0).sum()),
        radius=radius,
        twins=int((histogram.relevant[:, 0] > 0).sum()),
    )


def count_distinct(codes: Codes) -> int | None:
    """How many different codes there are; None beyond DISTINCT_LIMIT words, which nobody wants to sort.

    >>> from hashbench.codes import pack
    >>> count_distinct(pack(np.array([[0, 1], [1, 0], [0, 1]], np.uint8)))
    2
    """
    words_each = -(-codes.n_bits // 64)
    if len(codes) * words_each > DISTINCT_LIMIT:
        return None
    if len(codes) == 0:
        return 0
    words = codes[: len(codes)].words
    if words_each == 1:
        ordered = np.sort(words[:, 0])
        return 1 + int((ordered[1:] != ordered[:-1]).sum())
    ordered = words[np.lexsort(words.T)]
    return 1 + int((ordered[1:] != ordered[:-1]).any(axis=1).sum())


def _blocks(codes: Codes) -> Iterator[Codes]:
    for start, stop in pairwise([*range(0, len(codes), BLOCK), len(codes)]):
        yield codes[start:stop]


def _duplicates(columns: list[bytes], dead: set[int]) -> tuple[tuple[int, int], ...]:
    earliest: dict[bytes, int] = {}
    pairs = []
    for bit, column in enumerate(columns):
        if bit not in dead and earliest.setdefault(column, bit) != bit:
            pairs.append((bit, earliest[column]))
    return tuple(pairs)
