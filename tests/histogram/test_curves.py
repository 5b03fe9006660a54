"""Curves and the area under them, against the metrics point by point."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

from hashbench.scoring import metrics
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import Histogram, count, curves
from hashbench.scoring.metrics import Metrics


def counted(drawn: CodeSet) -> Histogram:
    return count(pack(drawn.query), pack(drawn.database), drawn.relevance, workers=1)


def mean(histogram: Histogram, name: str) -> float:
    value = metrics.summarise(next(iter(metrics.evaluate(histogram, Metrics.parse([name])).values()))).mean
    assert value is not None
    return value


@given(code_sets(max_items=30))
def test_the_points_of_curves_are_the_means_of_metrics(drawn: CodeSet) -> None:
    histogram = counted(drawn)
    if not histogram.n_relevant.any():
        for curve in (curves.radius_curve, curves.rank_curve):
            with one_line("no query has a relevant item"):
                curve(histogram)
        return
    ball = curves.radius_curve(histogram)
    for radius in range(min(9, histogram.n_bits + 1)):
        assert ball["precision"][radius] == pytest.approx(mean(histogram, f"precision@r{radius}"), abs=1e-14)
        assert ball["recall"][radius] == pytest.approx(mean(histogram, f"recall@r{radius}"), abs=1e-14)
    assert len(ball["radius"]) == histogram.n_bits + 1
    assert ball["recall"][-1] == 1
    assert ball["retrieved"][-1] == len(drawn.database)
    assert ball["empty"][-1] == 0
    rank = curves.rank_curve(histogram, 7)
    assert rank["n"].tolist() == list(range(1, min(7, len(drawn.database)) + 1))
    for n in rank["n"].tolist():
        assert rank["precision"][n - 1] == pytest.approx(mean(histogram, f"precision@{n}"), abs=1e-13)
        assert rank["recall"][n - 1] == pytest.approx(mean(histogram, f"recall@{n}"), abs=1e-13)


@given(code_sets(max_items=30))
def test_the_mean_of_pr_area_is_the_area_under_the_mean_curve(drawn: CodeSet) -> None:
    histogram = counted(drawn)
    if histogram.n_relevant.any():
        ball = curves.radius_curve(histogram)
        points = [(0.0, ball["precision"][0]), *zip(ball["recall"], ball["precision"], strict=True)]
        by_hand = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
        assert mean(histogram, "pr_area") == pytest.approx(by_hand, abs=1e-14)


def test_the_shares_of_pairs_are_those_of_a_loop_over_all_pairs() -> None:
    rng = np.random.default_rng(4)
    query = rng.integers(0, 2, (5, 6), np.uint8)
    database = rng.integers(0, 2, (11, 6), np.uint8)
    relevant = rng.integers(0, 3, 5)[:, None] == rng.integers(0, 3, 11)
    relevant[0] = False  # a query without a relevant item counts too
    pairs = [((query[q] != database[n]).sum(), relevant[q, n]) for q in range(5) for n in range(11)]
    counts = np.zeros((5, 7, 2), np.int64)
    np.add.at(counts, (np.arange(5)[:, None], (query[:, None] != database).sum(axis=2), relevant.astype(int)), 1)
    actual = curves.pair_curve(Histogram(counts, np.arange(2)))
    assert actual["radius"].tolist() == list(range(7))
    for radius in range(7):
        within = [is_relevant for distance, is_relevant in pairs if distance <= radius]
        hits = sum(within)
        n_relevant = int(relevant.sum())
        precision = hits / len(within) if within else np.nan
        recall = hits / n_relevant
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        expected = [precision, recall, f1, (len(within) - hits) / (55 - n_relevant)]
        names = ("precision", "recall", "f1", "false_positive_rate")
        assert [actual[name][radius] for name in names] == pytest.approx(expected, nan_ok=True)
        assert actual["found"][radius] == len(within)
        assert actual["relevant"][radius] == hits


def test_the_radius_of_a_precision_is_the_largest() -> None:
    """The precision by radius, 0 pairs first, is not monotone: -, 1, 1/2, 3/4, 3/5."""
    counts = np.array([[[0, 0], [0, 1], [1, 0], [0, 2], [1, 0]]])
    pairs = curves.pair_curve(Histogram(counts, np.arange(2)))
    assert [curves.radius_of(precision, pairs) for precision in (0.6, 0.7, 0.75, 0.76, 1.0)] == [4, 3, 3, 1, 1]
    nothing = curves.pair_curve(Histogram(counts[:, :, ::-1].copy(), np.arange(2)))
    assert curves.radius_of(0.7, nothing) is None
    with one_line("no pair of a query and an item is relevant"):
        curves.pair_curve(Histogram(np.ones((1, 3, 1), np.int64), np.arange(1)))
