"""Evaluates metrics: of a histogram, of rankings that come in blocks of queries, and of a bucket search."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.scoring.histogram import Histogram, ties
from hashbench.scoring.histogram.ranking import RankingHistogram, joined, merged_after
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics._metric import METRICS, Metrics, MetricValue, NamedMetric
from hashbench.scoring.metrics._prefix import Floats

Values = dict[str, Floats]  # the value of each query, float64[q], by canonical name

BLOCK = 1 << 20  # histogram entries evaluated at a time: a few arrays of 8 MiB, for any number of queries
ROUNDING = 1e-9  # a value outside its range by more than this is a defect, not rounding


@dataclass(frozen=True)
class PerQuery:
    """A metric's values, float64[q], NaN without a relevant item: under the tie policy and in both extreme orders."""

    values: Floats
    worst: Floats | None = None  # as ``best`` None for ``ap_worst``, ``ap_best`` and ``pr_area@k``
    best: Floats | None = None


def evaluate(ranked: Histogram | Iterable[Histogram], metrics: Metrics) -> Values:
    """The value of each query, float64[q], for each metric, by canonical name in the order of ``metrics``.

    ``ranked`` is a histogram, or rankings that come in blocks of queries. The value is NaN for a query without a
    relevant item (N^+ = 0), and only for these: they are left out of means. A cutoff beyond the last database item is
    the whole database. Raises HashbenchError for a metric at Hamming radii of a ranking by other distances.
    """
    if not isinstance(ranked, Histogram):
        return _in_one_pass(ranked, {"expected": metrics})["expected"]
    if isinstance(ranked, RankingHistogram):
        metrics.refuse_radii("this ranking does")
    of_all, of_each = metrics.parted(_needs_all_queries)
    parts = [_evaluate_block(block, of_each) for block in _blocks(ranked)]
    return _joined(metrics, parts, _evaluate_block(ranked, of_all))


def evaluate_with_extremes(
    ranked: Histogram | Iterable[Histogram],
    metrics: Metrics,
    policy: Policy = "expected",
    ordered: Iterable[Histogram] | None = None,
    has_range: Callable[[NamedMetric], bool] = lambda _: True,
) -> dict[str, PerQuery]:
    """The values under a tie policy, and the smallest and largest values over the orders of tied items, by name.

    ``ranked`` is iterated once. Metrics that ``has_range`` refuses have no smallest and largest values. The policy
    ``order`` needs ``ordered``, the rankings that ``ties.in_order`` returns. Metrics within a Hamming radius are the
    same in every order; ``pr_area@k``, which may cut a tie, is defined for the policy ``expected`` only, and another
    one raises HashbenchError.
    """
    by_radius, others = metrics.parted(lambda metric: metric.needs_radii)
    cut = [metric for metric in by_radius if metric.rank is not None]
    if cut and policy != "expected":
        raise HashbenchError(f"metric '{cut[0]}': rank k may cut a tie, so it is defined for ties 'expected' only")
    values: Values = {}
    if by_radius:
        if not isinstance(ranked, Histogram):
            by_radius.refuse_radii("this ranking does")
        values = evaluate(ranked, by_radius)
    ends = {metric: _ends(metric) for metric in others if has_range(metric) and not metric.entry.is_bound}
    metrics_of: dict[Policy, list[NamedMetric]] = {"expected": [], "worst": [], "best": [], "order": []}
    for at, end in chain.from_iterable(ends.values()):
        metrics_of[at].append(end)
    if policy != "order":
        metrics_of[policy] += others
    by_policy = _in_one_pass(_blocks(ranked), {at: Metrics(dict.fromkeys(ms)) for at, ms in metrics_of.items()})
    if policy == "order":
        assert ordered is not None, "a histogram does not hold the order of items"
        by_policy["order"] = evaluate(ordered, others)
    ranges = {str(metric): [values[str(metric)]] * 2 for metric in by_radius if metric.rank is None}
    ranges |= {str(metric): [by_policy[at][str(end)] for at, end in both] for metric, both in ends.items()}
    values |= by_policy[policy]
    return {name: PerQuery(values[name], *ranges.get(name, ())) for name in metrics.names}


