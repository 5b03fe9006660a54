"""Evaluates metrics: of a histogram, of rankings that come in blocks of queries, and of a bucket search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.histogram import Histogram, ties
from hashbench.histogram.ranking import RankingHistogram, joined, merged_after
from hashbench.histogram.retrieval import Retrieval
from hashbench.histogram.ties import Policy
from hashbench.metrics._metric import MetricValue
from hashbench.metrics._metrics import Metrics, NamedMetric

Floats = NDArray[np.float64]
Values = dict[str, Floats]  # the value of each query, float64[q], by canonical name
Extremes = dict[str, tuple[Floats, Floats]]  # the smallest and the largest value of each query, by canonical name

BLOCK = 1 << 20  # histogram entries evaluated at a time: a few arrays of 8 MiB, for any number of queries
ROUNDING = 1e-9  # a value outside its range by more than this is a defect, not rounding


def evaluate(ranked: Histogram | Iterable[Histogram], metrics: Metrics) -> Values:
    """The value of each query, float64[q], for each metric, by canonical name in the order of ``metrics``.

    ``ranked`` is a histogram, or rankings that come in blocks of queries, each of which is evaluated when it comes. For
    metrics that need all queries, all blocks are kept in memory, with the items after the largest cutoff merged into
    one tie group, which does not change the values.

    The value is NaN for a query without a relevant item (N^+ = 0), and only for these: they are left out of means. A
    cutoff beyond the last database item is the whole database. Raises HashbenchError for a metric at Hamming radii if
    the groups are not Hamming distances (``RankingHistogram``).
    """
    if not isinstance(ranked, Histogram):
        return _in_one_pass(ranked, {"expected": metrics})["expected"]
    for metric in metrics:
        if isinstance(ranked, RankingHistogram) and metric.needs_radii:
            raise HashbenchError(f"metric '{metric}' needs Hamming radii, which this ranking does not have")
    per_block = metrics.where(lambda metric: not metric.entry.needs_all_queries)
    values = _concatenated([_evaluate_block(block, per_block) for block in _blocks(ranked)], per_block)
    values |= _evaluate_block(ranked, metrics.where(lambda metric: metric.entry.needs_all_queries))
    return {name: values[name] for name in metrics.names}


def evaluate_with_extremes(
    ranked: Histogram | Iterable[Histogram],
    metrics: Metrics,
    policy: Policy = "expected",
    ordered: Iterable[Histogram] | None = None,
) -> tuple[Values, Extremes]:
    """The values under a tie policy, and the smallest and largest values over the orders of tied items.

    ``ranked`` is iterated once. The policy ``order`` needs ``ordered``, the rankings that ``ties.in_order`` returns,
    because a histogram does not hold the order of the database.

    Which items are inside a Hamming radius does not depend on ties: ``precision@rR``, ``recall@rR`` and ``pr_area`` are
    the same under every policy. ``ap_worst``, ``ap_best`` and ``pr_area@k`` have no extremes; ``pr_area@k`` is defined
    for the policy ``expected`` only, and another one raises HashbenchError.
    """
    by_radius = metrics.where(lambda metric: metric.needs_radii)
    others = metrics.where(lambda metric: not metric.needs_radii)
    cut = [metric for metric in by_radius if metric.rank is not None]
    if cut and policy != "expected":
        raise HashbenchError(f"metric '{cut[0]}': rank k may cut a tie, so it is defined for ties 'expected' only")
    assert policy != "order" or ordered is not None, "a histogram does not hold the order of items"
    if by_radius and not isinstance(ranked, Histogram):
        raise HashbenchError(f"metric '{by_radius.names[0]}' needs Hamming radii, which this ranking does not have")
    values = evaluate(ranked, by_radius) if by_radius else {}
    extremes = {str(metric): (values[str(metric)],) * 2 for metric in by_radius if metric.rank is None}
    ranged = others.where(lambda metric: not metric.entry.is_bound)
    wanted: dict[Policy, list[NamedMetric]] = {"expected": [], "worst": [], "best": []}
    for metric in ranged:
        for at, end in _ends(metric):
            wanted[at].append(end)
    if policy != "order":
        wanted[policy] += others
    found = _in_one_pass(_blocks(ranked), {each: Metrics(tuple(dict.fromkeys(of))) for each, of in wanted.items()})
    values |= evaluate(ordered, others) if policy == "order" and ordered is not None else found[policy]
    for metric in ranged:
        worst, best = (found[at][str(end)] for at, end in _ends(metric))
        extremes[str(metric)] = worst, best
    return {name: values[name] for name in metrics.names}, extremes


def _ends(metric: NamedMetric) -> list[tuple[Policy, NamedMetric]]:
    """The tie policy and the metric that give the worst value, then those of the best: AP has formulas for both."""
    if metric.name.metric == "ap":
        return [("expected", metric.of("ap_worst")), ("expected", metric.of("ap_best"))]
    return [("worst", metric), ("best", metric)]


def _in_one_pass(rankings: Iterable[Histogram], wanted: Mapping[Policy, Metrics]) -> dict[Policy, Values]:
    """The values of the metrics under each policy; each block is computed once, and put in each order once."""
    evaluations = {policy: _OverBlocks(metrics) for policy, metrics in wanted.items() if metrics}
    for block in rankings if evaluations else ():
        for policy, evaluation in evaluations.items():
            evaluation.add(ties.apply(block, policy))
    return {policy: evaluations[policy].values() if policy in evaluations else {} for policy in wanted}


class _OverBlocks:
    """Evaluates metrics over rankings that come in blocks of queries."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics
        self.of_all = metrics.where(lambda metric: metric.entry.needs_all_queries)
        self.of_each = metrics.where(lambda metric: not metric.entry.needs_all_queries)
        ranks = [metric.rank for metric in self.of_all]
        self.deepest = None if None in ranks else max((rank for rank in ranks if rank is not None), default=0)
        self.kept: list[RankingHistogram] = []  # only the metrics that need all queries need more than one block
        self.parts: list[Values] = []

    def add(self, block: Histogram) -> None:
        """Evaluates one block."""
        if self.of_all:
            self.kept.append(merged_after(block, self.deepest))
        self.parts.append(_evaluate_cut(block, self.of_each))

    def values(self) -> Values:
        """The values of all queries so far."""
        found = _concatenated(self.parts, self.of_each)
        found |= evaluate(joined(self.kept), self.of_all) if self.kept else {}
        return {name: found[name] for name in self.metrics.names}


