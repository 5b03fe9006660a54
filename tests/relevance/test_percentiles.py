"""Distances by rank, against the whole matrix of distances, sorted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.relevance import percentiles as by_rank
from hashbench.scoring.relevance.distances import euclidean
from hashbench.scoring.relevance.percentiles import nearest, percentiles

PERCENTS = [5, 1, 0.2, 0.1]


def draw(rng: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Features whose distances are all different, or the same many times, or lost in the rounding of a product."""
    if kind == "real":
        return rng.standard_normal((n, 7))
    if kind == "outlier":
        return np.concatenate([rng.standard_normal((n - 1, 7)), np.full((1, 7), 1e12)])
    if kind == "far":
        return rng.integers(0, 3, (n, 7)) + 1e7
    if kind == "one point":
        return np.full((n, 7), 0.1)
    return rng.integers(0, 2, (n, 7)).astype(np.float32)


KINDS = ["real", "outlier", "far", "one point", "few values"]


def all_pairs(features: np.ndarray) -> np.ndarray:
    return np.sort(np.concatenate([euclidean(row, features[i + 1 :]) for i, row in enumerate(features[:-1])]))


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(2, 40), st.sampled_from([7, 16, 1000]))
def test_percentiles_are_those_of_all_pairs(seed: int, kind: str, n: int, tile: int) -> None:
    features = draw(np.random.default_rng(seed), kind, n)
    percents = [100, 99.9, 50, 10, *PERCENTS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_rank, "TILE", tile)
        thresholds = percentiles(features, percents)
    expected = np.percentile(all_pairs(features), percents, method="hazen")
    np.testing.assert_allclose(thresholds, expected, rtol=1e-15, atol=0)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 40), st.data())
def test_the_nearest_are_those_of_the_whole_matrix(seed: int, kind: str, n: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    features = draw(rng, kind, n + 5)
    query = features[:5]
    database = features[5:]
    k = data.draw(st.integers(1, n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_rank, "TILE", data.draw(st.sampled_from([1, 3, 1000])))
        patch.setattr(by_rank, "HELD", data.draw(st.sampled_from([1, 30, 1 << 20])))
        distances = nearest(query, database, k)
    whole = np.sort([euclidean(one, database) for one in query], axis=1)
    assert distances.tolist() == whole[:, k - 1].tolist()


@pytest.mark.parametrize("features", [np.zeros((1, 3)), np.zeros((0, 3))])
def test_too_few_rows_are_refused(features: np.ndarray) -> None:
    with one_line("at least 2"):
        percentiles(features, [50])


def test_ranks_that_do_not_exist_and_features_that_are_not_finite_are_refused() -> None:
    ones = np.ones((3, 2))
    for k in (0, 4):
        with one_line(f"rank {k} of 3 items"):
            nearest(ones, ones, k)
    with one_line("not finite"):
        percentiles(np.array([[0.0], [np.inf]]), [50])
    with one_line("alike"):
        nearest(ones, np.ones((3, 4)), 1)
