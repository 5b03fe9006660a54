"""The number of distinct codes: few of them mean many ties, whose order then decides a ranking."""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.config import BEYOND_INTEGERS, Strict
from hashbench.foundation.parallel import slices

DISTINCT_BLOCK = 1 << 16  # the smallest number of new codes that is sorted at a time

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
        self._known: Words | None = None  # sorted, each once
        self._pending: list[Words] = []
        self._is_beyond = False

    @staticmethod
    def of(known: Words | None, limit: int) -> "Distinct":
        """A counter that goes on from the codes that ``known`` returned: None is beyond the limit."""
        distinct = Distinct(limit)
        distinct._known = known
        distinct._is_beyond = known is None
        return distinct

    def add(self, words: Words) -> None:
        """Adds codes, uint64[n, words of a code]."""
        for rows in slices(len(words), DISTINCT_BLOCK):
            if self._is_beyond:
                return
            self._pending.append(words[rows])
            n_known = 0 if self._known is None else len(self._known)
            if sum(map(len, self._pending)) >= max(n_known, DISTINCT_BLOCK):  # so each code is sorted only a few times
                self.known()

    def merge(self, other: "Distinct") -> None:
        """Adds the codes that ``other`` has counted; both have one limit."""
        known = other.known()
        self._is_beyond = self._is_beyond or other._is_beyond
        if self._is_beyond:
            self._known = None
            self._pending = []
        elif known is not None:
            self.add(known)

    def known(self) -> Words | None:
        """The distinct codes so far, sorted, uint64[n, words of a code]; None beyond the limit or without a code."""
        if self._pending and not self._is_beyond:
            if self._known is not None:
                self._pending.append(self._known)
            self._known = _once(np.concatenate(self._pending))
            self._pending = []
            if self._known.size > self.limit:
                self._known = None
                self._is_beyond = True
        return self._known

    def count(self) -> int | None:
        """The number of distinct codes, or None beyond the limit; it does not depend on the pieces."""
        known = self.known()
        if self._is_beyond:
            return None
        if known is None:
            return 0
        return len(known)


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
