"""Linear support vector machines with squared hinges: those of all bits in one problem."""

from collections.abc import Callable

import numpy as np
import scipy

from hashbench.learning.contract import Floats
from hashbench.learning.methods._block_cut import Signs


def machines(
    inputs: Floats,
    codes: Signs,
    start: Floats,
    c: float,
    iterations: int,
    tolerance: float,
    step: Callable[[Floats], object] | None = None,
) -> Floats:
    """The w [d, bits] that minimise |w|^2 / 2 + c sum of max(0, 1 - codes * (inputs @ w))^2, by L-BFGS from ``start``.

    ``inputs`` are [n, d], ``codes`` -1 or +1 [n, bits]. It ends after ``iterations``, or when a step lowers the
    objective by less than ``tolerance``, relative to its value; ``step`` is called after each. LIBLINEAR solves the
    same problem bit by bit.
    """
    signs = codes.astype(np.float64)

    def objective(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        slack = np.maximum(1 - signs * (inputs @ weights), 0)
        gradient = weights - 2 * c * (inputs.T @ (signs * slack))
        return 0.5 * np.square(weights).sum() + c * np.square(slack).sum(), gradient.ravel()

    options = {"maxiter": iterations, "ftol": tolerance}
    solved = scipy.optimize.minimize(
        objective, start.ravel(), jac=True, method="L-BFGS-B", options=options, callback=step
    )
    return np.asarray(solved.x).reshape(start.shape)
