"""StructHash: its master problem against the linear programme with all cuts, and column generation."""

import math
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog
from support.fits import data_of
from support.on_digits import on_digits

from hashbench.learning.contract import TrainingFailed
from hashbench.learning.methods import METHODS, _column_generation
from hashbench.learning.methods._column_generation import Rows
from hashbench.learning.methods._pairs import Neighbours
from hashbench.learning.methods.structhash import COSTS, Loss, Settings, StructuredMaster

LOSSES: tuple[Loss, ...] = ("auc", "ndcg")


def settings(**changes: Any) -> Settings:
    setting_values = {"bits": 16, "n_relevant": 10, "n_irrelevant": 10, **changes}
    chosen = on_digits("structhash", setting_values).settings
    assert isinstance(chosen, Settings)
    return chosen


def all_cuts(loss: Loss, differs: np.ndarray, p: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Effects [cuts, bits] and losses [cuts] of every ranking of each query, or none (c = 0); bool [bits, m, p + n].

    The rankings need not be sorted by distance: any set of wrong pairs of an order of all items.
    """
    per_query = []
    for query in range(differs.shape[1]):
        options = {(0.0,) * differs.shape[0] + (0.0,)}
        for order in permutations(range(p + n)):
            ranking = np.array(order) < p
            place = np.argsort(order)
            before = np.cumsum(~ranking)[ranking]
            wrong = place[:p, None] > place[None, p:]
            weights = 2 / (p * n) * np.concatenate([-wrong.sum(axis=1), wrong.sum(axis=0)])
            effect = differs[:, query] @ weights
            options.add((*np.round(effect, 12), round(COSTS[loss](p, n)[np.arange(p), before].sum(), 12)))
        per_query.append(sorted(options))
    cuts = np.array([np.mean(chosen, axis=0) for chosen in product(*per_query)])
    return cuts[:, :-1], cuts[:, -1]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("of_loss", [1.5, 5.0, 1000.0])
def test_the_master_solves_the_problem_with_all_rankings(loss: Loss, of_loss: float) -> None:
    random = np.random.default_rng(1)
    ids = np.array([[2, 3, 4, 5], [3, 2, 5, 4]])
    neighbours = Neighbours(ids, 2, np.array([2, 2]), np.array([2, 2]))
    master = StructuredMaster(settings(loss=loss, C=of_loss, tolerance=1e-6, rounds=200), neighbours, random)
    differs = random.random((4, 2, 4)) < [0.3, 0.3, 0.7, 0.7]
    for bit in differs:
        master.add(bit)
    effects, losses = all_cuts(loss, differs.astype(float), 2, 2)
    cost = np.append(np.ones(4), of_loss)
    exact = linprog(cost, A_ub=-np.column_stack([effects, np.ones(len(effects))]), b_ub=-losses)
    assert exact.fun - 1e-5 <= master.objective <= exact.fun + 1e-6 * of_loss + 1e-5


def test_a_loss_weight_without_weights_is_refused() -> None:
    features = np.random.default_rng(0).standard_normal((60, 4))
    with pytest.raises(TrainingFailed, match="C is too small"):
        METHODS.get("structhash").fit(settings(bits=2, C=0.01, n_anchors=20), data_of(features, np.arange(60) % 3))


def test_rows_can_be_added_and_dropped() -> None:
    rows = Rows(2, np.float32)
    for value in range(150):
        rows.add(np.full(2, value, np.float32))
    rows.keep(np.arange(150) % 3 == 1)
    rows.add(np.full(2, -1, np.float32))
    np.testing.assert_array_equal(rows.products(np.array([1, 0])), [*range(1, 150, 3), -1])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_over_rows_are_those_of_float64(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_column_generation, "COLUMNS", 30)
    random = np.random.default_rng(0)
    values = random.random((20, 100)).astype(np.float32)
    weights = random.random(20)
    other = random.random((3, 100))
    rows = Rows(100, kind)
    others = Rows(100, np.float64)
    for row in values:
        rows.add(row)
    for row in other:
        others.add(row)
    exact = [math.fsum(weights * column) for column in values.T.astype(np.float64)]
    np.testing.assert_allclose(rows.weighted_sum(weights), exact, rtol=1e-14)
    np.testing.assert_allclose(rows.products_of(others), other @ values.T.astype(np.float64), rtol=1e-13)
    np.testing.assert_allclose(rows.products(other[0]), rows.products_of(others)[0], rtol=1e-13)
