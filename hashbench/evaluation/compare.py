"""Two codes of the same queries and the same database, compared query by query."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench import metrics
from hashbench.codes.files import Ids, rows_of_ids
from hashbench.evaluation.paired import Difference, Floats, differences
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.metrics import Metrics
from hashbench.relevance.labels import Labels


@dataclass(frozen=True, eq=False)
class Side:
    """One of two codes that are compared: its name, its histogram, and what tells its queries apart, where known.

    ``split`` is the checksum of the ids of a run's split, ``ids`` [q] the ids of the queries, ``labels`` their labels.
    """

    name: str
    histogram: Histogram
    ids: Ids | None = None
    labels: Labels | None = None
    split: str | None = None


@dataclass(frozen=True, eq=False)
class QueryValues:
    """A query that two codes differ in: its number, from 0 in the order of a, its id if it has one, and both values."""

    query: int
    id: int | str | None
    a: float
    b: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences of some metrics over the queries that have a relevant item; ``n_empty`` queries have none.

    ``same_by`` says how the queries of the two were found to be the same. ``values`` are those of each metric and each
    query, float64[2, q]: of a and of b, NaN for a query without a relevant item.
    """

    n_queries: int
    n_empty: int
    n_database: int
    same_by: str
    metrics: dict[str, Difference]
    values: dict[str, Floats]
    ids: Ids | None

    def most_different(self, metric: str, top: int) -> Iterator[QueryValues]:
        """The at most ``top`` queries with the largest differences, largest first; equal ones are left out."""
        a, b = self.values[metric]
        size = np.nan_to_num(np.abs(a - b))
        for query in np.argsort(-size, kind="stable")[:top].tolist():
            if size[query] > 0:
                yield QueryValues(query, _printable(self.ids, query), float(a[query]), float(b[query]))


def _printable(ids: Ids | None, query: int) -> int | str | None:
    if ids is None:
        return None
    found = ids[query].item()
    return found.decode("utf-8", "backslashreplace") if isinstance(found, bytes) else found


def check_names(names: str | Sequence[str]) -> Metrics:
    """The metrics; raises HashbenchError for one that is no mean over queries of their own."""
    parsed = Metrics.parse(names)
    for metric in parsed:
        if metric.entry.needs_all_queries:
            raise HashbenchError(
                f"metric '{metric}': its value for a query depends on the other queries, so queries cannot be "
                "resampled: name a metric of single queries, such as ap"
            )
    return parsed


def compare(a: Side, b: Side, names: Metrics, *, samples: int, seed: int, interval: float) -> Comparison:
    """The comparison of two codes in the metrics ``names``; raises HashbenchError if their queries are not the same."""
    rows, same_by = _matched(a, b)
    of_a, of_b = metrics.evaluate(a.histogram, names), metrics.evaluate(b.histogram, names)
    values = {name: np.stack([of_a[name], of_b[name][rows]]) for name in of_a}
    kept = a.histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(f"{a.name}: no query has a relevant item: there is nothing to compare")
    found = differences(
        {name: each[0, kept] for name, each in values.items()},
        {name: each[1, kept] for name, each in values.items()},
        samples=samples,
        seed=seed,
        interval=interval,
    )
    n_database = int(a.histogram.counts[0].sum())
    ids = a.ids if a.ids is not None else None if b.ids is None else b.ids[rows]
    return Comparison(len(kept), int((~kept).sum()), n_database, same_by, found, values, ids)


def _matched(a: Side, b: Side) -> tuple[NDArray[np.int64], str]:
    """The row in b of each query of a, and how they were found to be the same; raises HashbenchError if they are not.

    Whatever the ids and the labels say, each query must have as many items of each level in both databases.
    """
    if a.histogram.n_queries != b.histogram.n_queries:
        raise _others(a, b, f"{a.histogram.n_queries:,} and {b.histogram.n_queries:,} of them")
    rows, same_by = np.arange(a.histogram.n_queries), "the number of items of each relevance level"
    if a.split is not None and b.split is not None:
        if a.split != b.split:
            raise _others(a, b, "the ids of their splits differ")
        same_by = "the ids of their split"
    elif a.ids is not None and b.ids is not None:
        rows, same_by = _by_ids(a, a.ids, b, b.ids), "their ids"
    elif a.labels is not None and b.labels is not None and a.labels.ndim == b.labels.ndim:
        if not _same_labels(a.labels, b.labels):
            raise _others(a, b, "their labels differ")
        same_by = "their labels"
    if not _same_relevance(a.histogram, b.histogram, rows):
        raise _others(a, b, "they have other numbers of items of each relevance level in the database")
    return rows, same_by


def _others(a: Side, b: Side, why: str) -> HashbenchError:
    return HashbenchError(
        f"{a.name}, {b.name}: not the same queries ({why}): codes of the same queries and database are expected"
    )


def _by_ids(a: Side, of_a: Ids, b: Side, of_b: Ids) -> NDArray[np.int64]:
    """The row in b of each query of a, by its id."""
    rows = rows_of_ids(of_a, [of_b], f"{b.name}: query_ids")
    if (rows < 0).any() or len(np.unique(rows)) < len(rows):
        raise _others(a, b, "their ids differ")
    return rows


def _same_labels(a: Labels, b: Labels) -> bool:
    """Whether the same queries share labels; the classes may have other numbers."""
    return np.array_equal(_renumbered(a), _renumbered(b))


def _renumbered(labels: Labels) -> Labels:
    """Class ids [n] numbered by their first item (negative ids are no class); multi-hot columns [n, labels] sorted."""
    if labels.ndim == 2:
        return np.unique(labels[:, labels.any(axis=0)] > 0, axis=1).astype(np.int64)
    known, first, place = np.unique(np.maximum(labels, -1), return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    number[known < 0] = -1
    return number[place]


def _same_relevance(a: Histogram, b: Histogram, rows: NDArray[np.int64]) -> bool:
    """Whether each query has as many items of each relevance level in both."""
    of_a, of_b = _by_level(a), _by_level(b)
    return of_a.keys() == of_b.keys() and all(np.array_equal(of_a[level], of_b[level][rows]) for level in of_a)


def _by_level(histogram: Histogram) -> dict[int, NDArray[np.int64]]:
    """The number of items of each query at each level that occurs."""
    totals = histogram.counts.sum(axis=1)
    return {int(level): totals[:, v] for v, level in enumerate(histogram.levels) if totals[:, v].any()}
