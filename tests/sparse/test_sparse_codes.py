"""k-sparse codes against a slow sort, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from support import sparse_oracles
from support.one_line import one_line

from hashbench.learning.sparse.codes import SparseCodes, preference, top_k

FEW_VALUES = st.sampled_from([-2.0, -0.0, 0.0, 0.5, 3.0])  # so that ties abound
ACTIVATIONS = npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=FEW_VALUES)


@given(ACTIVATIONS, st.data())
def test_top_k_is_the_head_of_the_order(activations: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, activations.shape[1]))
    orders = [sorted(range(len(row)), key=lambda bit, row=row: (-row[bit], bit)) for row in activations]
    codes = top_k(activations, k)
    assert codes.buckets.tolist() == [sorted(order[:k]) for order in orders]
    assert preference(activations).tolist() == orders
    assert [np.flatnonzero(row).tolist() for row in sparse_oracles.bits(codes)] == codes.buckets.tolist()


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    activations = np.random.default_rng(0).integers(0, 4, (50, 6)).astype(float)
    whole = top_k(activations, 3).buckets
    monkeypatch.setattr("hashbench.learning.sparse.codes.BLOCK_VALUES", 20)
    assert np.array_equal(top_k(activations, 3).buckets, whole)


def test_unsigned_activations_are_compared_as_numbers() -> None:
    assert top_k(np.array([[0, 200, 7]], np.uint8), 2).buckets.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "buckets, d, message",
    [
        ([[0, 1]], 1, "k from 1 to d"),
        ([0, 1], 3, r"\[n, k\]"),
        ([[0, 3]], 3, "from 0 to 2"),
        ([[-1, 1]], 3, "from 0 to 2"),
        ([[0.0, 1.0]], 3, "whole numbers"),
        ([[1, 1]], 3, "ascending"),
        ([[2, 1]], 3, "ascending"),
        ([[0]], 1 << 40, "d to 1048576"),
    ],
)
def test_what_is_no_code_is_refused(buckets: object, d: int, message: str) -> None:
    with one_line(message):
        SparseCodes(np.asarray(buckets), d)


def test_activations_must_be_finite_and_k_must_fit() -> None:
    with one_line("not finite"):
        top_k(np.array([[0.0, np.inf]]), 1)
    with one_line("k = 4"):
        top_k(np.zeros((2, 3)), 4)
