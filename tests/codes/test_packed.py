"""Packed codes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.codes import MAX_BITS, binarize, pack


@given(st.integers(0, 5), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_packed_bits_come_back_and_the_padding_is_zero(n: int, n_bits: int, seed: int) -> None:
    bits = np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8)
    codes = pack(bits)
    assert codes.words.dtype == np.uint64
    assert codes.words.shape == (n, -(-n_bits // 64))
    assert np.array_equal(codes.bits(), bits)
    assert sum(int(word).bit_count() for word in codes.words.ravel()) == bits.sum()


def test_bit_j_is_bit_j_of_its_word() -> None:
    bits = np.zeros((1, 70), np.uint8)
    bits[0, [0, 3, 69]] = 1
    assert pack(bits).words.tolist() == [[0b1001, 1 << 5]]


def test_an_activation_of_zero_clears_the_bit() -> None:
    activations = np.array([[0.0, -0.0, 1e-300, -1e-300, 5.0]])
    assert binarize(activations).bits().tolist() == [[0, 0, 1, 0, 1]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_activations_that_are_not_finite_are_refused(value: float) -> None:
    with one_line("not finite"):
        binarize(np.array([[0.5, value]]))


@pytest.mark.parametrize("shape", [(4,), (2, 3, 4)])
def test_an_array_that_is_not_items_by_bits_is_refused(shape: tuple[int, ...]) -> None:
    with one_line("items x bits"):
        pack(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("n_bits", [0, MAX_BITS + 1])
def test_a_number_of_bits_out_of_range_is_refused(n_bits: int) -> None:
    with one_line(f"{n_bits} bits"):
        pack(np.zeros((1, n_bits), np.uint8))
