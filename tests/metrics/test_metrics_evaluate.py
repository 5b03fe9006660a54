"""Metrics by name: the value for each query, and their summary."""

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics

NAMES = ["ap", "ap(norm=retrieved)@3", "ndcg", "precision@2", "recall@r1", "structhash_ndcg@3"]


def random_histogram(n_queries: int, n_levels: int = 2) -> Histogram:
    rng = np.random.default_rng(5)
    return Histogram(rng.integers(0, 9, (n_queries, 6, n_levels)), np.arange(n_levels))


def test_blocks_of_queries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = metrics.evaluate(random_histogram(23, 3), Metrics.parse(NAMES))
    monkeypatch.setattr("hashbench.scoring.metrics._evaluate.BLOCK", 40)
    monkeypatch.setattr("hashbench.scoring.metrics.ap.WINDOW", 1)
    pieces = metrics.evaluate(random_histogram(23, 3), Metrics.parse(NAMES))
    for name in NAMES:
        np.testing.assert_allclose(whole[name], pieces[name], rtol=0, atol=1e-15)


def test_nan_marks_exactly_the_queries_without_a_relevant_item() -> None:
    counts = np.zeros((3, 2, 2), np.int64)
    counts[:, 0, 0] = 4
    counts[1, 1, 1] = 2
    for name, value in metrics.evaluate(Histogram(counts, np.array([0, 1])), Metrics.parse(NAMES)).items():
        assert np.isnan(value).tolist() == [True, False, True], name


def test_the_gain_is_of_the_levels_value_not_of_its_index() -> None:
    histogram = Histogram(np.array([[[1, 0, 0], [0, 1, 0], [0, 0, 1]]]), np.array([0, 2, 10]))
    value = metrics.evaluate(histogram, Metrics.parse(["ndcg"]))["ndcg"][0]
    ideal = 1023 + 3 / np.log2(3)
    assert value == pytest.approx((3 / np.log2(3) + 1023 / 2) / ideal)


def test_a_level_whose_gain_no_float_holds_is_refused() -> None:
    with one_line("level 1024"):
        metrics.evaluate(Histogram(np.ones((1, 1, 2), np.int64), np.array([0, 1024])), Metrics.parse(["ndcg"]))


def test_a_summary_leaves_nan_out_and_says_so() -> None:
    summary = metrics.summarise(np.array([0.0, 1.0, np.nan, 0.5]))
    assert summary.mean == 0.5
    assert summary.n_queries == 4
    assert summary.n_empty == 1
    assert summary.std == pytest.approx(np.sqrt(1 / 6))  # of the population: ddof = 0
