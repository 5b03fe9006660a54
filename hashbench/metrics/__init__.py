"""Metrics: closed forms of the histogram, exact under ties, or of a search of buckets; one file a metric.

A metric is asked for by name, and the name reads back to itself::

    ap  ap@5000  ap(norm=min)@100  ap(norm=retrieved)@5000  ap_best  ap_worst  ndcg  ndcg@100
    precision@100  precision@r2 (Hamming radius 2)  precision@r (R-precision)  recall@100  recall@r2  auc
    pr_area  pr_area@10000
    suf  suf@16  rerank_precision@4  nmi (of a search of buckets)
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hashbench.errors import HashbenchError
from hashbench.histogram import Histogram, ties
from hashbench.histogram.ranking import Ranked
from hashbench.histogram.ties import Policy
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import At, MetricName
from hashbench.metrics._name import read as read_name
from hashbench.metrics._value import MetricValue
from hashbench.parallel import slices
from hashbench.registry import Catalogue
from hashbench.sparse.retrieval import Retrieval

__all__ = [
    "METRICS",
    "At",
    "Metric",
    "MetricName",
    "MetricValue",
    "evaluate",
    "evaluate_rankings",
    "evaluate_retrieval",
    "evaluate_ties",
    "extremes",
    "parse",
    "read_name",
    "summarise",
    "wanted",
]

METRICS = Catalogue("metric", "hashbench.metrics", "METRIC", Metric, group="hashbench.metrics")

BLOCK = 1 << 20  # histogram entries looked at together: a few 8 MiB arrays, whatever the number of queries
ROUNDING = 1e-9  # a value outside its range by more than this is a defect, not rounding

SOURCES = {Histogram: "items ranked by distance", Retrieval: "a search of buckets (k-sparse codes)"}


def parse(name: str) -> MetricName:
    """The metric that ``name`` asks for; its ``str()`` is the canonical name, without parameters at their defaults.

    A name, parameter, choice or cutoff that does not exist raises HashbenchError.

    >>> str(parse("ap(norm=all)@5"))
    'ap@5'
    """
    written = read_name(name)
    return METRICS.get(written.metric).accept(written)


def wanted(names: Iterable[str], source: type[Histogram] | type[Retrieval] = Histogram) -> dict[str, MetricName]:
    """The metrics that ``names`` ask for, by canonical name, in the order asked.

    Raises HashbenchError where ``parse`` does, and for a metric that is a closed form of something else than
    ``source``: what can be said before anything is counted.
    """
    found = {str(name): name for name in map(parse, names)}
    for canonical, name in found.items():
        needed = METRICS.get(name.metric).of
        if needed is not source:
            raise HashbenchError(
                f"metric '{canonical}' is of {SOURCES[needed]}, and cannot be had of {SOURCES[source]}"
            )
    return found


def evaluate(histogram: Histogram, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The values per query, float64[q], of each metric, keyed by canonical name in the order asked.

    NaN marks exactly the queries that are left out: those without a relevant item (N^+ = 0). A cutoff larger than
    the database is the database. A metric that speaks of Hamming radii raises HashbenchError on tie groups that are
    not Hamming distances (``Ranked``), and so does one that is of a search of buckets.
    """
    asked = wanted(names)
    for name in asked.values():
        if isinstance(histogram, Ranked) and _needs_radii(name):
            raise HashbenchError(f"metric '{name}' speaks of Hamming radii, which this ranking does not have")
    together = {canonical: name for canonical, name in asked.items() if METRICS.get(name.metric).together}
    single = {canonical: name for canonical, name in asked.items() if canonical not in together}
    values = _joined((_block(block, single) for block in _blocks(histogram)), single)
    values |= _block(histogram, together) if together else {}
    return {canonical: values[canonical] for canonical in asked}


def evaluate_ties(
    histogram: Histogram, names: Sequence[str], policy: Policy, ordered: Iterable[Histogram] | None = None
) -> dict[str, NDArray[np.float64]]:
    """The values per query of each metric under a tie policy, as ``evaluate`` gives them.

    ``order`` needs ``ordered``, the rankings that ``ties.in_order`` gives, since a histogram does not hold the order of
    the database. What lies inside a Hamming radius does not depend on ties: ``precision@rR``, ``recall@rR`` and
    ``pr_area`` are the same under every policy. ``pr_area@k`` is defined for ``expected`` only; another policy raises
    HashbenchError.
    """
    by_radius, others = _by_radius(names, policy)
    values = evaluate(histogram, by_radius)
    if others and policy == "order":
        assert ordered is not None, "a histogram does not hold the order of items"
        values |= evaluate_rankings(ordered, others)
    elif others:
        values |= evaluate_rankings((ties.apply(block, policy) for block in _blocks(histogram)), others)
    return {canonical: values[canonical] for canonical in map(str, map(parse, names))}


