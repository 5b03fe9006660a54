"""Metrics by definition: every order of the tied items is written out, scored in fractions and averaged.

A ranking is two lists, the distance and the relevance level of each item; an order is a tuple of levels, first rank
first. Nothing here is shared with the package.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hashbench.scoring.histogram import Histogram

Order = tuple[int, ...]


def histogram(distances: Sequence[int], levels: Sequence[int], n_bits: int, n_levels: int = 0) -> Histogram:
    """The histogram of one query, counted one by one; level values are 0, 1, 2, ..."""
    counts = np.zeros((1, n_bits + 1, n_levels or max(levels, default=0) + 2), np.int64)
    for distance, level in zip(distances, levels, strict=True):
        counts[0, distance, level] += 1
    return Histogram(counts, np.arange(counts.shape[2]))


def loop_counts(query: np.ndarray, database: np.ndarray, level: Callable[[int, int], int], n_levels: int) -> np.ndarray:
    """n[q, d, v] from bits [n, bits], by a plain loop."""
    counts = np.zeros((len(query), query.shape[1] + 1, n_levels), np.int64)
    for q, one in enumerate(query):
        for n, other in enumerate(database):
            distance = sum(int(a) != int(b) for a, b in zip(one, other, strict=True))
            counts[q, distance, level(q, n)] += 1
    return counts


def orders(distances: Sequence[int], levels: Sequence[int]) -> list[Order]:
    """All orders that the distances allow, each as likely as any other (equal levels are not told apart)."""
    groups = [
        tuple(sorted(v for d, v in zip(distances, levels, strict=True) if d == at)) for at in sorted(set(distances))
    ]
    all_orders: list[Order] = [()]
    for group in groups:
        all_orders = [head + tail for head in all_orders for tail in _arrangements(group)]
    return all_orders


@lru_cache(maxsize=4096)
def _arrangements(items: Order) -> list[Order]:
    def grow(rest: Order) -> Iterator[Order]:
        if not rest:
            yield ()
        for first in sorted(set(rest)):
            index = rest.index(first)
            for tail in grow(rest[:index] + rest[index + 1 :]):
                yield (first, *tail)

    return list(grow(items))


Measure = Callable[[Order], Fraction | float]


def scores(measure: Measure, distances: Sequence[int], levels: Sequence[int]) -> list[Fraction | float]:
    """The measure of every order."""
    return [measure(order) for order in orders(distances, levels)]


def expected(measure: Measure, distances: Sequence[int], levels: Sequence[int]) -> float:
    """The mean of the measure over all orders."""
    values = scores(measure, distances, levels)
    exact = all(isinstance(value, Fraction) for value in values)
    return float(sum(values, Fraction(0)) / len(values)) if exact else math.fsum(values) / len(values)


def average_precision(order: Order, k: int | None = None, norm: str = "all") -> Fraction:
    """AP@k of one order; ``norm`` says what it is divided by: ``all``, ``min`` or ``retrieved``."""
    relevant = [level > 0 for level in order]
    k = min(len(order), k or len(order))
    total = sum((Fraction(sum(relevant[: t + 1]), t + 1) for t in range(k) if relevant[t]), Fraction(0))
    divisor = {"all": sum(relevant), "min": min(sum(relevant), k), "retrieved": sum(relevant[:k])}[norm]
    return total / divisor if divisor else Fraction(0)


def dcg(order: Order, k: int | None = None) -> float:
    """Discounted cumulative gain, gain 2^v - 1, discount 1 / log2(rank + 1)."""
    return math.fsum((2**level - 1) / math.log2(t + 2) for t, level in enumerate(order[:k]))


def ndcg(order: Order, k: int | None = None) -> float:
    """DCG over that of the levels sorted."""
    ideal = dcg(tuple(sorted(order, reverse=True)), k)
    return dcg(order, k) / ideal if ideal else 0.0


def precision(order: Order, k: int) -> Fraction:
    """The relevant share of the first k."""
    k = min(k, len(order))
    return Fraction(sum(level > 0 for level in order[:k]), k)


def r_precision(order: Order) -> Fraction:
    """Precision at as many ranks as items are relevant."""
    return precision(order, sum(level > 0 for level in order))


def recall(order: Order, k: int) -> Fraction:
    """The share of the relevant that is among the first k."""
    return Fraction(sum(level > 0 for level in order[:k]), sum(level > 0 for level in order))


def structhash_ndcg(order: Order, k: int) -> float:
    """Lin et al. 2014, eq. 21."""
    weights = [1.0 if t == 1 else 1 / math.log2(t) for t in range(1, min(k, len(order)) + 1)]
    return math.fsum(w for w, level in zip(weights, order, strict=False) if level > 0) / math.fsum(weights)


def auc(order: Order) -> Fraction:
    """The share of (relevant, irrelevant) pairs in the right order; 1 where there is no pair."""
    pairs = [(a, b) for a, one in enumerate(order) if one > 0 for b, other in enumerate(order) if other == 0]
    return Fraction(sum(a < b for a, b in pairs), len(pairs)) if pairs else Fraction(1)


def precision_recall(distances: Sequence[int], levels: Sequence[int], k: int) -> list[tuple[float, float]] | None:
    """(precision@j, recall@j) for j = 1 .. k, each the mean over all orders; None without a relevant item.

    After the last item nothing more is found.
    """
    n_relevant = sum(level > 0 for level in levels)
    if n_relevant == 0:
        return None

    def found(j: int) -> float:
        return expected(lambda order: Fraction(sum(level > 0 for level in order[:j])), distances, levels)

    return [(found(j) / j, found(j) / n_relevant) for j in range(1, k + 1)]


def area(curves: Sequence[list[tuple[float, float]]]) -> float:
    """The area under mean precision against mean recall by trapezoids; the first point is extended to recall 0."""
    points = [
        (math.fsum(precision for precision, _ in at) / len(at), math.fsum(recall for _, recall in at) / len(at))
        for at in zip(*curves, strict=True)
    ]
    total = 0.0
    last_precision = points[0][0]
    last_recall = 0.0
    for precision, recall in points:
        total += (recall - last_recall) * (precision + last_precision) / 2
        last_precision = precision
        last_recall = recall
    return total


def reciprocal_rank(order: Order, k: int | None = None) -> Fraction:
    """1 / (the rank of the first relevant item); 0 where it comes after rank k."""
    ranks = [t for t, level in enumerate(order[:k], 1) if level > 0]
    return Fraction(1, ranks[0]) if ranks else Fraction(0)


def f1(order: Order, k: int) -> Fraction:
    """The harmonic mean of precision@k and recall@k; 0 where both are 0."""
    both = precision(order, k), recall(order, k)
    return 2 * both[0] * both[1] / sum(both) if any(both) else Fraction(0)
