"""k-sparse codes against a slow sort, ties included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from support import sparse_oracles

from hashbench.foundation.errors import HashbenchError
from hashbench.sparse.codes import SparseCodes, preference, top_k

FEW_VALUES = st.sampled_from([-2.0, -0.0, 0.0, 0.5, 3.0])  # so that ties abound
ACTIVATIONS = npst.arrays(np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=7), elements=FEW_VALUES)


def slow_order(row: np.ndarray) -> list[int]:
    return sorted(range(len(row)), key=lambda bit: (-row[bit], bit))


@given(ACTIVATIONS, st.data())
def test_top_k_is_the_head_of_the_order(activations: np.ndarray, data: st.DataObject) -> None:
    k = data.draw(st.integers(1, activations.shape[1]))
    orders = [slow_order(row) for row in activations]
    assert top_k(activations, k).buckets.tolist() == [sorted(order[:k]) for order in orders]
    assert preference(activations).tolist() == orders


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    activations = np.random.default_rng(0).integers(0, 4, (50, 6)).astype(float)
    whole = top_k(activations, 3).buckets
    monkeypatch.setattr("hashbench.sparse.codes.BLOCK_VALUES", 20)
    assert np.array_equal(top_k(activations, 3).buckets, whole)


def test_unsigned_activations_are_compared_as_numbers() -> None:
    activations = np.array([[0, 200, 7]], np.uint8)
    assert preference(activations).tolist() == [[1, 2, 0]]
    assert top_k(activations, 2).buckets.tolist() == [[1, 2]]


@given(ACTIVATIONS, st.data())
def test_bits_are_those_of_the_buckets(activations: np.ndarray, data: st.DataObject) -> None:
    codes = top_k(activations, data.draw(st.integers(1, activations.shape[1])))
    bits = sparse_oracles.bits(codes)
    assert bits.shape == activations.shape
    assert [np.flatnonzero(row).tolist() for row in bits] == codes.buckets.tolist()


def test_the_checksum_tells_codes_apart() -> None:
    codes = [
        SparseCodes(np.array(rows), d) for rows, d in (([[0, 1]], 3), ([[0, 2]], 3), ([[0, 1]], 4), ([[0], [1]], 3))
    ]
    assert len({each.sha256() for each in codes}) == 4
    assert codes[0].sha256() == SparseCodes(np.array([[0, 1]], np.int16), 3).sha256()


@pytest.mark.parametrize(
    ("buckets", "d", "message"),
    [
        ([[0, 1]], 1, r"k from 1 to 1"),
        (np.zeros((2, 0), int), 3, r"k from 1 to 3"),
        ([0, 1], 3, r"\[n, k\]"),
        ([[0, 3]], 3, "from 0 to 2"),
        ([[-1, 1]], 3, "from 0 to 2"),
        ([[0.0, 1.0]], 3, "whole numbers"),
        ([[1, 1]], 3, "none twice"),
        ([[2, 1]], 3, "must ascend"),
        ([[0]], 0, "0 buckets"),
        ([[0]], 1 << 40, "buckets: 1 to"),
    ],
)
def test_what_is_no_code_is_refused(buckets: object, d: int, message: str) -> None:
    with pytest.raises(HashbenchError, match=message):
        SparseCodes(np.asarray(buckets), d)


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_fit(k: int) -> None:
    with pytest.raises(HashbenchError, match=f"k = {k}"):
        top_k(np.zeros((2, 3)), k)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_activations_must_be_finite(value: float) -> None:
    for ask in (lambda a: top_k(a, 1), preference):
        with pytest.raises(HashbenchError, match="not finite"):
            ask(np.array([[0.0, value]]))
