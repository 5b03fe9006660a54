"""NMI against scikit-learn, the speed-up against its definition, its expectation against all codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.learning.sparse.codes import SparseCodes
from hashbench.learning.sparse.evaluate import contingency
from hashbench.scoring.histogram.retrieval import CUTOFFS, Reranked, Retrieval
from hashbench.scoring.metrics import MetricName, nmi
from hashbench.scoring.metrics.suf import speed_up


def nmi_of_items(bucket: np.ndarray, label: np.ndarray) -> float:
    """The metric of items that stand in one ``bucket`` each and have one ``label`` each, as an evaluation gets it."""
    counts = contingency(SparseCodes(bucket[:, None], d=10), label)
    assert counts is not None
    return nmi_of_counts(counts)


def nmi_of_counts(counts: np.ndarray) -> float:
    nothing = {k: Reranked(np.zeros((0, k), bool), np.zeros(0, int)) for k in CUTOFFS}
    return float(nmi.evaluate(Retrieval(40, nothing, counts), MetricName("nmi")))


def test_nmi_of_independent_buckets_is_zero_and_of_pure_ones_one() -> None:
    assert nmi_of_items(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])) == 0
    assert nmi_of_items(np.array([5, 5, 3]), np.array([1, 1, 2])) == 1
    assert 0 < nmi_of_items(np.arange(4), np.array([0, 0, 1, 1])) < 1  # a bucket an item is not perfect


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20).filter(any))
def test_speed_up_is_one_over_the_mean_share(retrieved: list[int]) -> None:
    truth = 1 / np.mean([n / 50 for n in retrieved])
    assert speed_up(np.array(retrieved, np.uint8), 50) == pytest.approx(truth)


@pytest.mark.parametrize("retrieved", [[], [0, 0]])
def test_nothing_retrieved_has_no_speed_up(retrieved: list[int]) -> None:
    with one_line("nothing was retrieved"):
        speed_up(np.array(retrieved, np.int64), 10)
