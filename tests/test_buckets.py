"""Bucket tables: NMI against scikit-learn, the speed-up against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench import buckets
from hashbench.errors import HashbenchError


@given(st.lists(st.tuples(st.integers(-2, 4), st.integers(0, 3)), min_size=1, max_size=40))
def test_nmi_is_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import normalized_mutual_info_score

    bucket, label = np.array(pairs).T
    truth = normalized_mutual_info_score(label, bucket, average_method="arithmetic")
    assert buckets.nmi(bucket, label) == pytest.approx(truth, abs=1e-12)


def test_nmi_of_independent_buckets_is_zero_and_of_pure_ones_one() -> None:
    assert buckets.nmi(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0
    assert buckets.nmi(np.array([5, 5, 3]), np.array([1, 1, 2])) == 1
    assert 0 < buckets.nmi(np.arange(4), np.array([0, 0, 1, 1])) < 1  # a bucket an item is not perfect


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any))
def test_speed_up_is_one_over_the_mean_share(retrieved: list[int]) -> None:
    truth = 1 / np.mean([n / 50 for n in retrieved])
    assert buckets.speed_up(np.array(retrieved, np.uint8), 50) == pytest.approx(truth)


@pytest.mark.parametrize("retrieved", [[], [0, 0]])
def test_nothing_retrieved_has_no_speed_up(retrieved: list[int]) -> None:
    with pytest.raises(HashbenchError, match="nothing was retrieved"):
        buckets.speed_up(np.array(retrieved, np.int64), 10)


def test_buckets_and_labels_of_different_items_are_refused() -> None:
    with pytest.raises(HashbenchError, match="one of each"):
        buckets.nmi(np.zeros(3, int), np.zeros(2, int))
