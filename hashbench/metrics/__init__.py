"""The metrics, one file each. A metric is computed from a histogram, exactly under ties, or from a bucket search.

Examples of metric names::

    ap  ap@5000  ap(norm=min)@100  ap(norm=retrieved)@5000  ap_best  ap_worst  ndcg  ndcg@100
    precision@100  precision@r2 (Hamming radius 2)  precision@r (R-precision)  recall@100  recall@r2  f1@r2  auc  mrr
    pr_area  pr_area@10000
    suf  suf@16  rerank_precision@4  nmi (from a bucket search)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.foundation.registry import Catalogue
from hashbench.histogram import Histogram, ties
from hashbench.histogram.ranking import RankingHistogram, joined, merged_after
from hashbench.histogram.ties import Policy
from hashbench.metrics._alias import own_name
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import Cutoff, MetricName, listed
from hashbench.metrics._name import read as read_name
from hashbench.metrics._value import MetricValue
from hashbench.sparse.retrieval import Retrieval

__all__ = [
    "METRICS",
    "Cutoff",
    "Metric",
    "MetricName",
    "MetricValue",
    "evaluate",
    "evaluate_rankings",
    "evaluate_retrieval",
    "evaluate_ties",
    "evaluate_with_extremes",
    "extremes",
    "listed",
    "needs_radii",
    "parse",
    "parse_all",
    "read_name",
    "summarise",
]

METRICS = Catalogue("metric", "hashbench.metrics", "METRIC", Metric, group="hashbench.metrics")

Values = dict[str, NDArray[np.float64]]  # of each query, float64[q], by canonical name

BLOCK = 1 << 20  # histogram entries evaluated at a time: a few arrays of 8 MiB, for any number of queries
ROUNDING = 1e-9  # a value outside its range by more than this is a defect, not rounding

SOURCES = {Histogram: "items ranked by distance", Retrieval: "a bucket search (k-sparse codes)"}


def parse(name: str) -> MetricName:
    """The metric, parameters and cutoff that ``name`` names; ``str()`` of it is the canonical name.

    The canonical name has no parameters at their defaults. ``map``, ``p@k`` and ``rr`` are other names of ``ap``,
    ``precision@k`` and ``mrr``. Raises HashbenchError for a metric, parameter, value or cutoff that does not exist, and
    for a name that means different metrics elsewhere (``map@k``, ``r@k``).

    >>> str(parse("ap(norm=all)@5"))
    'ap@5'
    """
    written = read_name(name)
    written = written if written.metric in METRICS else own_name(written)
    return METRICS.get(written.metric).accept(written)


def parse_all(
    names: str | Iterable[str], source: type[Histogram] | type[Retrieval] = Histogram
) -> dict[str, MetricName]:
    """The metrics that ``names`` name, by canonical name, in the order of ``names``; a text is read by ``listed``.

    Raises HashbenchError where ``parse`` does, and for a metric that is not computed from ``source``. Call it first:
    then a wrong name is refused before anything is counted.
    """
    found = {str(name): name for name in map(parse, listed(names) if isinstance(names, str) else names)}
    for canonical, name in found.items():
        needed = METRICS.get(name.metric).source
        if needed is not source:
            raise HashbenchError(f"metric '{canonical}' is computed from {SOURCES[needed]}, not from {SOURCES[source]}")
    return found


def evaluate(histogram: Histogram, names: str | Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The value of each query, float64[q], for each metric, by canonical name in the order of ``names``.

    The value is NaN for a query without a relevant item (N^+ = 0), and only for these: they are left out of means. A
    cutoff beyond the last database item is the whole database. Raises HashbenchError for a metric that is computed
    from a bucket search, and for a metric at Hamming radii if the groups are not Hamming distances
    (``RankingHistogram``).
    """
    parsed = parse_all(names)
    for name in parsed.values():
        if isinstance(histogram, RankingHistogram) and _needs_radii(name):
            raise HashbenchError(f"metric '{name}' needs Hamming radii, which this ranking does not have")
    whole = {canonical: name for canonical, name in parsed.items() if METRICS.get(name.metric).needs_all_queries}
    per_block = {canonical: name for canonical, name in parsed.items() if canonical not in whole}
    values = _concatenate((_evaluate(block, per_block) for block in _blocks(histogram)), per_block)
    values |= _evaluate(histogram, whole) if whole else {}
    return {canonical: values[canonical] for canonical in parsed}


