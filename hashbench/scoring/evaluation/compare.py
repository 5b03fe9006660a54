"""Two codes of the same queries and database, compared query by query in several metrics."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring import metrics
from hashbench.scoring.codes.files import Ids, rows_of_ids
from hashbench.scoring.evaluation.paired import Paired, compare_paired
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import Labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Side:
    """One of two codes that are compared: its name, its histogram, and what tells its queries apart, where known."""

    name: str
    histogram: Histogram
    ids: Ids | None = None
    labels: Labels | None = None
    split: str | None = None  # the checksum of the ids of a run's split


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
    metrics: dict[str, Paired]
    values: dict[str, Floats]  # of each metric, float64[2, q]: of a and of b, NaN for a query without a relevant item
    ids: Ids | None

    def most_different(self, metric: str, top: int) -> Iterator[QueryValues]:
        """The at most ``top`` queries with the largest differences, largest first; equal ones are left out."""
        a, b = self.values[metric]
        size = np.nan_to_num(np.abs(a - b))
        for query in np.argsort(-size, kind="stable")[:top].tolist():
            if size[query] > 0:
                query_id = None if self.ids is None else self.ids[query].item()
                if isinstance(query_id, bytes):
                    query_id = query_id.decode("utf-8", "backslashreplace")
                yield QueryValues(query, query_id, float(a[query]), float(b[query]))


def check_names(names: str | Sequence[str]) -> Metrics:
    """The metrics; raises HashbenchError for one that is no mean over queries of their own."""
    parsed = Metrics.parse(names)
    for metric in parsed.where(lambda metric: metric.entry.needs_all_queries):
        why = "its value for a query depends on the other queries, so it has no differences of queries"
        raise HashbenchError(f"metric '{metric}': {why}: name a metric of single queries, such as ap")
    return parsed


def compare(a: Side, b: Side, names: Metrics) -> Comparison:
    """The comparison of two codes in the metrics ``names``; raises HashbenchError if their queries are not the same."""
    rows, same_by = _matched(a, b)
    scores_of_a = metrics.evaluate(a.histogram, names)
    scores_of_b = metrics.evaluate(b.histogram, names)
    kept = a.histogram.n_relevant > 0
    if not kept.any():
        raise HashbenchError(f"{a.name}: no query has a relevant item: there is nothing to compare")
    values = {}
    differences = {}
    for name in scores_of_a:
        both = np.stack([scores_of_a[name], scores_of_b[name][rows]])
        values[name] = both
        differences[name] = compare_paired([both[0]], [both[1]])
    ids = a.ids
    if ids is None and b.ids is not None:
        ids = b.ids[rows]
    n_database = int(a.histogram.counts[0].sum())
    return Comparison(len(kept), int((~kept).sum()), n_database, same_by, differences, values, ids)


def _matched(a: Side, b: Side) -> tuple[NDArray[np.int64], str]:
    """The row in b of each query of a, and how they were found to be the same; raises HashbenchError if they differ."""

    def require(is_same: bool, why: str) -> None:
        expected = "codes of the same queries and database are expected"
        if not is_same:
            raise HashbenchError(f"{a.name}, {b.name}: not the same queries ({why}): {expected}")

    n_queries = a.histogram.n_queries
    require(n_queries == b.histogram.n_queries, f"{n_queries:,} and {b.histogram.n_queries:,} of them")
    rows = np.arange(n_queries)
    same_by = "the number of items of each relevance level"
    if a.split is not None and b.split is not None:
        require(a.split == b.split, "the ids of their splits differ")
        same_by = "the ids of their split"
    elif a.ids is not None and b.ids is not None:
        rows = rows_of_ids(a.ids, b.ids, f"{b.name}: query_ids")
        same_by = "their ids"
        require(bool((rows >= 0).all()) and len(np.unique(rows)) == len(rows), "their ids differ")
    elif a.labels is not None and b.labels is not None and a.labels.ndim == b.labels.ndim:
        require(np.array_equal(renumbered(a.labels), renumbered(b.labels)), "their labels differ")
        same_by = "their labels"
    items_of_a = _by_level(a.histogram)
    items_of_b = _by_level(b.histogram)
    same_items = items_of_a.keys() == items_of_b.keys() and all(
        np.array_equal(n_items, items_of_b[level][rows]) for level, n_items in items_of_a.items()
    )
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
