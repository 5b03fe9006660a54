"""RBF kernel features: the responses of an item to random training examples, the anchors (Liu et al. 2012, KSH)."""

from dataclasses import dataclass

import numpy as np

from hashbench.contract import Floats
from hashbench.foundation.errors import HashbenchError


@dataclass(frozen=True, eq=False)
class Kernel:
    """The responses exp(-||x - a||^2 / (2 bandwidth)) to the ``anchors`` [m, d]."""

    anchors: Floats
    bandwidth: Floats  # float64[], in squared units of the features

    def __call__(self, features: Floats) -> Floats:
        """Responses float64[n, m] of ``features`` [n, d]."""
        return np.exp(squared_distances(features, self.anchors) / (-2 * self.bandwidth))


def random_kernel(features: Floats, n_anchors: int, random: np.random.Generator) -> Kernel:
    """The kernel of ``n_anchors`` random training examples.

    Its bandwidth is the mean squared distance of the training examples to the anchors, as in the released code of KSH
    (``KSH_demo.m``), which does not square it again.
    """
    require_anchors(n_anchors, len(features))
    anchors = features[random.choice(len(features), n_anchors, replace=False)]
    return Kernel(anchors, np.asarray(squared_distances(features, anchors).mean()))


def require_anchors(n_anchors: int, n_examples: int) -> None:
    """Raises HashbenchError if there are fewer training examples than anchors, which are drawn from them."""
    if n_anchors > n_examples:
        raise HashbenchError(f"{n_anchors} anchors from {n_examples} training examples: at most as many anchors")


def squared_distances(items: Floats, others: Floats) -> Floats:
    """Squared Euclidean distances float64[n, m] of ``items`` [n, d] to ``others`` [m, d], never below 0."""
    products = items @ others.T
    products *= -2
    products += np.square(items).sum(axis=1)[:, None]
    products += np.square(others).sum(axis=1)
    return np.maximum(products, 0, out=products)
