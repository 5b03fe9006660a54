"""A new bit from pair weights: the quadratic form, its smooth version and the spectral relaxation."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import _column_generation
from hashbench.learning.methods._column_generation import Perceptrons, flip_costs, flipped, pair_matrix, smoothed
from hashbench.learning.methods._pairs import Neighbours, random_neighbours


def drawn(seed: int = 0, m: int = 30) -> tuple[Neighbours, np.ndarray, np.ndarray]:
    """Neighbours, pair weights and inputs of ``m`` random examples of three classes."""
    random = np.random.default_rng(seed)
    labels = np.arange(m) % 3
    inputs = random.standard_normal((m, 6)) + labels[:, None]
    data = TrainingData(inputs, labels, 1.0, seed, Path(), execution=Execution("cpu"))
    neighbours = random_neighbours(data, 4, 5, random)
    return neighbours, random.standard_normal(neighbours.ids.shape), inputs - inputs.mean(axis=0)


def test_an_example_with_fewer_neighbours_takes_all_and_is_filled_up() -> None:
    labels = np.array([0, 0, 1, 1, 1, 2])
    data = TrainingData(np.zeros((6, 1)), labels, 1.0, 0, Path())
    neighbours = random_neighbours(data, 3, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(neighbours.n_relevant, [1, 1, 2, 2, 2, 0])
    np.testing.assert_array_equal(neighbours.n_irrelevant, [4, 4, 3, 3, 3, 0])  # the last has nothing to rank
    assert neighbours.r == 2
    assert neighbours.ids[0, 0] == 1
    np.testing.assert_array_equal(neighbours.is_filler.sum(axis=1), [1, 1, 1, 1, 1, 6])
    assert neighbours.n_ranked == 5


def test_the_quadratic_form_is_the_weight_of_the_pairs_that_differ() -> None:
    neighbours, weights, _ = drawn()
    matrix = pair_matrix(neighbours, weights)
    total = np.abs(weights).sum()
    for seed in range(5):
        bits = np.random.default_rng(seed).random(30) > 0.4
        h = np.where(bits, 1.0, -1.0)
        gain = sum(weights[i, n] for i in range(30) for n in range(9) if bits[i] != bits[neighbours.ids[i, n]])
        assert (weights.sum() / total - h @ (matrix @ h)) / 2 == pytest.approx(gain / total)


def test_the_gradient_of_the_smooth_value_is_that_of_differences() -> None:
    from scipy.optimize import check_grad

    neighbours, weights, inputs = drawn()
    matrix = pair_matrix(neighbours, weights)
    column = np.random.default_rng(1).standard_normal(6)
    error = check_grad(lambda v: smoothed(inputs, matrix, v)[0], lambda v: smoothed(inputs, matrix, v)[1], column)
    assert error < 1e-6


def test_the_spectral_relaxation_is_a_minimum() -> None:
    neighbours, weights, inputs = drawn()
    matrix = pair_matrix(neighbours, weights)
    ridge = 0.2
    perceptrons = Perceptrons(inputs, ridge, 0)
    both = np.column_stack([inputs, np.ones(30)])

    def ratio(v: np.ndarray) -> float:
        gram = both.T @ both
        values = both @ v
        return float(values @ (matrix @ values) / (v @ (gram + ridge * np.trace(gram) / 7 * np.eye(7)) @ v))

    best = perceptrons.spectral(matrix)
    assert np.square(both @ best).mean() == pytest.approx(1)
    random = np.random.default_rng(3)
    assert all(ratio(best) <= ratio(best + 0.3 * random.standard_normal(7)) for _ in range(200))


def test_what_another_processor_rounds_otherwise_changes_no_digit_of_a_perceptron(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    neighbours, weights, inputs = drawn(m=60)
    matrix = pair_matrix(neighbours, weights)
    perceptrons = Perceptrons(inputs, 0.1, 100)
    noise = []
    random = np.random.default_rng(5)
    exact = smoothed
    spectral = perceptrons.spectral

    def other(*arguments: Any) -> tuple[float, np.ndarray]:
        value, gradient = exact(*arguments)
        noise.append(random.standard_normal(8))
        return value * (1 + 1e-16 * noise[-1][-1]), gradient + 1e-15 * np.abs(gradient).max() * noise[-1][:-1]

    here = perceptrons.fit(matrix)
    monkeypatch.setattr(_column_generation, "smoothed", other)
    monkeypatch.setattr(perceptrons, "spectral", lambda matrix: spectral(matrix) * (1 + 1e-13 * random.random(7)))
    np.testing.assert_array_equal(perceptrons.fit(matrix), here)
    assert len(noise) > 10


def test_flips_end_where_no_flip_helps_and_costs_are_those_of_a_flip() -> None:
    neighbours, weights, _ = drawn()
    matrix = pair_matrix(neighbours, weights)
    start = np.where(np.random.default_rng(1).random(30) > 0.5, 1.0, -1.0)
    signs = flipped(matrix, start)
    assert signs @ (matrix @ signs) < start @ (matrix @ start)
    costs = flip_costs(matrix, signs)
    for example in range(30):
        other = signs.copy()
        other[example] *= -1
        change = other @ (matrix @ other) - signs @ (matrix @ signs)
        assert change >= -1e-12
        assert 4 * costs[example] == pytest.approx(change, abs=1e-12)
