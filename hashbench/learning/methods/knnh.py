"""KNNH: hash functions under which learned prototypes tell the classes of examples, as their kNN do (Ding et al. 2015).

With h = tanh(W^T x) of an example and g of a prototype it lowers -sum_i log p_i - alpha (n / m) sum_j log q_j, over W
and the m prototypes. p_i is the share of the prototypes of the class of i in sum_j exp(theta^2 h_i . g_j), and q_j that
of the examples of the class of j in sum_i. The hash functions are linear; the paper has others with a kernel, too.
"""

import numpy as np
import scipy
from pydantic import Field
from threadpoolctl import threadpool_limits

from hashbench.foundation.lazy import Lazy
from hashbench.learning.contract import Floats, TrainingData, TrainingFailed
from hashbench.learning.methods._members import labelled_examples
from hashbench.learning.methods._pairs import Bools
from hashbench.learning.methods._shallow import Linear, ShallowSettings, shallow_method
from hashbench.learning.methods.itq_cca import canonical, rotated

cluster = Lazy("sklearn.cluster")

ROTATIONS = 50  # of the first projections, which are ITQ-CCA's


class Settings(ShallowSettings):
    """Each class has ``n_prototypes``; 1 / theta is ``theta_scale`` times the first codes' mean Hamming distance."""

    n_prototypes: int = Field(ge=1)
    theta_scale: float = Field(gt=0)
    alpha: float = Field(ge=0)
    ridge: float = Field(gt=0)  # of the first projections
    iterations: int = Field(ge=1)  # of L-BFGS, at most


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    labelled, members = labelled_examples("knnh", features, data, several=False)
    mean = labelled.mean(axis=0)
    scale = np.linalg.norm(labelled - mean, axis=1).mean()
    inputs = (labelled - mean) / scale
    d = labelled.shape[1]
    directions = canonical(inputs, members, settings.ridge)
    first = rotated(inputs, directions, settings.bits, ROTATIONS, data.seed)
    prototypes, classes = first_prototypes(inputs, members, settings.n_prototypes, data.seed)
    distance = mean_distance(inputs @ first)
    if distance == 0:
        raise TrainingFailed("knnh: the first codes of all training examples are equal, so theta is not defined")
    theta = 1 / (settings.theta_scale * distance)
    alpha = settings.alpha * len(inputs) / len(prototypes)
    same = members[:, classes] > 0

    def value(both: Floats) -> tuple[float, Floats]:
        w, z = np.split(both, [first.size])
        cost, by_w, by_z = objective(inputs, w.reshape(first.shape), z.reshape(-1, d), same, theta, alpha)
        return cost, np.concatenate([by_w.ravel(), by_z.ravel()])

    start = np.concatenate([first.ravel(), prototypes.ravel()])
    best = scipy.optimize.minimize(
        value, start, jac=True, method="L-BFGS-B", options={"maxiter": settings.iterations}
    ).x
    return Linear(mean, best[: first.size].reshape(first.shape) / scale)


def first_prototypes(inputs: Floats, members: Floats, n_each: int, seed: int) -> tuple[Floats, list[int]]:
    """Centres [m, d] of k-means in each class, as many as it has different examples if these are fewer; their class."""
    centres = []
    classes = []
    for c, member in enumerate(members.T):
        examples = inputs[member > 0]
        k = min(n_each, len(np.unique(examples, axis=0)))
        with threadpool_limits(1, user_api="openmp"):  # several threads add up in no fixed order
            centres.append(cluster.KMeans(k, n_init=3, random_state=seed % 2**32).fit(examples).cluster_centers_)
        classes += [c] * k
    return np.concatenate(centres), classes


def mean_distance(activations: Floats) -> float:
    """The mean Hamming distance of all ordered pairs of examples, (i, i) among them: sum_k 2 p_k (1 - p_k)."""
    ones = (activations > 0).mean(axis=0)
    return float((2 * ones * (1 - ones)).sum())


def objective(
    inputs: Floats, projection: Floats, prototypes: Floats, same: Bools, theta: float, alpha: float
) -> tuple[float, Floats, Floats]:
    """The value to minimise, and its gradients by W [d, bits] and by the prototypes [m, d].

    ``same`` bool[n, m]: whether a prototype is of the class of an example.
    """
    h = np.tanh(inputs @ projection)
    g = np.tanh(prototypes @ projection)
    products = theta**2 * h @ g.T
    of_class = np.where(same, products, -np.inf)
    value = 0.0
    pull = np.zeros(products.shape)
    for axis, weight in ((1, 1.0), (0, alpha)):
        whole = scipy.special.logsumexp(products, axis=axis, keepdims=True)
        part = scipy.special.logsumexp(of_class, axis=axis, keepdims=True)
        value += weight * float((whole - part).sum())
        pull += weight * (np.exp(products - whole) - np.exp(of_class - part))
    pull *= theta**2
    by_h = pull @ g * (1 - h**2)
    by_g = pull.T @ h * (1 - g**2)
    return value, inputs.T @ by_h + prototypes.T @ by_g, by_g @ projection.T


METHOD = shallow_method(Settings, _fit, Linear, supervision="labels")
