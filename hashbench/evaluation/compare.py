"""Two codes of the same queries and database, compared query by query: a paired bootstrap and a sign-flip test."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.codes.files import Ids, rows_of_ids
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import Bar, bar
from hashbench.histogram import Histogram
from hashbench.metrics import Metrics
from hashbench.relevance.labels import Labels

Floats = NDArray[np.float64]

BLOCK = 1 << 21  # numbers that are drawn at a time: arrays of 16 MiB, for any number of queries and samples
ROUNDING = 1e-12  # two values of a query that differ by less are equal


@dataclass(frozen=True, eq=False)
class Side:
    """One of two codes that are compared: its name, its histogram, and what tells its queries apart, where known."""

    name: str
    histogram: Histogram
    ids: Ids | None = None
    labels: Labels | None = None
    split: str | None = None  # the checksum of the ids of a run's split


@dataclass(frozen=True)
class Difference:
    """The difference of one metric, mean of a minus mean of b, over the queries."""

    a: float
    b: float
    difference: float
    low: float  # the ends of the bootstrap's interval
    high: float
    p: float  # the share of the random exchanges of a and b that give a mean difference at least as large
    is_exact: bool  # all exchanges were counted


@dataclass(frozen=True, eq=False)
class QueryValues:
    """A query that two codes differ in: its number, from 0 in the order of a, its id if it has one, and both values."""

    query: int
    id: int | str | None
    a: float
    b: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of some metrics over the queries that have a relevant item; ``n_empty`` queries have none."""

    n_queries: int
    n_empty: int
    n_database: int
    same_by: str  # how the queries of the two were found to be the same
    metrics: dict[str, Difference]
    values: dict[str, Floats]  # of each metric, float64[2, q]: of a and of b, NaN for a query without a relevant item
    ids: Ids | None

    def most_different(self, metric: str, top: int) -> Iterator[QueryValues]:
        """The at most ``top`` queries with the largest differences, largest first; equal ones are left out."""
        a, b = self.values[metric]
        size = np.nan_to_num(np.abs(a - b))
        for query in np.argsort(-size, kind="stable")[:top].tolist():
            if size[query] > 0:
                of = None if self.ids is None else self.ids[query].item()
                of = of.decode("utf-8", "backslashreplace") if isinstance(of, bytes) else of
                yield QueryValues(query, of, float(a[query]), float(b[query]))


def check_names(names: str | Sequence[str]) -> Metrics:
    """The metrics; raises HashbenchError for one that is no mean over queries of their own."""
    parsed = Metrics.parse(names)
    for metric in parsed.where(lambda metric: metric.entry.needs_all_queries):
        why = "its value for a query depends on the other queries, so queries cannot be resampled"
        raise HashbenchError(f"metric '{metric}': {why}: name a metric of single queries, such as ap")
    return parsed


def compare(a: Side, b: Side, names: Metrics, *, samples: int, seed: int, interval: float) -> Comparison:
    """The comparison of two codes in the metrics ``names``; raises HashbenchError if their queries are not the same."""
    rows, same_by = _matched(a, b)
    of_a, of_b = metrics.evaluate(a.histogram, names), metrics.evaluate(b.histogram, names)
    values = {name: np.stack([of_a[name], of_b[name][rows]]) for name in of_a}
    kept = a.histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(f"{a.name}: no query has a relevant item: there is nothing to compare")
    firsts, seconds = ({name: each[side, kept] for name, each in values.items()} for side in (0, 1))
    found = differences(firsts, seconds, samples=samples, seed=seed, interval=interval)
    ids = a.ids if a.ids is not None else None if b.ids is None else b.ids[rows]
    n_database = int(a.histogram.counts[0].sum())
    return Comparison(len(kept), int((~kept).sum()), n_database, same_by, found, values, ids)


