"""The NDCG of a ranking at random, for each reading of a relevance by distance."""

from itertools import permutations

import numpy as np
import pytest

from hashbench.datasets.protocol import Parts, Percentiles
from hashbench.datasets.relevance import by_percentiles
from hashbench.datasets.split import split
from hashbench.datasets.store import Dataset
from hashbench.evaluation.random_ndcg import Reading, readings

RULE = Percentiles(kind="percentiles", percent=[50, 20], levels=[1, 8])
PARTS = {"title": "", "citation": "", "draw": "parts", "query": [0, 4], "database": [4, 10], "train": [4, 9]}


def found(items: np.ndarray, rule: Percentiles = RULE) -> list[Reading]:
    data = Dataset("toy", items, np.zeros((len(items), 0), np.uint8), "")
    ids = split(data.labels, Parts(**PARTS, relevance=rule), "toy", "s1")
    return readings(
        rule.kind, lambda kind, centred: by_percentiles(rule.model_copy(update={"kind": kind}), data, ids, centred)
    )


def by_all_orders(levels: np.ndarray, largest_gain: float) -> list[float]:
    """The mean NDCG of each query over all orders of the database; 1 for a query without relevant items."""
    gains = np.minimum(2.0**levels - 1, largest_gain)
    discounts = 1 / np.log2(np.arange(2, levels.shape[1] + 2))
    orders = np.array(list(permutations(range(levels.shape[1]))))
    ideal = np.sort(gains, axis=1)[:, ::-1] @ discounts
    return [
        float((row[orders] @ discounts).mean() / best) if best else 1.0 for row, best in zip(gains, ideal, strict=True)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_each_reading_is_the_mean_over_all_orders(seed: int) -> None:
    items = np.random.default_rng(seed).standard_normal((10, 3))
    expected = []
    for centred in (True, False):
        features = items - items[4:9].mean(axis=0) * centred
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        distance = np.linalg.norm(features[:, None] - features[None], axis=2)
        pairs = distance[4:9, 4:9][np.triu_indices(5, 1)]
        thresholds = [np.percentile(pairs, percent, method="hazen") for percent in RULE.percent]
        for squared in (False, True):
            compared = (distance**2 if squared else distance)[:4, 4:]
            levels = np.where(compared <= thresholds[1], 8, (compared <= thresholds[0]).astype(int))
            has_one = (levels > 0).any(axis=1)
            for top_gain in (255, 126):
                values = np.array(by_all_orders(levels, top_gain))
                expected.append((centred, squared, top_gain, (~has_one).sum(), values[has_one].mean(), values.mean()))
    rows = [(r.centred, r.squared, r.top_gain, r.n_empty, r.ndcg, r.ndcg_with_empty) for r in found(items)]
    np.testing.assert_allclose(np.array(rows, float), np.array(expected, float), rtol=1e-12)


@pytest.mark.parametrize(("kind", "squared"), [("percentiles", False), ("released", True)])
def test_one_reading_is_how_the_protocol_is_scored(kind: str, squared: bool) -> None:
    items = np.random.default_rng(0).standard_normal((10, 3))
    (own,) = (each for each in found(items, RULE.model_copy(update={"kind": kind})) if each.is_own)
    assert (own.centred, own.squared, own.top_gain) == (True, squared, 255)


def test_the_distance_to_a_printed_figure_is_that_of_the_nearer_mean() -> None:
    reading = Reading(True, False, 1023, is_own=True, n_empty=3, ndcg=0.5, ndcg_with_empty=0.6)
    assert reading.distance(0.625) == pytest.approx(0.025)
    assert reading.distance(0.25) == 0.25
