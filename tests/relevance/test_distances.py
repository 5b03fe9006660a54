"""Levels from distances, against the distances themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.relevance import distances
from hashbench.scoring.relevance.distances import DistanceRelevance


def by_loop(relevance: DistanceRelevance) -> np.ndarray:
    level = np.zeros(relevance.shape, np.uint16)
    for q, one in enumerate(relevance.query_features.astype(np.float64)):
        for n, item in enumerate(relevance.database_features.astype(np.float64)):
            distance = np.sqrt(((one - item) ** 2).sum())
            thresholds = np.broadcast_to(
                np.reshape(relevance.thresholds, (len(relevance.values), -1)).T, (len(level), len(relevance.values))
            )
            level[q, n] = sum(distance <= threshold for threshold in thresholds[q])
    return level


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e8]), st.sampled_from([np.float32, np.float64]))
def test_levels_are_exact_where_a_distance_is_the_threshold(seed: int, offset: float, kind: type) -> None:
    rng = np.random.default_rng(seed)
    # few whole coordinates, far from the origin: a product of vectors loses all digits, distances hit thresholds
    query, database = (rng.integers(0, 3, (size, 5)).astype(kind) + kind(offset) for size in (4, 17))
    relevance = DistanceRelevance(query, database, (np.sqrt(8), 2.0, 1.0, 0.0), (1, 2, 5, 10))
    whole = relevance.block(slice(0, 4), slice(0, 17))
    assert np.array_equal(whole, by_loop(relevance))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "PAIRS", 9)
        patch.setattr(distances, "HELD", 20)
        assert np.array_equal(relevance.block(slice(1, 3), slice(2, 15)), whole[1:3, 2:15])
        pieces = list(relevance.pieces())
    assert [part.stop - part.start for part, _ in pieces] == [5, 5, 5, 2]
    assert np.array_equal(np.concatenate([known.level for _, known in pieces], axis=1), whole)


@given(st.integers(0, 2**32 - 1))
def test_each_query_may_have_thresholds_of_its_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, database = (rng.integers(0, 3, (size, 3)).astype(np.float32) for size in (4, 11))
    near = np.sqrt(rng.integers(0, 4, 4))
    relevance = DistanceRelevance(query, database, np.stack([near + 1, near]), (1, 4))
    whole = relevance.block(slice(0, 4), slice(0, 11))
    assert np.array_equal(whole, by_loop(relevance))
    assert np.array_equal(relevance.block(slice(1, 2), slice(3, 9)), whole[1:2, 3:9])
    with one_line("thresholds of 3 queries, features of 4"):
        DistanceRelevance(query, database, near[None, :3])


@pytest.mark.parametrize(
    "thresholds, values",
    [
        ((1.0, 2.0), (1, 2)),
        ((2.0, 2.0), (1, 2)),
        ((2.0, 1.0), (2, 1)),
        ((1.0,), (1, 2)),
        ((1.0,), (0,)),
        ((-1.0,), (1,)),
        ((float("nan"),), (1,)),
        ((), ()),
    ],
)
def test_bands_that_make_no_sense_are_refused(thresholds: tuple[float, ...], values: tuple[int, ...]) -> None:
    with one_line("descending"):
        DistanceRelevance(np.zeros((1, 2)), np.zeros((1, 2)), thresholds, values)


def test_features_that_do_not_match_or_are_not_finite_are_refused() -> None:
    with one_line("alike"):
        DistanceRelevance(np.zeros((1, 2)), np.zeros((1, 3)), (1.0,))
    with one_line("not finite"):
        DistanceRelevance(np.zeros((1, 2)), np.full((1, 2), np.nan), (1.0,))
