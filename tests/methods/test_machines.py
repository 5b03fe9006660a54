"""The support vector machines of all bits, beside those of LIBLINEAR."""

import numpy as np
import pytest

from hashbench.learning.methods._machines import machines


@pytest.mark.parametrize("c, tolerance, atol", [(0.7, 1e-5, 2e-2), (0.7, 1e-7, 2e-3), (30.0, 1e-9, 2e-3)])
def test_machines_are_those_of_liblinear(c: float, tolerance: float, atol: float) -> None:
    from sklearn.svm import LinearSVC

    random = np.random.default_rng(0)
    inputs = np.column_stack([random.standard_normal((80, 4)), np.ones(80)])
    codes = np.where(inputs @ random.standard_normal((5, 3)) + random.standard_normal((80, 3)) > 0, 1, -1)
    actual = machines(inputs, codes.astype(np.int8), np.zeros((5, 3)), c, 1000, tolerance)
    for bit in range(3):
        library = LinearSVC(C=c, dual=False, fit_intercept=False, tol=1e-8).fit(inputs, codes[:, bit])
        np.testing.assert_allclose(actual[:, bit], library.coef_[0], atol=atol)