def extremes(histogram: Histogram, names: Sequence[str]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The least and the largest value per query that any order of the tied items gives, by canonical name.

    A metric that does not depend on the order of ties, and those that are such an end themselves, are left out.
    """
    ranged = [name for name in map(parse, names) if not (_needs_radii(name) or METRICS.get(name.metric).is_bound)]
    by_order = [str(name) for name in ranged if name.metric != "ap"]
    found = {}
    for end in ("worst", "best"):
        of_ap = {str(name): str(replace(name, metric=f"ap_{end}")) for name in ranged if name.metric == "ap"}
        values = evaluate(histogram, list(of_ap.values()))
        split = (ties.apply(block, ties.check(end)) for block in _blocks(histogram))
        found[end] = {name: values[of] for name, of in of_ap.items()} | evaluate_rankings(split, by_order)
    return {name: (found["worst"][name], found["best"][name]) for name in map(str, ranged)}


def evaluate_rankings(rankings: Iterable[Histogram], names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The values per query of each metric on rankings that come in blocks of queries, as ``evaluate`` gives them."""
    return _joined((evaluate(part, names) for part in rankings), [str(parse(name)) for name in names])


def evaluate_retrieval(retrieval: Retrieval, names: Sequence[str]) -> dict[str, MetricValue]:
    """Each metric of a search of buckets, over its queries, keyed by canonical name in the order asked.

    Every query counts, with or without a relevant item. ``suf`` and ``nmi`` are one number of all queries together:
    they deviate from nothing, and their std is None. Without a query there is no mean. A metric of ranked items raises
    HashbenchError, and so does ``nmi`` where an item is in several buckets.
    """
    return {canonical: _over_queries(retrieval, name) for canonical, name in wanted(names, Retrieval).items()}


def summarise(values: NDArray[np.float64]) -> MetricValue:
    """The mean and the standard deviation of values per query, NaN being the queries left out.

    The deviation is that of the population (ddof = 0). ``n_queries`` counts all queries, ``n_empty`` those left out;
    where all are, or there is no query, mean and std are None.

    >>> summarise(np.array([0.5, 1.0, np.nan]))
    MetricValue(mean=0.75, std=0.25, n_queries=3, n_empty=1)
    """
    kept = values[~np.isnan(values)]
    mean, std = (float(kept.mean()), float(kept.std())) if len(kept) else (None, None)
    return MetricValue(mean=mean, std=std, n_queries=len(values), n_empty=len(values) - len(kept))


def _over_queries(retrieval: Retrieval, name: MetricName) -> MetricValue:
    metric = METRICS.get(name.metric)
    found = metric.evaluate(retrieval, name)
    assert retrieval.n_queries == 0 or ((found >= 0) & (found <= metric.most)).all(), f"{name} left [0, {metric.most}]"
    if found.ndim == 1:
        return summarise(found)
    mean = None if np.isnan(found) else float(found)
    return MetricValue(mean=mean, std=None, n_queries=retrieval.n_queries, n_empty=0)


def _needs_radii(name: MetricName) -> bool:
    return METRICS.get(name.metric).over_radii or (name.at is not None and name.at.kind == "radius")


def _by_radius(names: Sequence[str], policy: Policy) -> tuple[list[str], list[str]]:
    """The metrics that ask for Hamming radii, which no tie policy changes, and the others."""
    wanted = list(map(parse, names))
    for name in wanted:
        if policy != "expected" and name.at is not None and METRICS.get(name.metric).over_radii:
            raise HashbenchError(f"metric '{name}': rank k cuts ties at every radius: only ties 'expected' has it")
    by_radius = [str(name) for name in wanted if _needs_radii(name)]
    return by_radius, [str(name) for name in wanted if not _needs_radii(name)]


def _joined(parts: Iterable[dict[str, NDArray[np.float64]]], names: Iterable[str]) -> dict[str, NDArray[np.float64]]:
    collected = list(parts)
    return {name: np.concatenate([part[name] for part in collected]) for name in names}


def _blocks(histogram: Histogram) -> Iterator[Histogram]:
    step = max(1, BLOCK // max(1, histogram.counts[:1].size))
    for rows in slices(max(1, histogram.n_queries), step):
        yield replace(histogram, counts=histogram.counts[rows])


def _block(histogram: Histogram, names: dict[str, MetricName]) -> dict[str, NDArray[np.float64]]:
    empty = histogram.n_relevant == 0
    values = {}
    for canonical, name in names.items():
        metric = METRICS.get(name.metric)
        value = np.where(empty, np.nan, metric.evaluate(histogram, name))
        in_range = (value >= -ROUNDING) & (value <= metric.most + ROUNDING)
        assert (empty | in_range).all(), f"{canonical} left [0, {metric.most}]"
        values[canonical] = np.clip(value, 0.0, metric.most)
    return values