def _ends(metric: NamedMetric) -> list[tuple[Policy, NamedMetric]]:
    """Policy and metric that give the worst value, then the best: AP has formulas for both."""
    if metric.name.metric == "ap":
        names = (replace(metric.name, metric=end) for end in ("ap_worst", "ap_best"))
        return [("expected", NamedMetric(name, METRICS.get(name.metric))) for name in names]
    return [("worst", metric), ("best", metric)]


def _needs_all_queries(metric: NamedMetric) -> bool:
    return metric.entry.needs_all_queries


def _in_one_pass(rankings: Iterable[Histogram], metrics_of: Mapping[Policy, Metrics]) -> dict[Policy, Values]:
    """The values of the metrics under each policy; each block is computed once, and put in each order once."""
    parts: dict[Policy, list[Values]] = {policy: [] for policy in metrics_of}
    kept: dict[Policy, list[RankingHistogram]] = {policy: [] for policy in metrics_of}
    parted = {policy: metrics.parted(_needs_all_queries) for policy, metrics in metrics_of.items() if metrics}
    values: dict[Policy, Values] = {policy: {} for policy in metrics_of}
    if not parted:
        return values
    for block in rankings:
        for policy, (of_all, of_each) in parted.items():
            ordered = ties.apply(block, policy)
            if of_all:  # these blocks are kept, with the items after the largest cutoff in one tie group
                deepest = max((metric.rank for metric in of_all), key=_depth)
                kept[policy].append(merged_after(ordered, deepest))
            parts[policy].append(_evaluate_cut(ordered, of_each))
    for policy, (of_all, _) in parted.items():
        of_kept: Values = {}
        if kept[policy]:
            of_kept = evaluate(joined(kept[policy]), of_all)
        values[policy] = _joined(metrics_of[policy], parts[policy], of_kept)
    return values


def _depth(rank: int | None) -> float:
    """The number of items that a metric with the cutoff ``rank`` reads; None: all."""
    if rank is None:
        return np.inf
    return rank


def _evaluate_cut(ranking: Histogram, metrics: Metrics) -> Values:
    """As ``evaluate``; metrics of the first k ranks are computed without the groups that begin after rank k."""
    values: Values = {}
    for rank in sorted({metric.rank for metric in metrics}, key=_depth, reverse=True):
        if rank is not None:
            ranking = merged_after(ranking, rank)
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


def _joined(metrics: Metrics, parts: list[Values], of_all: Values) -> Values:
    """The values of blocks of queries, joined, and those ``of_all`` queries at once, in the order of ``metrics``."""
    of_each = (name for name in metrics.names if name not in of_all)
    values = of_all | {name: np.concatenate([part[name] for part in parts]) for name in of_each}
    return {name: values[name] for name in metrics.names}


def mean_values(counted: Histogram | Iterable[Histogram] | Retrieval, metrics: Metrics) -> dict[str, MetricValue]:
    """Each metric over the queries, by canonical name: of a histogram, of rankings in blocks, or of a bucket search.

    In a bucket search every query counts. ``suf`` and ``nmi`` are a single number for all queries, so their std is
    None, and without queries the mean is None. Raises HashbenchError for ``nmi`` if an item is in several buckets.
    """
    if isinstance(counted, Retrieval):
        return {str(metric): _over_queries(counted, metric) for metric in metrics}
    return {name: summarise(values) for name, values in evaluate(counted, metrics).items()}


def _over_queries(retrieval: Retrieval, metric: NamedMetric) -> MetricValue:
    values = metric.entry.evaluate(retrieval, metric.name)
    maximum = metric.entry.maximum
    assert retrieval.n_queries == 0 or ((values >= 0) & (values <= maximum)).all(), f"{metric} left [0, {maximum}]"
    if values.ndim == 1:
        return summarise(values)
    mean = None if np.isnan(values) else float(values)
    return MetricValue(mean=mean, std=None, n_queries=retrieval.n_queries, n_empty=0)


def summarise(values: Floats) -> MetricValue:
    """Mean and standard deviation (of the population, ddof = 0) of the values that are not NaN; None if all are."""
    kept = values[~np.isnan(values)]
    n_empty = len(values) - len(kept)
    if not len(kept):
        return MetricValue(mean=None, std=None, n_queries=len(values), n_empty=n_empty)
    return MetricValue(mean=float(kept.mean()), std=float(kept.std()), n_queries=len(values), n_empty=n_empty)
