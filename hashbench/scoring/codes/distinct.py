"""The number of distinct codes: few of them mean many ties, whose order then decides a ranking."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.config import BEYOND_INTEGERS, Strict

DISTINCT_BLOCK = 1 << 16  # new codes that are sorted at a time, or as many as are known

Words = NDArray[np.uint64]
AtLeastOne = Annotated[int, Field(ge=1, lt=BEYOND_INTEGERS)]


class DistinctCodes(Strict):
    """The numbers of distinct codes of the queries and of the database of a run."""

    queries: AtLeastOne
    database: AtLeastOne


def count_distinct(words: Words) -> int:
    """The number of distinct rows of uint64[n, words of a code], exactly."""
    return len(_once(words))


class Distinct:
    """Counts distinct codes exactly, up to ``limit`` words of them; beyond the limit it counts no more."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: Words | None = None  # those so far, sorted, uint64[n, words of a code]; None without any
        self.is_beyond = False

    def add(self, words: Words) -> None:
        """Adds codes, uint64[n, words of a code]."""
        while len(words) and not self.is_beyond:
            known = words[:0] if self.known is None else self.known
            n_at_once = max(len(known), DISTINCT_BLOCK)  # so each code is sorted only a few times
            self.known = _once(np.concatenate([known, words[:n_at_once]]))
            words = words[n_at_once:]
            self.is_beyond = self.known.size > self.limit
        if self.is_beyond:
            self.known = None

    def merge(self, other: "Distinct") -> None:
        """Adds the codes that ``other`` has counted; both have one limit."""
        self.is_beyond = self.is_beyond or other.is_beyond
        if other.known is not None:
            self.add(other.known)
        if self.is_beyond:
            self.known = None

    def count(self) -> int | None:
        """The number of distinct codes, or None beyond the limit; it does not depend on the pieces."""
        if self.is_beyond:
            return None
        return 0 if self.known is None else len(self.known)


def _once(words: Words) -> Words:
    """The distinct rows, sorted."""
    if words.shape[1] == 1:
        ordered = np.sort(words, axis=0)
    else:
        ordered = words[np.lexsort(words.T)]
    is_new = np.ones(len(ordered), bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    if is_new.all():
        return ordered
    return ordered[is_new]
