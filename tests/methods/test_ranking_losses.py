"""The ranking losses of StructHash: their costs, and the most violated ranking against all rankings."""

from itertools import combinations, product

import numpy as np
import pytest

from hashbench.learning.methods._pairs import Neighbours
from hashbench.learning.methods.structhash import COSTS, Loss, cost_tables, most_violated, ndcg, random_rankings

LOSSES: tuple[Loss, ...] = ("auc", "ndcg")


def loss_of(loss: Loss, ranking: np.ndarray, cutoff: int = 100) -> float:
    """The loss of ``ranking`` bool[n], true at relevant items: a transcription of eq. 18 to 22."""
    p = int(ranking.sum())
    n = len(ranking)
    if loss == "auc":
        right = sum(bool(ranking[i]) and not ranking[k] for i in range(n) for k in range(i + 1, n))
        return 1 - right / (p * (n - p))
    scores = [1.0, *(1 / np.log2(i) for i in range(2, cutoff + 1))]
    return 1 - sum(scores[i] for i in range(min(n, cutoff)) if ranking[i]) / sum(scores[:p])


def all_rankings(p: int, n: int) -> list[np.ndarray]:
    """Each way to put p relevant items among p + n places."""
    return [np.isin(np.arange(p + n), places) for places in combinations(range(p + n), p)]


def pairs_of(ranking: np.ndarray, near: np.ndarray, far: np.ndarray) -> tuple[float, np.ndarray]:
    """eq. 13 by its definition: the sum over wrong pairs, and the pair weights, of the items sorted by distance."""
    p = len(near)
    n = len(far)
    weights = np.zeros(p + n)
    places = np.flatnonzero(ranking)
    others = np.flatnonzero(~ranking)
    for place, j in zip(places, np.argsort(near, kind="stable"), strict=True):
        for other, k in zip(others, np.argsort(far, kind="stable"), strict=True):
            if other < place:
                weights[j] -= 2 / (p * n)
                weights[p + k] += 2 / (p * n)
    return float(weights @ np.concatenate([near, far])), weights


def one_query(p: int, n: int, fillers: tuple[int, int] = (0, 0)) -> Neighbours:
    """The only query that is ranked is example 0; ``fillers`` are entries that are no neighbours."""
    ids = [*range(1, p + 1), *[0] * fillers[0], *range(p + 1, p + n + 1), *[0] * fillers[1]]
    return Neighbours(np.array([ids]), p + fillers[0], np.array([p]), np.array([n]))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("p, n", [(1, 1), (1, 4), (4, 1), (3, 4), (5, 3)])
def test_costs_sum_to_the_loss_of_each_ranking(loss: Loss, p: int, n: int) -> None:
    costs = COSTS[loss](p, n)
    assert costs.shape == (p, n + 1)
    for ranking in all_rankings(p, n):
        before = np.cumsum(~ranking)[ranking]
        assert costs[np.arange(p), before].sum() == pytest.approx(loss_of(loss, ranking), abs=1e-12)
    assert costs[:, 0].sum() == pytest.approx(0, abs=1e-12)  # the perfect ranking


def test_the_gain_of_ndcg_ends_at_its_cutoff() -> None:
    ranking = np.isin(np.arange(123), [0, 99, 100])
    before = np.cumsum(~ranking)[ranking]
    assert ndcg(3, 120)[np.arange(3), before].sum() == pytest.approx(loss_of("ndcg", ranking), abs=1e-12)


SIZES = [(1, 1), (1, 5), (5, 1), (3, 4), (5, 5)]  # relevant items, irrelevant ones


@pytest.mark.parametrize("loss, sizes, scale, seed", [*product(LOSSES, SIZES, [0.05, 0.3, 2.0], [0, 1])])
def test_most_violated_is_the_best_of_all_rankings(loss: Loss, sizes: tuple[int, int], scale: float, seed: int) -> None:
    p, n = sizes
    drawn = np.random.default_rng(seed).random((1, p + n)) * scale
    distances = (np.round(drawn * 8 / scale) * scale / 8 if seed else drawn).astype(np.float32)  # seed 1: with ties
    neighbours = one_query(p, n)
    weights, losses = most_violated(distances, neighbours, cost_tables(loss, neighbours))
    near, far = np.split(distances[0].astype(np.float64), [p])
    values = [loss_of(loss, ranking) - pairs_of(ranking, near, far)[0] for ranking in all_rankings(p, n)]
    assert losses[0] - weights[0] @ distances[0] == pytest.approx(max(values), abs=1e-6)
    # loss and weights are those of one ranking
    consistent = [
        np.allclose(pairs_of(ranking, near, far)[1], weights[0], atol=1e-6)
        and abs(loss_of(loss, ranking) - losses[0]) < 1e-6
        for ranking in all_rankings(p, n)
    ]
    assert any(consistent)


@pytest.mark.parametrize("loss", LOSSES)
def test_entries_that_are_no_neighbours_change_nothing(loss: Loss) -> None:
    distances = np.random.default_rng(2).random(7).astype(np.float32)
    plain = one_query(3, 4)
    filled = one_query(3, 4, fillers=(2, 1))
    wide = np.concatenate([distances[:3], [0, 0], distances[3:], [0]]).astype(np.float32)
    weights, losses = most_violated(distances[None], plain, cost_tables(loss, plain))
    more, same = most_violated(wide[None], filled, cost_tables(loss, filled))
    np.testing.assert_array_equal(more[0, [0, 1, 2, 5, 6, 7, 8]], weights[0])
    np.testing.assert_array_equal(more[0, [3, 4, 9]], 0)
    assert same == losses


def test_a_query_without_neighbours_has_no_loss() -> None:
    neighbours = Neighbours(np.array([[1, 2], [1, 1]]), 1, np.array([1, 0]), np.array([1, 0]))
    weights, losses = most_violated(np.zeros((2, 2), np.float32), neighbours, cost_tables("auc", neighbours))
    np.testing.assert_array_equal(weights, [[-2, 2], [0, 0]])
    np.testing.assert_array_equal(losses, [1, 0])
    assert neighbours.n_ranked == 1


def test_random_rankings_put_half_of_the_pairs_in_wrong_order() -> None:
    ids = np.tile(np.arange(1, 9), (400, 1))
    neighbours = Neighbours(ids, 5, np.full(400, 5), np.full(400, 3))
    weights = random_rankings(neighbours, np.random.default_rng(0))
    assert (weights[:, :5] <= 0).all()
    assert (weights[:, 5:] >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-12)
    assert weights[:, 5:].sum(axis=1).mean() == pytest.approx(2 * 0.5, abs=0.05)
    # a pair weight is a whole number of wrong pairs, each of 2 / (p n)
    np.testing.assert_allclose(weights * 15 / 2, np.round(weights * 15 / 2), atol=1e-9)
