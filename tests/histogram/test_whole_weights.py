"""Weights as whole numbers: distances tie as in an enumeration in the fractions that the user means."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.scoring.histogram.whole_weights import LARGEST_SUM, whole_weights

Draw = Callable[[np.random.Generator, int], tuple[list[Fraction], np.ndarray]]  # what is meant, and its floats


def in_floats(meant: list[Fraction], dtype: type[np.floating] = np.float64) -> tuple[list[Fraction], np.ndarray]:
    return meant, np.array([float(value) for value in meant], dtype)


def among(*meant: Fraction) -> Draw:
    return lambda rng, n: in_floats([meant[i] for i in rng.integers(0, len(meant), n)])


def over(denominator: int, most: int = 30, dtype: type[np.floating] = np.float64) -> Draw:
    return lambda rng, n: in_floats([Fraction(int(k), denominator) for k in rng.integers(0, most, n)], dtype)


def random_doubles(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = rng.choice(np.exp(3 * rng.standard_normal(4)), n)  # some are equal, so that there are ties
    return list(map(Fraction, weights.tolist())), weights


def whole_numbers(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = rng.integers(0, 1 << 58, n) if rng.random() < 0.5 else rng.integers(0, 4, n) + (1 << 57)
    return list(map(Fraction, weights.tolist())), weights


def activations(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = np.exp(2 * rng.standard_normal(n)).astype(np.float32)
    weights[-1] = 2 * weights[0]
    return list(map(Fraction, weights.tolist())), weights


def in_steps(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    k = rng.integers(0, 12, n)
    added = np.cumsum(np.full(12, 0.1))[k - 1] * (k > 0)  # 0.1 + 0.1 + 0.1 ...
    return [Fraction(int(tenths), 10) for tenths in k], added


FAMILIES: dict[str, Draw] = {
    "k/10": over(10),
    "k/7": over(7),
    "k/1000": over(1000, 4000),
    "k/10^12": lambda rng, n: in_floats([Fraction(int(k), 10**12) for k in rng.integers(1, 999, n) * 10**9 + 1]),
    "tenths, thirds and halves": among(*(Fraction(1, k) for k in (2, 3, 5, 10)), Fraction(2, 3), Fraction(3, 10)),
    "1/2 to 1/23": among(*(Fraction(1, k) for k in (2, 3, 5, 7, 11, 13, 17, 19, 23))),
    "1e6 beside 1e-6": among(*(Fraction(k) * Fraction(10) ** e for k in (1, 2, 3) for e in (-6, 6))),
    "k/10 of float32": over(10, dtype=np.float32),
    "k/3 of float32": over(3, dtype=np.float32),
    "k/10 of float16": over(10, dtype=np.float16),
    "0.1 + 0.1 + ...": in_steps,
    "whole numbers": whole_numbers,
    "random doubles": random_doubles,
    "activations": activations,
}


def ranks(values: Sequence[Fraction | int]) -> list[int]:
    """Equal numbers for equal values, in their order."""
    place = {value: at for at, value in enumerate(sorted(set(values)))}
    return [place[value] for value in values]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_sums_are_ordered_and_tie_as_the_fractions_do(family: str) -> None:
    chosen = np.array(list(product([0, 1], repeat=7)))
    for seed in range(20):
        meant, weights = FAMILIES[family](np.random.default_rng(seed), 7)
        whole = whole_weights(weights)
        assert whole.dtype == np.int64 and whole.min() >= 0
        sums = (chosen * np.array(meant, object)).sum(axis=1)
        assert ranks((chosen @ whole).tolist()) == ranks(sums.tolist()), weights


@given(st.lists(st.integers(0, 1 << 56), min_size=1, max_size=60), st.sampled_from([1, 3, 10**6]))
def test_whole_numbers_are_as_they_are_up_to_a_common_factor(numbers: list[int], factor: int) -> None:
    multiples = [number // factor * factor for number in numbers]
    unit = gcd(*multiples) or 1
    for weights in (np.array(multiples), np.array(multiples, np.uint64)):
        assert whole_weights(weights).tolist() == [number // unit for number in multiples]


@given(st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=1, max_size=200))
def test_no_sum_overflows_and_no_order_of_two_weights_is_turned(weights: list[float]) -> None:
    whole = whole_weights(np.array(weights))
    assert sum(whole.tolist()) < LARGEST_SUM
    assert (np.diff(whole[np.argsort(weights, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("n_bits", [64, 512, 4096])
def test_weights_without_a_common_unit_are_rounded_to_fifteen_digits_of_their_sum(n_bits: int) -> None:
    weights = np.random.default_rng(n_bits).lognormal(size=n_bits)
    whole = list(map(Fraction, whole_weights(weights).tolist()))
    exact = list(map(Fraction, weights.tolist()))
    total = sum(whole)
    assert 1 << 55 <= total < 1 << 57  # a distance and one of 32 levels are sorted as one int64
    unit = sum(exact) / total
    differences = [abs(number * unit - weight) for number, weight in zip(whole, exact, strict=True)]
    assert max(differences) < Fraction(2, 1 << 56) * sum(exact)
