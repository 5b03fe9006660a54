"""The counting kernel for few pairs, in NumPy alone: ``bincount`` counts keys of distance and level, query by query.

A pair of 64 bits costs some 4 ns of a core, 13 times as much as in Numba's kernels (benchmarks/scoring.py).
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram.counts import Ints, Job
from hashbench.scoring.relevance.labels import Relevance

QUERY_BLOCK = 16  # queries of a job
ITEM_BLOCK = 1 << 15  # items at a time: their words and keys fit into the level-2 cache


def jobs(relevance: Relevance, query: Codes, database: Codes, columns: slice, counts: Ints) -> Iterator[Job]:
    """As ``numba_kernel.jobs``: the work of adding all pairs of ``query`` and ``database[columns]`` to ``counts``."""

    def job(rows: slice) -> int:
        for part in slices(columns.stop - columns.start, ITEM_BLOCK):
            items = slice(columns.start + part.start, columns.start + part.stop)
            _add(query.words[rows], database.words[items].T, relevance.block(rows, items), counts[rows])
        return counts[rows].shape[0] * (columns.stop - columns.start)

    return (partial(job, rows) for rows in slices(len(query), QUERY_BLOCK))


def _add(query: NDArray[np.uint64], database: NDArray[np.uint64], level: NDArray[np.uint16], counts: Ints) -> None:
    """Adds all pairs to ``counts`` int64[q, d, v]; query uint64[q, w], database uint64[w, n], level uint16[q, n]."""
    n_levels = counts.shape[2]
    size = counts[0].size
    assert level.max(initial=0) < n_levels, "blocks are indices of the levels"
    narrow = np.min_scalar_type(size)  # one byte where it holds all keys: the narrower, the faster
    words = np.ascontiguousarray(database)
    levels = level.astype(narrow)
    for q in range(len(query)):
        key = levels[q]
        for one, others in zip(query[q], words, strict=True):
            key += np.bitwise_count(one ^ others) * narrow.type(n_levels)
        counts[q] += np.bincount(key, minlength=size).reshape(counts[q].shape)