def holm(p: Sequence[float]) -> list[float]:
    """The p-values of several tests, corrected for their number by Holm's step-down procedure, in their order.

    The k-th smallest of n is multiplied by n - k + 1, and none is smaller than one before it or larger than 1.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, np.asarray(p)[order] * np.arange(len(p), 0, -1)))
    return [float(each) for each in corrected]


def _matched(a: Side, b: Side) -> tuple[NDArray[np.int64], str]:
    """The row in b of each query of a, and how they were found to be the same; raises HashbenchError if they differ."""

    def require(is_same: bool, why: str) -> None:
        expected = "codes of the same queries and database are expected"
        if not is_same:
            raise HashbenchError(f"{a.name}, {b.name}: not the same queries ({why}): {expected}")

    sizes = a.histogram.n_queries, b.histogram.n_queries
    require(sizes[0] == sizes[1], f"{sizes[0]:,} and {sizes[1]:,} of them")
    rows, same_by = np.arange(sizes[0]), "the number of items of each relevance level"
    if a.split is not None and b.split is not None:
        require(a.split == b.split, "the ids of their splits differ")
        same_by = "the ids of their split"
    elif a.ids is not None and b.ids is not None:
        rows, same_by = rows_of_ids(a.ids, [b.ids], f"{b.name}: query_ids"), "their ids"
        require(bool((rows >= 0).all()) and len(np.unique(rows)) == len(rows), "their ids differ")
    elif a.labels is not None and b.labels is not None and a.labels.ndim == b.labels.ndim:
        require(np.array_equal(renumbered(a.labels), renumbered(b.labels)), "their labels differ")
        same_by = "their labels"
    of_a, of_b = _by_level(a.histogram), _by_level(b.histogram)
    same_items = of_a.keys() == of_b.keys() and all(np.array_equal(of_a[level], of_b[level][rows]) for level in of_a)
    require(same_items, "they have other numbers of items of each relevance level in the database")
    return rows, same_by


def renumbered(labels: Labels) -> Labels:
    """Class ids [n] numbered by their first item (negative ids are no class); multi-hot columns [n, labels] sorted."""
    if labels.ndim == 2:
        return np.unique(labels[:, labels.any(axis=0)] > 0, axis=1).astype(np.int64)
    known, first, place = np.unique(np.maximum(labels, -1), return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    number[known < 0] = -1
    return number[place]


def _by_level(histogram: Histogram) -> dict[int, NDArray[np.int64]]:
    """The number of items of each query at each level that occurs."""
    totals = histogram.counts.sum(axis=1)
    return {int(level): totals[:, v] for v, level in enumerate(histogram.levels) if totals[:, v].any()}


def differences(
    a: Mapping[str, Floats], b: Mapping[str, Floats], *, samples: int, seed: int, interval: float
) -> dict[str, Difference]:
    """The difference of each metric; ``a``, ``b`` [q] are finite, at least one; all metrics share the resampling."""
    first, second = np.stack([a[name] for name in a]), np.stack([b[name] for name in a])
    paired = first - second
    paired[np.abs(paired) < ROUNDING] = 0.0
    with bar("compare", "sample", 2 * samples, scaled=True) as done:
        lows, highs = _bootstrap(paired, samples, seed, interval, done)
        p = [_of_all_flips(values[values != 0], samples) for values in paired]
        is_exact = [each is not None for each in p]
        sampled = [metric for metric, each in enumerate(p) if each is None]
        for metric, hits in zip(sampled, _random_hits(paired[sampled], samples, seed, done), strict=True):
            p[metric] = (int(hits) + 1) / (samples + 1)
    means = [each.mean(axis=1) for each in (first, second, paired)]
    columns = (each.tolist() for each in (*means, lows, highs, np.array(p, float)))
    return {name: Difference(*row) for name, *row in zip(a, *columns, is_exact, strict=True)}


def _bootstrap(paired: Floats, samples: int, seed: int, interval: float, done: Bar) -> Floats:
    """The ends of the percentile interval of each metric's mean difference, float64[2, m], of resampled queries."""
    n_queries = paired.shape[1]
    random = np.random.default_rng(seed)
    means = np.empty((len(paired), samples))
    for part in slices(samples, max(1, BLOCK // n_queries)):
        drawn = random.integers(n_queries, size=(part.stop - part.start, n_queries))
        for metric, values in enumerate(paired):
            means[metric, part] = values[drawn].mean(axis=1)
        done.update(part.stop - part.start)
    tail = (1 - interval) / 2
    return np.quantile(means, [tail, 1 - tail], axis=1)


def _of_all_flips(values: Floats, samples: int) -> float | None:
    """The exact p-value, of all ways to flip the signs of ``values``; None where they are more than ``samples``."""
    if len(values) > 62 or 1 << len(values) > samples:
        return None
    flipped = np.zeros(1)
    for value in values:
        flipped = np.concatenate([flipped + value, flipped - value])
    return float((np.abs(flipped) >= _threshold(values)).mean())


def _random_hits(paired: Floats, samples: int, seed: int, done: Bar) -> NDArray[np.int64]:
    """How many of the random flips of the signs give a sum as large as the observed one, int64[m]."""
    n_queries = paired.shape[1]
    random = np.random.default_rng((seed, 1))  # other numbers than those of the bootstrap
    hits, total = np.zeros(len(paired), np.int64), paired.sum(axis=1)
    thresholds = np.array([_threshold(values) for values in paired])
    for part in slices(samples if len(paired) else 0, max(1, BLOCK // n_queries)):
        drawn = random.integers(256, size=(part.stop - part.start, -(-n_queries // 8)), dtype=np.uint8)
        kept = np.unpackbits(drawn, axis=1, count=n_queries).astype(np.float64) @ paired.T
        hits += (np.abs(2 * kept - total) >= thresholds).sum(axis=0)
        done.update(part.stop - part.start)
    return hits


def _threshold(values: Floats) -> float:
    """The observed sum, less what rounding can make of an equal one."""
    return float(abs(values.sum()) - ROUNDING * np.abs(values).sum())
