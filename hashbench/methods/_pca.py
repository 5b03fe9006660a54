"""The principal components of the training features."""

import numpy as np

from hashbench.contract import Floats


def principal_components(features: Floats) -> tuple[Floats, Floats]:
    """The mean [d] of ``features`` [n, d] and their principal axes [d, r] as columns, that of most variance first.

    r is the rank of the centred features: along every other axis they do not vary, and a sign there would be noise.
    """
    mean = features.mean(axis=0)
    _, scales, axes = np.linalg.svd(features - mean, full_matrices=False)
    varies = scales > scales[0] * max(features.shape) * np.finfo(np.float64).eps
    return mean, axes[varies].T
