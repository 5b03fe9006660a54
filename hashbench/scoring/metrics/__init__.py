"""The metrics, one file each. A metric is computed from a histogram, exactly under ties, or from a bucket search.

Examples of metric names::

    ap  ap@5000  ap(norm=min)@100  ap(norm=retrieved)@5000  ap_best  ap_worst  ndcg  ndcg@100
    precision@100  precision@r2 (Hamming radius 2)  precision@r (R-precision)  recall@100  recall@r2  f1@r2  auc  mrr
    pr_area  pr_area@10000
    suf  suf@16  rerank_precision@4  nmi (from a bucket search)

``Metrics.parse`` reads names; ``evaluate`` computes the metrics of a histogram or of rankings.
"""

from hashbench.scoring.metrics._evaluate import (
    PerQuery,
    Values,
    evaluate,
    evaluate_with_extremes,
    mean_values,
    summarise,
)
from hashbench.scoring.metrics._metric import METRICS, Metric, Metrics, MetricValue, NamedMetric
from hashbench.scoring.metrics._name import Cutoff, MetricName, shown

__all__ = ["METRICS", "Cutoff", "Metric", "MetricName", "MetricValue", "Metrics", "NamedMetric", "PerQuery", "Values"]
__all__ += ["evaluate", "evaluate_with_extremes", "mean_values", "shown", "summarise"]
