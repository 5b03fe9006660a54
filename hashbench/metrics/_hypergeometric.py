"""How many relevant items a cut tie group leaves inside the cutoff."""

import numpy as np
from numpy.typing import NDArray

from hashbench.metrics._groups import Counts

Floats = NDArray[np.float64]


def half_width(n: Counts, p: Counts, m: Counts) -> Counts:
    """How far from the mode the probability ends, int64[q]: beyond it lies less than 1e-21.

    Hoeffding's bound exp(-2 w^2 / m) holds for draws without replacement, and by the symmetries of the
    distribution with p, n - m or n - p in place of m.
    """
    least = np.minimum(np.minimum(m, n - m), np.minimum(p, n - p))
    return np.ceil(5 * np.sqrt(least)).astype(np.int64) + 1


def mass(n: Counts, p: Counts, m: Counts, width: int) -> tuple[Counts, Floats]:
    """The numbers x, int64[q, 2 width + 1], and P(X = x), X relevant among m drawn of n items, p relevant.

    The mass is built by the ratio of neighbours, outwards from the mode; differences of log-gammas would lose
    digits at large counts. An x that cannot be has mass 0: the ratio that leads there is 0 by itself.
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
