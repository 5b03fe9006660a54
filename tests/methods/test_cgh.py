"""CGH: its triplet loss against all triplets, the optimum of its master problem, and column generation."""

import math
from typing import Any

import numpy as np
import pytest
from support.fits import data_of
from support.on_digits import on_digits

from hashbench.learning.methods._column_generation import ColumnSettings
from hashbench.learning.methods._pairs import Neighbours, random_neighbours
from hashbench.learning.methods.cgh import TripletMaster


def settings(**changes: Any) -> ColumnSettings:
    setting_values = {"bits": 16, "n_relevant": 10, "n_irrelevant": 10, **changes}
    chosen = on_digits("cgh", setting_values).settings
    assert isinstance(chosen, ColumnSettings)
    return chosen


def slow_loss(distances: np.ndarray, neighbours: Neighbours, query: int) -> float:
    """The mean over triplets of max(0, 1 - (d_ik - d_ij))^2."""
    p = neighbours.n_relevant[query]
    n = neighbours.n_irrelevant[query]
    r = neighbours.r
    near = distances[query, :p]
    far = distances[query, r : r + n]
    return float(np.mean([max(0.0, 1 - (k - j)) ** 2 for j in near for k in far])) if p else 0.0


def test_the_master_reaches_the_optimum_of_its_convex_problem() -> None:
    random = np.random.default_rng(0)
    neighbours = random_neighbours(data_of(np.zeros((60, 1)), np.arange(60) % 5), 5, 6, random)
    master = TripletMaster(settings(C=30.0), neighbours, random)
    values = []
    for _ in range(6):
        master.add(neighbours.differs(random.random(60) < 0.5))
        values.append(master.value(master.weights)[0])
    assert (np.diff(values) <= 1e-9).all()  # each bit can only help
    _, gradient = master.value(master.weights)
    # Karush-Kuhn-Tucker: no slope where the weight is above 0, and none that falls where it is 0
    on = master.weights > 1e-6
    np.testing.assert_allclose(gradient[on], 0, atol=2e-2)
    assert (gradient[~on] > -2e-2).all()


def test_the_objective_and_its_gradient_have_no_error_of_float32() -> None:
    """An error of 1e-7 would depend on the processor, and the codes on the error."""
    random = np.random.default_rng(0)
    neighbours = random_neighbours(data_of(np.zeros((60, 1)), np.arange(60) % 5), 5, 6, random)
    master = TripletMaster(settings(C=30.0), neighbours, random)
    differs = []
    weights = np.array([0.31, 0.23, 0.67])
    for _ in weights:
        differs.append(neighbours.differs(random.random(60) < 0.5))
        master.add(differs[-1])

    def value(at: np.ndarray) -> float:
        distances = np.tensordot(at, np.array(differs), 1)
        losses = [slow_loss(distances, neighbours, query) for query in range(60)]
        return float(at.sum() + 30 / neighbours.n_ranked * math.fsum(losses))

    actual, gradient = master.value(weights)
    assert actual == pytest.approx(value(weights), rel=1e-13)
    steps = 1e-5 * np.eye(3)
    slopes = [(value(weights + step) - value(weights - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-7)
