"""The speed-up that is expected of sparse codes which use all buckets equally."""

from math import comb

from hashbench.foundation.errors import HashbenchError


def expected(d: int, k: int) -> float:
    """The expected speed-up of codes that set k of d bits and use all buckets equally.

    1 / (1 - C(d - k, k) / C(d, k)): one over the probability that two such codes share a bucket
    [Jeong and Song 2018, eq. 11]. The paper calls it the upper bound; it is one for k = 1 only.

    >>> [round(expected(64, k), 2) for k in (1, 2, 3, 4)]
    [64.0, 16.13, 7.34, 4.3]
    """
    if not 1 <= k <= d:
        raise HashbenchError(f"k = {k} of {d} buckets: k from 1 to {d} is expected")
    every = comb(d, k)
    return every / (every - comb(d - k, k))
