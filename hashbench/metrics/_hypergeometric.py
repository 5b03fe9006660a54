"""The distribution of the number of relevant items inside the cutoff, in the tie group that the cutoff divides."""

import numpy as np
from numpy.typing import NDArray

from hashbench.metrics._groups import Counts

Floats = NDArray[np.float64]


def half_width(n: Counts, p: Counts, m: Counts) -> Counts:
    """The distance from the mode, int64[q], beyond which the probability is less than 1e-21.

    Hoeffding's bound exp(-2 w^2 / m) holds for draws without replacement, and by the symmetries of the
    distribution with p, n - m or n - p in place of m.
    """
    least = np.minimum(np.minimum(m, n - m), np.minimum(p, n - p))
    return np.ceil(5 * np.sqrt(least)).astype(np.int64) + 1


def mass(n: Counts, p: Counts, m: Counts, width: int) -> tuple[Counts, Floats]:
    """The values x, int64[q, 2 width + 1], and P(X = x), of the hypergeometric distribution.

    X is the number of relevant items among m items drawn from n, of which p are relevant. The probabilities are
    computed outwards from the mode by the ratio of neighbours; differences of log-gammas would lose digits at large
    counts. An impossible x has probability 0, because the ratio that leads to it is 0.
    """
    n, p, m = n[:, None], p[:, None], m[:, None]
    mode = (m + 1) * (p + 1) // (n + 2)
    steps = np.arange(width)
    up, down = mode + steps, mode - steps
    rise = (m - up) * (p - up) / ((up + 1.0) * (n - p - m + up + 1))
    fall = down * (n - p - m + down) / ((m - down + 1.0) * (p - down + 1))
    above, below = np.cumprod(rise, axis=1), np.cumprod(fall, axis=1)
    relative = np.concatenate([below[:, ::-1], np.ones_like(mode, np.float64), above], axis=1)
    return mode + np.arange(-width, width + 1), relative / relative.sum(axis=1, keepdims=True)
