"""Metrics: closed forms of the histogram, exact under ties; one file a metric.

A metric is asked for by name, and the name reads back to itself::

    ap  ap@5000  ap(norm=min)@100  ap(norm=retrieved)@5000  ap_best  ap_worst  ndcg  ndcg@100
    precision@100  precision@r2 (Hamming radius 2)  precision@r (R-precision)  recall@100  recall@r2
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hashbench.histogram import Histogram
from hashbench.metrics._metric import Metric
from hashbench.metrics._name import At, MetricName, read
from hashbench.metrics._value import MetricValue
from hashbench.registry import Catalogue

__all__ = ["METRICS", "At", "Metric", "MetricName", "MetricValue", "evaluate", "parse", "summarise"]

METRICS = Catalogue("metric", "hashbench.metrics", "METRIC", Metric)

BLOCK = 1 << 20  # histogram entries looked at together: a few 8 MiB arrays, whatever the number of queries
ROUNDING = 1e-9  # a value outside [0, 1] by more than this is a defect, not rounding


def parse(name: str) -> MetricName:
    """The metric that ``name`` asks for; its ``str()`` is the canonical name, without parameters at their defaults.

    A name, parameter, choice or cutoff that does not exist raises HashbenchError.

    >>> str(parse("ap(norm=all)@5"))
    'ap@5'
    """
    written = read(name)
    return METRICS.get(written.metric).accept(written)


def evaluate(histogram: Histogram, names: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """The values per query, float64[q], of each metric, keyed by canonical name in the order asked.

    NaN marks exactly the queries that are left out: those without a relevant item (N^+ = 0). A cutoff larger than
    the database is the database.
    """
    wanted = {str(name): name for name in map(parse, names)}
    parts = [_block(block, wanted) for block in _blocks(histogram)]
    return {canonical: np.concatenate([part[canonical] for part in parts]) for canonical in wanted}


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


def _blocks(histogram: Histogram) -> Iterator[Histogram]:
    step = max(1, BLOCK // max(1, histogram.counts[:1].size))
    for first in range(0, max(1, histogram.n_queries), step):
        yield Histogram(histogram.counts[first : first + step], histogram.levels)


def _block(histogram: Histogram, names: dict[str, MetricName]) -> dict[str, NDArray[np.float64]]:
    empty = histogram.n_relevant == 0
    values = {}
    for canonical, name in names.items():
        value = np.where(empty, np.nan, METRICS.get(name.metric).evaluate(histogram, name))
        assert (empty | ((value >= -ROUNDING) & (value <= 1 + ROUNDING))).all(), f"{canonical} left [0, 1]"
        values[canonical] = np.clip(value, 0.0, 1.0)
    return values
