"""Precision of the candidates of a bucket search, ranked by the distance between embeddings."""

from hashbench.scoring.histogram.retrieval import CUTOFFS, Retrieval
from hashbench.scoring.metrics._formula import Floats, Metric, MetricName


def evaluate(retrieval: Retrieval, name: MetricName) -> Floats:
    """The relevant share of the K nearest candidates, float64[q]: Pr@K [Jeong and Song 2018, section 6].

    Candidates are ranked by their distance in the base embedding; at equal distance the lower item number comes first.
    A query without a relevant item scores 0 and counts. If the database has fewer than K items, K is their number.
    """
    return retrieval.reranked[METRIC.rank(name)].relevant.mean(axis=1)


METRIC = Metric(
    summary="relevant share of the K nearest among the candidates",
    paper="jeong2018efficient",
    source=Retrieval,
    evaluate=evaluate,
    cutoffs=("rank",),
    cutoff_required=True,
    ranks=CUTOFFS,
)
