"""Weights of bits as whole numbers, whose sums are exact: distances tie where those of the meant numbers do."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring.histogram.counts import Ints

LARGEST_SUM = 1 << 62  # of whole weights: distances fit an int64
ROUNDED_BITS = 56  # of the sum of weights without a common unit: a distance and one of 64 levels are one int64
NOISE = 4  # rounding errors that computed weights may have: 0.1 * 3 means 0.3


def whole_weights(weights: NDArray[Any]) -> Ints:
    """Whole numbers in the proportions of ``weights`` [bits], which are finite and 0 or more: int64[bits].

    They are exact where the weights are multiples of a common unit of which their sum has fewer than LARGEST_SUM: whole
    numbers; decimals of as many digits as the type holds (15 of float64, 6 of float32); fractions of one another with
    denominators up to 104,031 (127 of float32), as thirds are. Other weights are rounded to 2^-55 of their sum or less,
    which keeps all digits of float32: distances of b bits that differ by more than b / 2^56 of the sum are told apart.
    """
    values = weights
    if weights.dtype.kind not in "bui" and weights.itemsize > 8:
        values = weights.astype(np.float64)
    readings: Sequence[Callable[[NDArray[Any]], list[Fraction] | None]] = (_whole_numbers, _decimals, _fractions)
    for reading in readings:
        meant = reading(values)
        if meant is not None:
            whole = _in_units(meant)
            if sum(whole) < LARGEST_SUM:
                return np.array(whole, np.int64)
    exact = values.astype(np.float64)
    scaled = np.ldexp(exact, -np.frexp(exact.max())[1])  # below 1, so that their sum is finite
    return np.rint(np.ldexp(scaled, ROUNDED_BITS - np.frexp(scaled.sum())[1])).astype(np.int64)


def _in_units(values: Sequence[Fraction]) -> list[int]:
    """The values in the largest unit of which all are multiples."""
    denominator = lcm(*(value.denominator for value in values))
    whole = [value.numerator * (denominator // value.denominator) for value in values]
    unit = gcd(*whole) or 1
    return [value // unit for value in whole]


def _whole_numbers(weights: NDArray[Any]) -> list[Fraction] | None:
    # all floats from 2^53 on are whole, without being meant so
    if weights.dtype.kind == "f" and (float(weights.max()) > 2**53 or (weights != np.floor(weights)).any()):
        return None
    return list(map(Fraction, weights.tolist()))


def _decimals(weights: NDArray[Any]) -> list[Fraction] | None:
    """The shortest decimals that are read as the weights, if none has more digits than the type is sure to hold."""
    if weights.dtype.kind != "f":
        return None
    shortest = [Decimal(str(value)) for value in weights]
    if max(len(value.as_tuple().digits) for value in shortest) > np.finfo(weights.dtype).precision:
        return None
    return list(map(Fraction, shortest))


def _fractions(weights: NDArray[Any]) -> list[Fraction] | None:
    """The weights over the largest of them, as fractions that differ from them by rounding errors only."""
    value_type: np.dtype[Any] = np.dtype(np.float64)
    if weights.dtype.kind == "f":
        value_type = weights.dtype
    rounding = NOISE * Fraction(float(np.finfo(value_type).eps))
    most = int(float(rounding) ** (-1 / 3))  # by chance some 10^-5 of float64 are so near to such a fraction
    largest = Fraction(weights.max().item())
    meant = {}
    for value in set(weights.tolist()):
        ratio = Fraction(value) / largest
        meant[value] = ratio.limit_denominator(most)
        if abs(meant[value] - ratio) > rounding * ratio:
            return None
    return [meant[value] for value in weights.tolist()]
