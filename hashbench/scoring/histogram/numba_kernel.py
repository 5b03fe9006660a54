"""The counting kernels on the CPU: distance and level become one key, and a small table counts the keys.

A tile of keys is computed without branches, so that the compiler vectorises it, and then counted. With class labels and
codes of one word a pair costs half an increment, because two queries of the same class share a key.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.scoring.codes import Codes, pack_words
from hashbench.scoring.histogram.counts import Ints, Job
from hashbench.scoring.relevance.labels import ClassRelevance, Labels, Relevance, SharedLabelRelevance

Words = NDArray[np.uint64]
Keys = NDArray[np.uint32]

QUERY_BLOCK = 16  # queries of a job: a millisecond or less, so that all cores end at about the same time
LEVEL_BLOCK = 1 << 14  # items whose levels are read at a time
JOINT_BITS = 64  # up to this code length a key holds two distances: 65 x 65 counts fit into the L1 cache
TILE = 1024  # keys in flight: 4 KiB
TABLES = 4  # increments of one key would wait for each other in a single table; written out in _tally

_new = np.uint32(1)


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
    """Set bits of a uint64: the processor's own instruction, which Numba has no name for."""

    def build(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), build


def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` compiled without the GIL, kept on disk where possible: for one set of types, as it is shared."""
    try:
        return njit(nogil=True, cache=True)(function)
    except RuntimeError:  # neither beside this file nor in the user's cache folder
        return njit(nogil=True)(function)


inner = njit(nogil=True)  # part of the kernels that call it, and kept with them


@inner
def _add_differing(query: Words, database: Words, start: int, scale: int, key: Keys) -> None:
    """Adds ``scale`` times the Hamming distance to each item from ``start``; query [w], database [w, n]."""
    for w in range(len(query)):
        word = query[w]
        row = database[w, start : start + len(key)]
        for i in range(len(key)):
            key[i] += np.uint32(scale) * np.uint32(popcount(word ^ row[i]))


@inner
def _tally(key: Keys, table: Keys) -> None:
    whole = len(key) - len(key) % 4
    for i in range(0, whole, 4):
        table[0, key[i]] += _new
        table[1, key[i + 1]] += _new
        table[2, key[i + 2]] += _new
        table[3, key[i + 3]] += _new
    for i in range(whole, len(key)):
        table[0, key[i]] += _new


@inner
def _move_counts(table: Keys, total: Ints) -> None:
    """Adds the tables to ``total`` [keys] and clears them."""
    for k in range(len(total)):
        for t in range(TABLES):
            total[k] += np.int64(table[t, k])
    for t in range(TABLES):
        for k in range(len(total)):
            table[t, k] = 0


@inner
def _add_marginals(pairs: Ints, one: Ints, two: Ints) -> None:
    """Adds the sums of the rows of ``pairs`` to ``one`` and, of several columns, those of the columns to ``two``."""
    columns = np.zeros(pairs.shape[1], np.int64)
    for d in range(pairs.shape[0]):
        total = np.int64(0)
        for e in range(pairs.shape[1]):
            total += pairs[d, e]
            columns[e] += pairs[d, e]
        one[d] += total
    if len(columns) > 1:
        for e in range(len(columns)):
            two[e] += columns[e]


@inner
def _count_run(one: Words, two: Words, width: int, database: Words, start: int, stop: int, table: Keys) -> None:
    """Counts the items start .. stop by the key d(one) * width + d(two), or by d(one) alone where width is 1."""
    buffer = np.empty(TILE, np.uint32)
    for tile in range(start, stop, TILE):
        key = buffer[: min(TILE, stop - tile)]
        for i in range(len(key)):
            key[i] = 0
        _add_differing(one, database, tile, width, key)
        if width > 1:
            _add_differing(two, database, tile, 1, key)
        _tally(key, table)


@compiled
def count_classes(query: Words, database: Words, pairs: NDArray[np.int64], cuts: Ints, counts: Ints) -> None:
    """Adds the pairs of some queries to ``counts`` int64[q, d, 2], one or two queries at a time.

    query [q, w]; database [w, n], sorted by class; pairs [p, 2]: queries of one class, the second -1 where there is
    none; cuts [p, 2]: where the items of that class begin and end.
    """
    n_bins = counts.shape[1]
    n_cells = n_bins
    if pairs[:, 1].max() >= 0:
        n_cells *= n_bins
    table = np.zeros((TABLES, n_cells), np.uint32)
    total = np.zeros(table.shape[1], np.int64)
    for p in range(len(pairs)):
        one = pairs[p, 0]
        two = max(pairs[p, 0], pairs[p, 1])
        width = n_bins if pairs[p, 1] >= 0 else 1
        bounds = (0, cuts[p, 0], cuts[p, 1], database.shape[1])
        for run in range(3):
            if bounds[run] < bounds[run + 1]:
                _count_run(query[one], query[two], width, database, bounds[run], bounds[run + 1], table)
                joint = total[: n_bins * width]
                for k in range(len(joint)):
                    joint[k] = 0
                _move_counts(table, joint)
                level = run % 2
                _add_marginals(joint.reshape(n_bins, width), counts[one, :, level], counts[two, :, level])


@compiled
def count_keys(
    query: Words, database: Words, level: NDArray[np.uint16], query_labels: Words, database_labels: Words, counts: Ints
) -> None:
    """Adds all pairs to ``counts`` int64[q, d, v], v being ``level`` uint16[q, n], or the number of shared labels.

    query uint64[q, w], database uint64[w, n]; labels likewise, packed. What is not used has no columns or no words.
    """
    n_bins, n_levels = counts.shape[1:]
    table = np.zeros((TABLES, n_bins * n_levels), np.uint32)
    buffer = np.empty(TILE, np.uint32)
    for q in range(len(query)):
        for tile in range(0, database.shape[1], TILE):
            key = buffer[: min(TILE, database.shape[1] - tile)]
            for i in range(len(key)):
                key[i] = 0
            if level.shape[1]:
                levels = level[q, tile : tile + len(key)]
                for i in range(len(key)):
                    key[i] = levels[i]
            _add_differing(query[q], database, tile, n_levels, key)
            for w in range(query_labels.shape[1]):
                word = query_labels[q, w]
                row = database_labels[w, tile : tile + len(key)]
                for i in range(len(key)):
                    key[i] += np.uint32(popcount(word & row[i]))
            _tally(key, table)
        _move_counts(table, counts[q].reshape(n_bins * n_levels))


def jobs(relevance: Relevance, query: Codes, database: Codes, columns: slice, counts: Ints) -> Iterator[Job]:
    """The work of adding all pairs of ``query`` and ``database[columns]`` to ``counts``; no two parts share a query."""
    if isinstance(relevance, ClassRelevance | SharedLabelRelevance):
        sides = relevance.query_labels, relevance.database_labels[columns]
        if isinstance(relevance, ClassRelevance) and all(map(is_signed, sides)):
            return _by_class(*sides, query, database.words[columns], counts)
        if isinstance(relevance, SharedLabelRelevance) and all(map(is_multi_hot, sides)):
            return _by_shared_labels(*sides, query, database.words[columns], counts)
    return _by_level(relevance, query, database, columns, counts)


def _by_level(relevance: Relevance, query: Codes, database: Codes, columns: slice, counts: Ints) -> Iterator[Job]:
    words = _contiguous(query.words)
    items = _contiguous(database.words[columns].T)
    no_labels = np.zeros((len(words), 0), np.uint64), np.zeros((0, items.shape[1]), np.uint64)

    def job(rows: slice) -> int:
        for part in slices(items.shape[1], LEVEL_BLOCK):
            level = relevance.block(rows, slice(columns.start + part.start, columns.start + part.stop))
            assert level.max(initial=0) < counts.shape[2], "blocks are indices of the levels"
            keys = _contiguous(level.astype(np.uint16, copy=False))
            count_keys(words[rows], _contiguous(items[:, part]), keys, *no_labels, counts[rows])
        return len(words[rows]) * items.shape[1]

    return (partial(job, rows) for rows in slices(len(words), QUERY_BLOCK))


def _by_class(query_labels: Labels, labels: Labels, query: Codes, database: Words, counts: Ints) -> Iterator[Job]:
    order = np.argsort(labels, kind="stable")
    words = _contiguous(query.words)
    items = _contiguous(database[order].T)
    pairs = _pairs(query_labels, joint=query.n_bits <= JOINT_BITS)
    classes = query_labels[pairs[:, 0]]
    labels = labels[order]
    cuts = np.stack([np.searchsorted(labels, classes, side) for side in ("left", "right")], axis=1).astype(np.int64)
    cuts[classes < 0] = 0

    def job(part: slice) -> int:
        count_classes(words, items, pairs[part], cuts[part], counts)
        return int((pairs[part] >= 0).sum()) * len(labels)

    return (partial(job, part) for part in slices(len(pairs), QUERY_BLOCK // 2))


def _by_shared_labels(
    query_labels: Labels, labels: Labels, query: Codes, database: Words, counts: Ints
) -> Iterator[Job]:
    words = _contiguous(query.words)
    items = _contiguous(database.T)
    query_bits = pack_words(query_labels)
    database_bits = _contiguous(pack_words(labels).T)
    no_level = np.zeros((len(words), 0), np.uint16)

    def job(rows: slice) -> int:
        count_keys(words[rows], items, no_level, query_bits[rows], database_bits, counts[rows])
        return len(words[rows]) * len(labels)

    return (partial(job, rows) for rows in slices(len(words), QUERY_BLOCK))


def _contiguous(array: NDArray[Any]) -> NDArray[Any]:
    """``array`` C-contiguous and writeable, as the kernels require it; copied only if it is not."""
    return np.require(array, requirements=["C", "W"])


def is_signed(labels: Labels) -> bool:
    """True if all ids of that type are int64 too; unsigned 64-bit ones and reals are compared as they are."""
    return np.can_cast(labels.dtype, np.int64)


def is_multi_hot(labels: Labels) -> bool:
    """True if all labels are 0 or 1: then a bit holds a label."""
    return labels.size == 0 or (labels.min() >= 0 and labels.max() <= 1)


def _pairs(labels: Labels, joint: bool) -> Ints:
    """All queries, int64[p, 2]: if ``joint``, in pairs of the same class; the second is -1 for a single query."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    is_second = joint & ((np.arange(len(labels)) - np.searchsorted(ordered, ordered)) % 2 == 1)
    following = np.full_like(order, -1)
    following[:-1] = np.where(is_second[1:], order[1:], -1)
    return np.stack([order, following], axis=1)[~is_second]
