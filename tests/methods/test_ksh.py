"""KSH: the residual of the codes, its start and its objective, and what it refuses."""

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods import ksh

KERNEL = ksh.Settings(bits=6, features="pixels", hash_functions="kernel", n_anchors=20, iterations=100, tolerance=0.01)
LINEAR = KERNEL.model_copy(update={"hash_functions": "linear"})


def examples(n_classes: int = 3, n: int = 90) -> TrainingData:
    """Overlapping classes in 8 dimensions."""
    random = np.random.default_rng(5)
    labels = np.arange(n) % n_classes
    items = 1.5 * random.standard_normal((n_classes, 8))[labels] + random.standard_normal((n, 8))
    return data_of(items.astype(np.float32), labels)


def centred(data: TrainingData) -> Floats:
    features = data.items.astype(np.float64)
    return features - features.mean(axis=0)


def targets(data: TrainingData) -> Floats:
    return np.where(data.labels[:, None] == data.labels, 1.0, -1.0)


def codes(settings: ksh.Settings, data: TrainingData) -> Floats:
    return ksh.signs(ksh.METHOD.fit(settings, data).encode(data.items))


def test_residual_multiplies_as_the_matrix_that_it_is() -> None:
    data = examples()
    random = np.random.default_rng(1)
    target = targets(data)
    residual = ksh.first_residual(target, 6)
    dense = 6 * target
    for _ in range(4):
        values = random.standard_normal(90)
        code = ksh.signs(random.standard_normal(90))
        np.testing.assert_allclose(residual @ values, dense @ values, atol=1e-9)
        residual = residual._replace(codes=np.vstack([residual.codes, code]))
        dense = dense - np.outer(code, code)


def objective(vector: Floats, responses: Floats, matrix: Floats) -> float:
    code = ksh.signs(responses @ vector)
    return float(code @ matrix @ code)


def test_without_iterations_a_bit_is_the_first_generalised_eigenvector() -> None:
    """Equation 12 of the paper by scipy's solver: K^T R K a = lambda K^T K a, for R written out."""
    from scipy.linalg import eigh

    data = examples()
    responses = centred(data)
    matrix = 6 * targets(data)
    plain = LINEAR.model_copy(update={"iterations": 0})
    for vector in ksh.fit_bits(plain, responses, ksh.first_residual(targets(data), 6)):
        expected = eigh(responses.T @ matrix @ responses, responses.T @ responses)[1][:, -1]
        cosine = vector @ expected / np.linalg.norm(vector) / np.linalg.norm(expected)
        assert abs(cosine) == pytest.approx(1, abs=1e-8)
        assert np.square(responses @ vector).sum() == pytest.approx(90)
        code = ksh.signs(responses @ vector)
        matrix -= np.outer(code, code)


def test_optimisation_never_lowers_the_objective_of_the_start() -> None:
    data = examples()
    responses = centred(data)
    matrix = 6 * targets(data)
    gains = []
    for vector in ksh.fit_bits(LINEAR, responses, ksh.first_residual(targets(data), 6)):
        _, axes = np.linalg.eigh(responses.T @ responses)
        scaled = axes / np.sqrt(np.square(responses @ axes).sum(axis=0))
        start = scaled @ np.linalg.eigh(scaled.T @ responses.T @ matrix @ responses @ scaled)[1][:, -1]
        gains.append(objective(vector, responses, matrix) - objective(start, responses, matrix))
        code = ksh.signs(responses @ vector)
        matrix -= np.outer(code, code)
    assert min(gains) >= 0
    assert max(gains) > 0


@pytest.mark.parametrize("settings", [KERNEL, LINEAR])
def test_each_bit_brings_the_codes_closer_to_the_labels(settings: ksh.Settings) -> None:
    """||bits S - sum of y y^T||^2 falls with every bit, by 2 y^T R y - n^2: the identity behind the greedy bits."""
    data = examples()
    residual = 6 * targets(data)
    errors = []
    for code in codes(settings, data).T:
        errors.append(np.square(residual).sum())
        gain = 2 * code @ residual @ code - len(code) ** 2
        residual -= np.outer(code, code)
        assert np.square(residual).sum() == pytest.approx(errors[-1] - gain)
    assert (np.diff(errors) < 0).all()
