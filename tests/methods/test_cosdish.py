"""COSDISH: its binary programs against the released algorithm and all codes, and the bits of the others."""

from itertools import combinations

import numpy as np
import pytest
from support.fits import data_of

from hashbench.learning.contract import Floats
from hashbench.learning.methods import METHODS, cosdish

LABELS = np.arange(60) % 3
SETTINGS = cosdish.Settings(features="pixels", bits=6, samples=10, alternations=3, ridge=1.0)


def program(seed: int, m: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    half = random.standard_normal((m, m))
    return half + half.T, 3 * random.standard_normal(m)


def cost(code: Floats, quadratic: Floats, linear: Floats) -> float:
    """b^T Q b + p^T b without the diagonal of Q."""
    m = len(code)
    pairs = sum(quadratic[i, j] * code[i] * code[j] for i in range(m) for j in range(m) if i != j)
    return float(pairs + linear @ code)


def augmented(quadratic: Floats, linear: Floats) -> Floats:
    """A [m + 1, m + 1] of the program in u, b = 2 u - 1."""
    m = len(linear)
    form = np.zeros((m + 1, m + 1))
    for i in range(m):
        for j in range(m):
            form[i, j] = 4 * quadratic[i, j] * (i != j)
        form[i, m] = form[m, i] = linear[i] - 2 * sum(quadratic[i, j] for j in range(m) if j != i)
    return form


def by_clustering(quadratic: Floats, linear: Floats) -> tuple[Floats, Floats]:
    """The released algorithm on the columns of the Cholesky root; the columns, and whether each is chosen."""
    form = augmented(quadratic, linear)
    n = len(form)
    points = np.linalg.cholesky(10_000 * np.eye(n) - form / np.abs(form).max()).T
    best = np.zeros(n)
    least = np.inf
    for centre in range(n):
        distances = [((points[:, j] - points[:, centre]) ** 2).sum() for j in range(n - 1)]
        chosen = np.zeros(n)
        chosen[np.argsort(distances)[: (n + 1) // 2 - 1]] = 1
        chosen[-1] = 1
        scatter = scatter_of(points, chosen)
        if scatter < least - 1e-9:
            best = chosen
            least = scatter
    return points, best


def scatter_of(points: Floats, chosen: Floats) -> float:
    within = points[:, chosen > 0]
    return float(((within - within.mean(axis=1, keepdims=True)) ** 2).sum())


@pytest.mark.parametrize("m", [4, 5, 8])
@pytest.mark.parametrize("seed", range(5))
def test_a_program_is_solved_as_released(m: int, seed: int) -> None:
    quadratic, linear = program(seed, m)
    _, chosen = by_clustering(quadratic, linear)
    actual = cosdish.half_ones(quadratic, linear)
    assert cost(actual, quadratic, linear) == pytest.approx(cost(2 * chosen[:-1] - 1, quadratic, linear))


def test_the_programs_are_those_of_the_residual() -> None:
    """For each bit ||R - b b^T||^2 + ||R' - c b^T||^2 is b^T Q b + p^T b and a constant."""
    random = np.random.default_rng(0)
    within = random.standard_normal((4, 4))
    cross = random.standard_normal((9, 4))
    others = random.choice([-1.0, 1], (9, 4))
    within = within + within.T
    actual = cosdish.sampled_codes(within, cross, others)
    inner = 4 * within
    outer = 4 * cross
    for k in range(4):
        balanced = [2.0 * np.isin(np.arange(4), ones) - 1 for ones in combinations(range(4), 2)]

        def error(code: Floats, inner: Floats, outer: Floats, c: Floats) -> float:
            return float(((inner - np.outer(code, code)) ** 2).sum() + ((outer - np.outer(c, code)) ** 2).sum())

        quadratic = -2 * inner
        linear = -2 * outer.T @ others[:, k]
        errors = [error(code, inner, outer, others[:, k]) for code in balanced]
        costs = [cost(code, quadratic, linear) for code in balanced]
        np.testing.assert_allclose(np.diff(errors), np.diff(costs))
        np.testing.assert_array_equal(actual[:, k], cosdish.half_ones(quadratic, linear))
        inner = inner - np.outer(actual[:, k], actual[:, k])
        outer = outer - np.outer(others[:, k], actual[:, k])


def test_fit_is_the_alternation_transcribed() -> None:
    features = np.random.default_rng(2).standard_normal((60, 4))
    bits = 6
    random = np.random.default_rng(0)
    codes = random.choice([-1.0, 1.0], (60, bits))
    for _ in range(2):
        sample = random.choice(60, bits, replace=False)
        relevant = (LABELS[:, None] == LABELS[sample]).astype(float)
        weights = np.where(relevant > 0, 1.0, -relevant.sum() / (1 - relevant).sum())
        others = [i for i in range(60) if i not in sample]
        for _ in range(3):
            codes[sample] = cosdish.sampled_codes(weights[sample], weights[others], codes[others])
            for i in others:
                for k in range(bits):
                    total = sum(weights[i, j] * codes[sample[j], k] for j in range(bits))
                    codes[i, k] = codes[i, k] if abs(total) < 1e-5 else np.sign(total)
    inputs = (features - features.mean(axis=0)) / features.std(axis=0)
    expected = inputs @ np.linalg.inv(inputs.T @ inputs + 3 * np.eye(4)) @ inputs.T @ codes
    settings = SETTINGS.model_copy(update={"samples": 2, "ridge": 3.0})
    hasher = METHODS.get("cosdish").fit(settings, data_of(features, LABELS))
    np.testing.assert_allclose(hasher.encode(features), expected, rtol=1e-4, atol=1e-6)  # type: ignore[attr-defined]
