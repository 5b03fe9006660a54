"""CGH: its triplet loss against all triplets, the optimum of its master problem, and column generation."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.on_digits import on_digits

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.methods._column_generation import ColumnSettings
from hashbench.learning.methods._pairs import Neighbours, random_neighbours
from hashbench.learning.methods.cgh import TripletMaster
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import split
from hashbench.running.datasets.store import open_dataset


def settings(**changes: Any) -> ColumnSettings:
    setting_values = {"bits": 16, "n_relevant": 10, "n_irrelevant": 10, **changes}
    chosen = on_digits("cgh", setting_values).settings
    assert isinstance(chosen, ColumnSettings)
    return chosen


def digits(n: int) -> TrainingData:
    stored = open_dataset(load_card("digits"))
    ids = split(stored.labels, load_card("digits").protocol("s1"), "digits", "s1").train_ids[:n]
    return TrainingData(stored.items[ids], stored.labels[ids], 16.0, 3, Path(), execution=Execution("cpu"))


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
    neighbours = random_neighbours(digits(60), 5, 6, random)
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
    neighbours = random_neighbours(digits(60), 5, 6, random)
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


@pytest.mark.parametrize("hash_functions", ["linear", "kernel"])
def test_learned_bits_keep_triplets_in_order(hash_functions: str) -> None:
    data = digits(250)
    chosen = settings(hash_functions=hash_functions, n_anchors=100)
    function: Any = METHODS.get("cgh").fit(chosen, data).function  # type: ignore[attr-defined]
    assert function.weights.shape == (16,)
    assert (function.weights >= 0).all()
    bits = function.activations(data.items.reshape(250, -1) / 16.0) > 0
    distances = (function.weights * (bits[:, None] != bits)).sum(axis=2)
    neighbours = random_neighbours(data, 20, 20, np.random.default_rng(9))
    near, far = np.split(np.take_along_axis(distances, neighbours.ids, axis=1), [20], axis=1)
    assert (near[:, :, None] < far[:, None]).mean() > 0.97
