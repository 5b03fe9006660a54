"""Recall of candidates that are ordered by query times bits, against all draws of the items where they end."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation.reordered import reordered_recall

RNG = np.random.default_rng(5)


def expected(
    query: NDArray[np.bool_], items: NDArray[np.bool_], z: NDArray[np.float64], near: set[int], k: int, m: int
) -> Fraction:
    """The mean over all draws of the candidates, each ordered and cut as the search does it."""
    distance = (query != items).sum(axis=1)
    last = sorted(distance)[m - 1]
    nearer = [item for item in range(len(items)) if distance[item] < last]
    tied = [item for item in range(len(items)) if distance[item] == last]
    products = np.where(items, 1, -1) @ z
    shares = []
    for drawn in combinations(tied, m - len(nearer)):
        ranks = {item: (-products[item], distance[item]) for item in (*nearer, *drawn)}
        n_found = Fraction()
        for item in near & ranks.keys():
            n_ahead = sum(rank < ranks[item] for rank in ranks.values())
            n_equal = sum(rank == ranks[item] for rank in ranks.values())
            n_found += min(max(Fraction(k - n_ahead, n_equal), Fraction(0)), Fraction(1))
        shares.append(n_found / len(near))
    return sum(shares, Fraction()) / len(shares)


@pytest.mark.parametrize("n_bits, k, m", [(2, 2, 4), (3, 3, 6), (5, 3, 5), (3, 4, 12), (1, 1, 1), (3, 3, 20)])
def test_it_is_the_mean_over_all_draws_of_the_tied_items(n_bits: int, k: int, m: int) -> None:
    items = RNG.random((12, n_bits)) > 0.5
    z = RNG.standard_normal((6, n_bits))
    z[3:] = RNG.integers(-2, 3, (3, n_bits))  # products of different codes are equal
    neighbours = np.stack([RNG.permutation(12)[:k] for _ in range(6)])
    neighbours[0, 1:] = -1
    recall = reordered_recall(pack(z > 0), pack(items), z, neighbours, m)
    for at in range(6):
        near = {int(item) for item in neighbours[at] if item >= 0}
        assert recall[at] == pytest.approx(float(expected(z[at] > 0, items, z[at], near, k, min(m, 12))))
