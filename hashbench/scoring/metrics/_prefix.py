"""Prefix sums over ranks: the sum over any range of ranks is one subtraction, without loss of digits."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Term = Callable[[Floats], Floats]

TABLE = 1 << 20  # a sum is stored for every rank up to here; 16 MiB
STEP = 1 << 10  # beyond TABLE a sum is stored every STEP ranks: 1.5 MiB for 10^8 ranks


@dataclass(frozen=True)
class Running:
    """Sums of the first 0, 1, 2, ... terms, each stored as high + low.

    A plain running sum loses the digits that a short range far down the ranking needs. ``low`` holds the rounding error
    of each addition (Knuth's error-free two-sum), so the sum of a range is exact to a few units in its last place.
    """

    high: Floats
    low: Floats

    @staticmethod
    def of(terms: Floats) -> "Running":
        """The running sums of ``terms``."""
        high = np.concatenate([[0.0], np.cumsum(terms)])  # cumsum adds one term at a time, which two-sum requires
        before = high[:-1]
        after = high[1:]
        added = after - before
        lost = (before - (after - added)) + (terms - added)
        return Running(high, np.concatenate([[0.0], np.cumsum(lost)]))

    def between(self, start: Ints, stop: Ints) -> Floats:
        """The sum of the terms start .. stop - 1, elementwise."""
        return (self.high[stop] - self.high[start]) + (self.low[stop] - self.low[start])


@dataclass(frozen=True)
class PrefixSums:
    """Sums of ``term``, a smooth and slowly falling function of the rank, over any range of ranks."""

    term: Term
    near: Running  # rank by rank up to TABLE
    far: Running  # STEP by STEP from there

    @staticmethod
    def of(term: Term, n: int) -> "PrefixSums":
        """The sums over ranks 1 .. n."""
        near = Running.of(term(np.arange(1, min(n, TABLE) + 1, dtype=np.float64)))
        starts = np.arange(TABLE, n - STEP + 1, STEP)
        return PrefixSums(term, near, Running.of(short_sum(term, starts, np.full_like(starts, STEP))))

    def between(self, start: Ints, stop: Ints) -> Floats:
        """The sum over ranks start + 1 .. stop, elementwise; 0 where they are equal."""
        near = self.near.between(np.minimum(start, TABLE), np.minimum(stop, TABLE))
        if stop.max(initial=0) <= TABLE:
            return near
        start = np.maximum(start, TABLE) - TABLE
        stop = np.maximum(stop, TABLE) - TABLE
        last = stop // STEP  # the whole steps are stored, the ranks before and after them are added
        first = np.minimum(-(-start // STEP), last)
        head = np.where(start <= first * STEP, first * STEP, stop)
        tail = np.maximum(head, last * STEP)
        ends = [short_sum(self.term, TABLE + at, to - at) for at, to in ((start, head), (tail, stop))]
        return near + (ends[0] + self.far.between(first, last) + ends[1])


def short_sum(term: Term, start: Ints, length: Ints) -> Floats:
    """The sum of ``term`` over ranks start + 1 .. start + length, at most STEP of them, far down the ranking.

    Gauss's quadrature for a sum of equally spaced terms: with the centre c of the ranks and h^2 = (3 m^2 - 7) / 20, the
    points c - h, c, c + h sum polynomials of degree 5 exactly. The relative error, below (m / t)^6, is 1e-18 here.
    """
    m = length.astype(np.float64)
    squared = np.maximum(3 * m**2 - 7, 1) / 20
    side = np.maximum(m**2 - 1, 0) / 24 / squared  # the weight of each outer point
    centre = start + (m + 1) / 2
    h = np.where(m > 1, np.sqrt(squared), 0)
    return m * ((1 - 2 * side) * term(centre) + side * (term(centre - h) + term(centre + h)))


@lru_cache(maxsize=4)
def harmonic(n: int) -> PrefixSums:
    """Sums of 1 / t for ranks t = 1 .. n (differences of the harmonic numbers)."""
    return PrefixSums.of(lambda t: 1.0 / t, n)


@lru_cache(maxsize=4)
def discount(n: int) -> PrefixSums:
    """Sums of D(t) = 1 / log2(t + 1) for ranks t = 1 .. n [He et al. 2018, eq. 3]."""
    return PrefixSums.of(lambda t: 1.0 / np.log2(t + 1), n)
