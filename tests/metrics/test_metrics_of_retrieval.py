"""Metrics of a bucket search; these and the metrics of a histogram are not computed from each other's source."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.retrieval import CUTOFFS, Reranked, Retrieval
from hashbench.scoring.metrics import Metrics, MetricValue

HISTOGRAM = Histogram(np.array([[[1, 1], [2, 0]]]), np.array([0, 1]))


def retrieval(relevant: list[list[int]], n_candidates: list[int], n_items: int = 40, **others: object) -> Retrieval:
    """The same candidates for each K; ``relevant`` [q, 16]."""
    whole = np.array(relevant, bool).reshape(-1, 16)
    reranked = {cutoff: Reranked(whole[:, :cutoff], np.array(n_candidates, np.int64)) for cutoff in CUTOFFS}
    return Retrieval(n_items, reranked, **others)  # type: ignore[arg-type]


TWO = retrieval([[1, 0, 1, 1] + 12 * [0], 16 * [1]], [16, 24])


def test_precision_is_a_mean_over_the_queries_and_a_speed_up_is_one_number() -> None:
    values = metrics.mean_values(TWO, Metrics.parse(["rerank-precision@4", "SUF@1", "suf@16"], Retrieval))
    assert values == {
        "rerank_precision@4": MetricValue(mean=0.875, std=0.125, n_queries=2, n_empty=0),
        "suf": MetricValue(mean=2.0, std=None, n_queries=2, n_empty=0),
        "suf@16": MetricValue(mean=2.0, std=None, n_queries=2, n_empty=0),
    }


def test_a_query_without_a_relevant_item_counts() -> None:
    value = metrics.mean_values(
        retrieval([16 * [0], 16 * [1]], [16, 16]), Metrics.parse(["rerank_precision@1"], Retrieval)
    )
    assert value["rerank_precision@1"].mean == 0.5
    assert value["rerank_precision@1"].n_empty == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40))
def test_nmi_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import normalized_mutual_info_score

    buckets, classes = np.array(pairs).T
    counts = np.zeros((6, 5), np.int64)
    np.add.at(counts, (buckets, classes), 1)
    value = metrics.mean_values(retrieval([], [], contingency=counts), Metrics.parse(["nmi"], Retrieval))["nmi"]
    truth = normalized_mutual_info_score(classes, buckets, average_method="arithmetic")
    assert value.mean == pytest.approx(truth, abs=1e-12)
    assert value.std is None


def test_nmi_needs_one_bucket_and_one_class_an_item() -> None:
    with one_line("metric 'nmi' needs buckets with k = 1 and class labels"):
        metrics.mean_values(TWO, Metrics.parse(["nmi"], Retrieval))


@pytest.mark.parametrize("name", ["suf", "suf@4", "rerank_precision@16", "nmi"])
def test_a_histogram_does_not_have_the_metrics_of_a_search(name: str) -> None:
    says = f"metric '{name}' is computed from a bucket search \\(k-sparse codes\\), not from items ranked"
    with one_line(says):
        metrics.evaluate(HISTOGRAM, Metrics.parse(["ap", name]))
    with one_line(says):
        metrics.evaluate_with_extremes(HISTOGRAM, Metrics.parse([name]))


@pytest.mark.parametrize("name", ["ap", "ndcg@100", "precision@r2", "pr_area"])
def test_a_search_does_not_have_the_metrics_of_a_histogram(name: str) -> None:
    says = f"metric '{name}' is computed from items ranked by distance, not from a bucket search"
    with one_line(says):
        metrics.mean_values(TWO, Metrics.parse(["suf", name], Retrieval))
