"""How sure the difference between two codes is: a paired bootstrap and a sign-flip test over the queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import bar

if TYPE_CHECKING:
    from tqdm import tqdm

Floats = NDArray[np.float64]

BLOCK = 1 << 21  # numbers that are drawn at a time: arrays of 16 MiB, for any number of queries and samples
ROUNDING = 1e-12  # two values of a query that differ by less are equal


@dataclass(frozen=True)
class Difference:
    """The difference of one metric, mean of a minus mean of b, over the queries.

    ``low`` and ``high`` are the ends of the bootstrap's interval. ``p`` is the share of the random exchanges of a and b
    that give a mean difference as large as this one, or larger; ``is_exact`` says that all exchanges were counted.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float
    is_exact: bool


def differences(
    a: Mapping[str, Floats], b: Mapping[str, Floats], *, samples: int, seed: int, interval: float
) -> dict[str, Difference]:
    """The difference of each metric; ``a`` and ``b`` give float64[q] for the same metrics and the same queries.

    The values are finite, and there is at least one query. All metrics are resampled with the same queries, so a
    metric's result does not depend on the others.
    """
    first, second = np.stack([a[name] for name in a]), np.stack([b[name] for name in a])
    paired = first - second
    paired[np.abs(paired) < ROUNDING] = 0.0
    with bar("compare", "sample", 2 * samples, scaled=True) as done:
        lows, highs = _bootstrap(paired, samples, seed, interval, done)
        tests = _sign_flips(paired, samples, seed, done)
    means = np.stack([first.mean(axis=1), second.mean(axis=1), paired.mean(axis=1), lows, highs], axis=1).tolist()
    return {
        name: Difference(a_mean, b_mean, difference, low, high, p, is_exact)
        for name, (a_mean, b_mean, difference, low, high), (p, is_exact) in zip(a, means, tests, strict=True)
    }


def _bootstrap(paired: Floats, samples: int, seed: int, interval: float, done: "tqdm[None]") -> Floats:
    """The ends of the percentile interval of each metric's mean difference, float64[2, m], of resampled queries."""
    n_queries = paired.shape[1]
    random = np.random.default_rng(seed)
    means = np.empty((len(paired), samples))
    for part in slices(samples, max(1, BLOCK // n_queries)):
        drawn = random.integers(n_queries, size=(part.stop - part.start, n_queries))
        for metric, values in enumerate(paired):
            means[metric, part] = values[drawn].mean(axis=1)
        done.update(part.stop - part.start)
    tail = (1 - interval) / 2
    ends: Floats = np.quantile(means, [tail, 1 - tail], axis=1)
    return ends


def _sign_flips(paired: Floats, samples: int, seed: int, done: "tqdm[None]") -> list[tuple[float, bool]]:
    """The p-value of each metric, and whether it is exact.

    It is exact where the queries that differ are so few that all ways to exchange a and b are at most ``samples``.
    """
    exact = [_of_all_flips(values[values != 0], samples) for values in paired]
    sampled = [metric for metric, p in enumerate(exact) if p is None]
    hits = _random_hits(paired[sampled], samples, seed, done).tolist() if sampled else []
    found = {metric: (n + 1) / (samples + 1) for metric, n in zip(sampled, hits, strict=True)}
    return [(found[metric], False) if p is None else (p, True) for metric, p in enumerate(exact)]


def _of_all_flips(values: Floats, samples: int) -> float | None:
    """The exact p-value, of all ways to flip the signs of ``values``; None where they are more than ``samples``."""
    if len(values) > 62 or 1 << len(values) > samples:
        return None
    flipped = np.zeros(1)
    for value in values:
        flipped = np.concatenate([flipped + value, flipped - value])
    return float((np.abs(flipped) >= _threshold(values)).mean())


def _random_hits(paired: Floats, samples: int, seed: int, done: "tqdm[None]") -> NDArray[np.int64]:
    """How many of the random flips of the signs give a sum as large as the observed one, int64[m]."""
    n_queries = paired.shape[1]
    random = np.random.default_rng((seed, 1))  # other numbers than those of the bootstrap
    hits, total = np.zeros(len(paired), np.int64), paired.sum(axis=1)
    thresholds = np.array([_threshold(values) for values in paired])
    for part in slices(samples, max(1, BLOCK // n_queries)):
        n_bytes = -(-n_queries // 8)
        drawn = random.integers(256, size=(part.stop - part.start, n_bytes), dtype=np.uint8)
        kept = np.unpackbits(drawn, axis=1, count=n_queries).astype(np.float64) @ paired.T
        hits += (np.abs(2 * kept - total) >= thresholds).sum(axis=0)
        done.update(part.stop - part.start)
    return hits


def _threshold(values: Floats) -> float:
    """The observed sum, less what rounding can make of an equal one."""
    return float(abs(values.sum()) - ROUNDING * np.abs(values).sum())
