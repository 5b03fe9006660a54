"""The support vector machines of all bits, beside those of LIBLINEAR."""

import numpy as np
import pytest

from hashbench.methods._machines import machines


@pytest.mark.parametrize(("c", "tolerance", "atol"), [(0.7, 1e-5, 2e-2), (0.7, 1e-7, 2e-3), (30.0, 1e-9, 2e-3)])
def test_machines_are_those_of_liblinear(c: float, tolerance: float, atol: float) -> None:
    from sklearn.svm import LinearSVC

    random = np.random.default_rng(0)
    inputs = np.column_stack([random.standard_normal((80, 4)), np.ones(80)])
    codes = np.where(inputs @ random.standard_normal((5, 3)) + random.standard_normal((80, 3)) > 0, 1, -1)
    actual = machines(inputs, codes.astype(np.int8), np.zeros((5, 3)), c, 1000, tolerance)
    for bit in range(3):
        library = LinearSVC(C=c, dual=False, fit_intercept=False, tol=1e-8).fit(inputs, codes[:, bit])
        np.testing.assert_allclose(actual[:, bit], library.coef_[0], atol=atol)


def test_equal_bits_of_all_examples_and_the_steps_that_are_told() -> None:
    steps = []
    inputs = np.eye(3)
    codes = np.ones((3, 2), np.int8)
    actual = machines(inputs, codes, np.zeros((3, 2)), 10.0, 50, 1e-7, lambda w: steps.append(w.copy()))
    np.testing.assert_allclose(actual, 20 / 21, atol=1e-3)  # w + 2c (w - 1) = 0
    assert 1 <= len(steps) <= 50
