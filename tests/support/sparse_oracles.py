"""What k-sparse codes are compared with: their bits, and the speed-up expected of random ones."""

from math import comb

import numpy as np

from hashbench.learning.sparse.codes import SparseCodes


def bits(codes: SparseCodes) -> np.ndarray:
    """The codes as bool[n, d]."""
    whole = np.zeros((len(codes), codes.d), bool)
    np.put_along_axis(whole, codes.buckets, True, axis=1)
    return whole


def expected_speed_up(d: int, k: int) -> float:
    """The speed-up expected of random codes that set k of d bits and use all buckets equally.

    1 / (1 - C(d - k, k) / C(d, k)) [Jeong and Song 2018, eq. 11]: one over the probability that two such codes share a
    bucket. For k = 1 no codes do better; for larger k those can whose items share all of their buckets or none.
    Binomials are whole numbers, and the only rounding is that of the result.
    """
    every = comb(d, k)
    return every / (every - comb(d - k, k))