def _evaluate_cut(ranking: Histogram, metrics: Metrics) -> Values:
    """As ``evaluate``; metrics of the first k ranks are computed without the groups that begin after rank k."""
    values: Values = {}
    for rank in sorted({metric.rank for metric in metrics}, key=lambda rank: (rank is not None, -(rank or 0))):
        ranking = ranking if rank is None else merged_after(ranking, rank)
        values |= evaluate(ranking, metrics.where(lambda metric, rank=rank: metric.rank == rank))  # type: ignore[misc]
    return values


def _blocks(ranked: Histogram | Iterable[Histogram]) -> Iterable[Histogram]:
    if not isinstance(ranked, Histogram):
        return ranked
    step = max(1, BLOCK // max(1, ranked.counts[:1].size))
    return (replace(ranked, counts=ranked.counts[rows]) for rows in slices(max(1, ranked.n_queries), step))


def _evaluate_block(histogram: Histogram, metrics: Metrics) -> Values:
    empty = histogram.n_relevant == 0
    values = {}
    for metric in metrics:
        value = np.where(empty, np.nan, metric.entry.evaluate(histogram, metric.name))
        maximum = metric.entry.maximum
        in_range = (value >= -ROUNDING) & (value <= maximum + ROUNDING)
        assert (empty | in_range).all(), f"{metric} left [0, {maximum}]"
        values[str(metric)] = np.clip(value, 0.0, maximum)
    return values


def _concatenated(parts: Sequence[Values], metrics: Metrics) -> Values:
    return {name: np.concatenate([part[name] for part in parts]) for name in metrics.names}


def evaluate_retrieval(retrieval: Retrieval, metrics: Metrics) -> dict[str, MetricValue]:
    """Each metric of a bucket search, over its queries, by canonical name in the order of ``metrics``.

    Every query counts, with or without a relevant item. ``suf`` and ``nmi`` are a single number for all queries, so
    their std is None. Without queries the mean is None. Raises HashbenchError for ``nmi`` if an item is in several
    buckets.
    """
    return {str(metric): _over_queries(retrieval, metric) for metric in metrics}


def _over_queries(retrieval: Retrieval, metric: NamedMetric) -> MetricValue:
    found, maximum = metric.entry.evaluate(retrieval, metric.name), metric.entry.maximum
    assert retrieval.n_queries == 0 or ((found >= 0) & (found <= maximum)).all(), f"{metric} left [0, {maximum}]"
    if found.ndim == 1:
        return summarise(found)
    mean = None if np.isnan(found) else float(found)
    return MetricValue(mean=mean, std=None, n_queries=retrieval.n_queries, n_empty=0)


def mean_values(counted: Histogram | Iterable[Histogram] | Retrieval, metrics: Metrics) -> dict[str, MetricValue]:
    """Each metric over the queries, by canonical name: of a histogram, of rankings in blocks, or of a bucket search."""
    if isinstance(counted, Retrieval):
        return evaluate_retrieval(counted, metrics)
    return {name: summarise(values) for name, values in evaluate(counted, metrics).items()}


def summarise(values: Floats) -> MetricValue:
    """The mean and the standard deviation of the values of the queries; queries whose value is NaN are left out.

    The standard deviation is that of the population (ddof = 0). ``n_queries`` counts all queries, ``n_empty`` those
    left out. If all are left out, or there is no query, mean and std are None.

    >>> summarise(np.array([0.5, 1.0, np.nan]))
    MetricValue(mean=0.75, std=0.25, n_queries=3, n_empty=1)
    """
    kept = values[~np.isnan(values)]
    mean, std = (float(kept.mean()), float(kept.std())) if len(kept) else (None, None)
    return MetricValue(mean=mean, std=std, n_queries=len(values), n_empty=len(values) - len(kept))