def evaluate_ties(
    histogram: Histogram, names: Sequence[str], policy: Policy, ordered: Iterable[Histogram] | None = None
) -> dict[str, NDArray[np.float64]]:
    """The value of each query for each metric under a tie policy, in the form that ``evaluate`` returns.

    The policy ``order`` needs ``ordered``, the rankings that ``ties.in_order`` returns, because a histogram does not
    hold the order of the database. Which items are inside a Hamming radius does not depend on ties: ``precision@rR``,
    ``recall@rR`` and ``pr_area`` are the same under every policy. ``pr_area@k`` is defined for ``expected`` only;
    another policy raises HashbenchError.
    """
    by_radius, others = _split_by_radius(names, policy)
    values = evaluate(histogram, by_radius)
    if others and policy == "order":
        assert ordered is not None, "a histogram does not hold the order of items"
        values |= evaluate_rankings(ordered, others)
    elif others:
        values |= evaluate_rankings((ties.apply(block, policy) for block in _blocks(histogram)), others)
    return {canonical: values[canonical] for canonical in map(str, map(parse, names))}


def extremes(histogram: Histogram, names: Sequence[str]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The smallest and the largest value of each query over the orders of tied items, by canonical name.

    Metrics that do not depend on the order of tied items are left out, and so are ``ap_worst`` and ``ap_best``.
    """
    return _ends(_in_one_pass(_blocks(histogram), _end_jobs(names)))


def evaluate_with_extremes(
    rankings: Iterable[Histogram], names: Sequence[str], policy: Policy | None
) -> tuple[Values, dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """The values under ``policy`` and the ``extremes``, of rankings in blocks of queries, which are iterated once.

    The values are those of ``evaluate_ties``; with None in place of a policy there are none.
    """
    own = [] if policy is None else [_Job(policy, {name: name for name in parse_all(names)})]
    found = _in_one_pass(rankings, [*own, *_end_jobs(names)])
    return (found[0] if own else {}), _ends(found[len(own) :])


@dataclass(frozen=True)
class _Job:
    """Metrics under one tie policy: the name of what is evaluated, by the name of the result."""

    policy: Policy
    names: Mapping[str, str]


def _end_jobs(names: Sequence[str]) -> list[_Job]:
    """The jobs of the worst and the best order of tied items, each for AP, which has formulas for it, and the rest."""
    ranged = [name for name in map(parse, names) if not (_needs_radii(name) or METRICS.get(name.metric).is_bound)]
    jobs = []
    for end in ("worst", "best"):
        of_ap = {str(name): str(replace(name, metric=f"ap_{end}")) for name in ranged if name.metric == "ap"}
        others = {str(name): str(name) for name in ranged if name.metric != "ap"}
        jobs += [_Job("expected", of_ap), _Job(ties.check(end), others)]
    return jobs


def _ends(found: Sequence[Values]) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """The smallest and the largest values, from the results of ``_end_jobs``."""
    worst, best = found[0] | found[1], found[2] | found[3]
    return {name: (worst[name], best[name]) for name in worst}


def _in_one_pass(rankings: Iterable[Histogram], jobs: Sequence[_Job]) -> list[Values]:
    """The results of each job; each block is computed once, and put in each order once."""
    evaluations = [_OverBlocks(list(job.names.values())) for job in jobs]
    policies = {job.policy for job in jobs if job.names}
    for block in rankings if policies else ():
        in_order = {policy: ties.apply(block, policy) for policy in policies}
        for job, evaluation in zip(jobs, evaluations, strict=True):
            if job.names:
                evaluation.add(in_order[job.policy])
    found = [evaluation.values() if job.names else {} for job, evaluation in zip(jobs, evaluations, strict=True)]
    return [{name: values[of] for name, of in job.names.items()} for job, values in zip(jobs, found, strict=True)]


def evaluate_rankings(rankings: Iterable[Histogram], names: str | Sequence[str]) -> Values:
    """The value of each query for each metric, as ``evaluate`` returns them; the rankings come in blocks of queries.

    Blocks are evaluated one at a time. For metrics that need all queries, all blocks are kept in memory, with the items
    after their largest cutoff merged into one tie group, which does not change their values.
    """
    evaluation = _OverBlocks(names)
    for block in rankings:
        evaluation.add(block)
    return evaluation.values()


class _OverBlocks:
    """Evaluates metrics over rankings that come in blocks of queries."""

    def __init__(self, names: str | Sequence[str]) -> None:
        self.parsed = parse_all(names)
        self.of_all = [name for name, of in self.parsed.items() if METRICS.get(of.metric).needs_all_queries]
        self.of_each = [name for name in self.parsed if name not in self.of_all]
        self.deepest = _deepest([self.parsed[name] for name in self.of_all])
        self.kept: list[RankingHistogram] = []  # only the metrics that need all queries need more than one block
        self.parts: list[Values] = []

    def add(self, block: Histogram) -> None:
        """Evaluates one block."""
        if self.of_all:
            self.kept.append(merged_after(block, self.deepest))
        self.parts.append(_evaluate_cut(block, [self.parsed[name] for name in self.of_each]))

    def values(self) -> Values:
        """The values of all queries so far."""
        found = _concatenate(self.parts, self.of_each)
        found |= evaluate(joined(self.kept), self.of_all) if self.kept else {}
        return {name: found[name] for name in self.parsed}


def _evaluate_cut(ranking: Histogram, names: Sequence[MetricName]) -> dict[str, NDArray[np.float64]]:
    """As ``evaluate``; those of the first k ranks are computed without the groups that begin after rank k."""
    by_rank: dict[int | None, list[str]] = {}
    for name in names:
        rank = name.cutoff.value if name.cutoff is not None and name.cutoff.kind == "rank" else None
        by_rank.setdefault(rank, []).append(str(name))
    values: dict[str, NDArray[np.float64]] = {}
    for rank in sorted(by_rank, key=lambda rank: (rank is not None, -(rank or 0))):
        ranking = ranking if rank is None else merged_after(ranking, rank)
        values |= evaluate(ranking, by_rank[rank])
    return values


def _deepest(names: Iterable[MetricName]) -> int | None:
    """The largest rank that the metrics look at; None if one of them looks at all ranks."""
    ranks = [name.cutoff.value if name.cutoff is not None else None for name in names]
    return None if None in ranks else max((rank for rank in ranks if rank is not None), default=0)


def evaluate_retrieval(retrieval: Retrieval, names: str | Sequence[str]) -> dict[str, MetricValue]:
    """Each metric of a bucket search, over its queries, by canonical name in the order of ``names``.

    Every query counts, with or without a relevant item. ``suf`` and ``nmi`` are a single number for all queries, so
    their std is None. Without queries the mean is None. Raises HashbenchError for a metric that is computed from
    ranked items, and for ``nmi`` if an item is in several buckets.
    """
    return {canonical: _over_queries(retrieval, name) for canonical, name in parse_all(names, Retrieval).items()}


def summarise(values: NDArray[np.float64]) -> MetricValue:
    """The mean and the standard deviation of the values of the queries; queries whose value is NaN are left out.

    The standard deviation is that of the population (ddof = 0). ``n_queries`` counts all queries, ``n_empty`` those
    left out. If all are left out, or there is no query, mean and std are None.

    >>> summarise(np.array([0.5, 1.0, np.nan]))
    MetricValue(mean=0.75, std=0.25, n_queries=3, n_empty=1)
    """
    kept = values[~np.isnan(values)]
    mean, std = (float(kept.mean()), float(kept.std())) if len(kept) else (None, None)
    return MetricValue(mean=mean, std=std, n_queries=len(values), n_empty=len(values) - len(kept))


def _over_queries(retrieval: Retrieval, name: MetricName) -> MetricValue:
    metric = METRICS.get(name.metric)
    found = metric.evaluate(retrieval, name)
    assert retrieval.n_queries == 0 or ((found >= 0) & (found <= metric.maximum)).all(), (
        f"{name} left [0, {metric.maximum}]"
    )
    if found.ndim == 1:
        return summarise(found)
    mean = None if np.isnan(found) else float(found)
    return MetricValue(mean=mean, std=None, n_queries=retrieval.n_queries, n_empty=0)


def needs_radii(name: str) -> bool:
    """Whether a metric is defined by Hamming radii, so that other rankings do not have it."""
    return _needs_radii(parse(name))


def _needs_radii(name: MetricName) -> bool:
    return METRICS.get(name.metric).over_radii or (name.cutoff is not None and name.cutoff.kind == "radius")


def _split_by_radius(names: Sequence[str], policy: Policy) -> tuple[list[str], list[str]]:
    """The names of the metrics at Hamming radii, which no tie policy changes, and the names of the others."""
    parsed = list(map(parse, names))
    for name in parsed:
        if policy != "expected" and name.cutoff is not None and METRICS.get(name.metric).over_radii:
            raise HashbenchError(f"metric '{name}': rank k may cut a tie, so it is defined for ties 'expected' only")
    by_radius = [str(name) for name in parsed if _needs_radii(name)]
    return by_radius, [str(name) for name in parsed if not _needs_radii(name)]


def _concatenate(
    parts: Iterable[dict[str, NDArray[np.float64]]], names: Iterable[str]
) -> dict[str, NDArray[np.float64]]:
    collected = list(parts)
    return {name: np.concatenate([part[name] for part in collected]) for name in names}


def _blocks(histogram: Histogram) -> Iterator[Histogram]:
    step = max(1, BLOCK // max(1, histogram.counts[:1].size))
    for rows in slices(max(1, histogram.n_queries), step):
        yield replace(histogram, counts=histogram.counts[rows])


def _evaluate(histogram: Histogram, names: dict[str, MetricName]) -> dict[str, NDArray[np.float64]]:
    empty = histogram.n_relevant == 0
    values = {}
    for canonical, name in names.items():
        metric = METRICS.get(name.metric)
        value = np.where(empty, np.nan, metric.evaluate(histogram, name))
        in_range = (value >= -ROUNDING) & (value <= metric.maximum + ROUNDING)
        assert (empty | in_range).all(), f"{canonical} left [0, {metric.maximum}]"
        values[canonical] = np.clip(value, 0.0, metric.maximum)
    return values
