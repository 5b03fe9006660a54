"""Weights as whole numbers: distances tie, and AP is, as in an enumeration in the fractions that the user means."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from math import gcd
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracles

from hashbench import score
from hashbench.scoring.histogram.whole_weights import LARGEST_SUM, PART_BITS, whole_weights

Draw = Callable[[np.random.Generator, int], tuple[list[Fraction], np.ndarray]]  # what is meant, and what is given


def of(*meant: Fraction) -> Draw:
    return lambda rng, n: in_floats([meant[i] for i in rng.integers(0, len(meant), n)])


def in_floats(meant: list[Fraction], dtype: type[np.floating] = np.float64) -> tuple[list[Fraction], np.ndarray]:
    return meant, np.array([float(value) for value in meant], dtype)


def over(denominator: int, most: int = 30) -> Draw:
    return lambda rng, n: in_floats([Fraction(int(k), denominator) for k in rng.integers(0, most, n)])


def random_doubles(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = rng.choice(np.exp(3 * rng.standard_normal(4)), n)  # some are equal, so that there are ties
    return list(map(Fraction, weights.tolist())), weights


def whole_numbers(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = rng.integers(0, 1 << 58, n) if rng.random() < 0.5 else rng.integers(0, 4, n) + (1 << 57)
    return list(map(Fraction, weights.tolist())), weights


def far_apart(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    """Decimals of few digits, some of which are sums of others, at exponents up to 600 apart."""
    most = rng.choice([12, 300])
    meant = [int(rng.integers(1, 4)) * Fraction(10) ** int(rng.integers(-most, most)) for _ in range(n)]
    return in_floats([meant[i] for i in rng.integers(0, n, n - 2)] + [meant[0] + meant[0], meant[0]])


def doubles_far_apart(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    """Numbers with all their digits, of which the smallest is nothing beside the sum; some are equal."""
    drawn = rng.random(4) * 2.0 ** rng.integers(-80, 80, 4)
    weights = np.concatenate([[2.0**100, 2.0**-90], rng.choice(drawn, n - 2)])
    return list(map(Fraction, weights.tolist())), weights


def floats_far_apart(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = np.exp(12 * rng.standard_normal(n)).astype(np.float32)  # activations
    weights[-1] = 2 * weights[0]
    return list(map(Fraction, weights.tolist())), weights


def large_whole_numbers(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    weights = np.uint64(1 << 63) + rng.integers(0, 5, n, np.uint64)
    return list(map(Fraction, weights.tolist())), weights


def in_steps(rng: np.random.Generator, n: int) -> tuple[list[Fraction], np.ndarray]:
    k = rng.integers(0, 12, n)
    added = np.cumsum(np.full(12, 0.1))[k - 1] * (k > 0)  # 0.1 + 0.1 + 0.1 ...
    return [Fraction(int(tenths), 10) for tenths in k], added


FAMILIES: dict[str, Draw] = {
    "k/10": over(10),
    "k/3": over(3),
    "k/7": over(7),
    "k/1000": over(1000, 4000),
    "k/10^12": lambda rng, n: in_floats([Fraction(int(k), 10**12) for k in rng.integers(1, 999, n) * 10**9 + 1]),
    ".1, .2": of(Fraction(1, 10), Fraction(2, 10)),
    "tenths, thirds and halves": of(*(Fraction(1, k) for k in (2, 3, 5, 10)), Fraction(2, 3), Fraction(3, 10)),
    "1/2 to 1/23": of(*(Fraction(1, k) for k in (2, 3, 5, 7, 11, 13, 17, 19, 23))),
    "k/10 of float32": lambda rng, n: in_floats([Fraction(int(k), 10) for k in rng.integers(0, 30, n)], np.float32),
    "k/3 of float32": lambda rng, n: in_floats([Fraction(int(k), 3) for k in rng.integers(0, 30, n)], np.float32),
    "k/10 of float16": lambda rng, n: in_floats([Fraction(int(k), 10) for k in rng.integers(0, 30, n)], np.float16),
    "0.1 + 0.1 + ...": in_steps,
    "whole numbers": whole_numbers,
    "random doubles": random_doubles,
    "1e9 beside 1e-9": of(*(Fraction(k) * Fraction(10) ** e for k in (1, 2, 3) for e in (-9, 9))),
    "1/2 to 1/53": of(*(Fraction(1, k) for k in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53))),
    "decimals far apart": far_apart,
    "doubles far apart": doubles_far_apart,
    "float32 far apart": floats_far_apart,
    "large whole numbers": large_whole_numbers,
}


def numbers_of(weights: np.ndarray) -> list[int]:
    """The whole weights, of which ``whole_weights`` returns the parts."""
    parts = whole_weights(weights)
    assert parts.dtype == np.int64 and parts.min() >= 0
    return [sum(part << PART_BITS * at for at, part in enumerate(column)) for column in parts.T.tolist()]


def ranks(values: Sequence[Fraction | int]) -> list[int]:
    """Equal numbers for equal values, in their order."""
    place = {value: at for at, value in enumerate(sorted(set(values)))}
    return [place[value] for value in values]


@pytest.mark.parametrize("family", FAMILIES)
def test_all_sums_are_ordered_and_tie_as_the_fractions_do(family: str) -> None:
    for seed in range(20):
        meant, weights = FAMILIES[family](np.random.default_rng(seed), 7)
        whole = numbers_of(weights)
        chosen = list(product([0, 1], repeat=7))

        def sums(numbers: list[Any], chosen: list[tuple[int, ...]] = chosen) -> list[Any]:
            return [
                sum((w for w, bit in zip(numbers, bits, strict=True) if bit), start=0 * numbers[0]) for bits in chosen
            ]

        assert ranks(sums(whole)) == ranks(sums(meant)), weights


@pytest.mark.parametrize("family", FAMILIES)
def test_average_precision_is_that_of_the_enumeration_in_fractions(family: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        meant, weights = FAMILIES[family](rng, 5)
        codes = rng.integers(0, 2, (6, 5))
        labels = rng.integers(0, 2, 6)
        labels[0] = 1
        exact = [sum((w for w, bit in zip(meant, code, strict=True) if bit), Fraction(0)) for code in codes.tolist()]
        all_orders = oracles.scores(oracles.average_precision, exact, labels.tolist())  # type: ignore[arg-type]
        scores = score(np.zeros((1, 5)), codes, [1], labels, "ap", weights=weights)
        truth = [sum(all_orders, Fraction(0)) / len(all_orders), min(all_orders), max(all_orders)]
        assert [scores["ap"], *scores.interval("ap")] == pytest.approx(list(map(float, truth)), abs=1e-15), weights


@given(st.lists(st.integers(0, 1 << 56), min_size=1, max_size=64), st.sampled_from([1, 3, 10**6]))
def test_whole_numbers_are_as_they_are_up_to_a_common_factor(numbers: list[int], factor: int) -> None:
    given_ = [number // factor * factor for number in numbers]
    unit = gcd(*given_) or 1
    for weights in (np.array(given_), np.array(given_, np.uint64)):
        actual = numbers_of(weights)
        assert actual == [number // unit for number in given_]
        assert (len(whole_weights(weights)) == 1) == (sum(actual) < LARGEST_SUM)


@given(st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=1, max_size=200))
def test_no_sum_overflows_and_no_order_of_two_weights_is_turned(weights: list[float]) -> None:
    parts = whole_weights(np.array(weights))
    assert all(sum(part) < LARGEST_SUM for part in parts.tolist())
    actual = np.array(numbers_of(np.array(weights)), object)
    assert (np.diff(actual[np.argsort(weights, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("n_bits", [64, 512, 4096])
def test_weights_without_a_common_unit_are_rounded_to_fifteen_digits_of_their_sum(n_bits: int) -> None:
    weights = np.random.default_rng(n_bits).lognormal(size=n_bits)
    actual = list(map(Fraction, numbers_of(weights)))
    exact = list(map(Fraction, weights.tolist()))
    total = sum(actual)
    assert 1 << 55 <= total < 1 << 57  # a distance and one of 32 levels are sorted as one int64
    unit = sum(exact) / total
    assert max(abs(number * unit - weight) for number, weight in zip(actual, exact, strict=True)) < Fraction(
        2, 1 << 56
    ) * sum(exact)
