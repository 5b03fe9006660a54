"""KNNH: hash functions under which learned prototypes tell the classes of examples, as their kNN do (Ding et al. 2015).

With h = tanh(W^T x) of an example and g of a prototype it lowers -sum_i log p_i - alpha (n / m) sum_j log q_j, over W
and the m prototypes. p_i is the share of the prototypes of the class of i in sum_j exp(theta^2 h_i . g_j), and q_j that
of the examples of the class of j in sum_i. The hash functions are linear; the paper has others with a kernel, too.
"""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from hashbench.contract import Floats, TrainingData, TrainingFailed
from hashbench.methods._members import labelled_examples
from hashbench.methods._pairs import Bools
from hashbench.methods._shallow import Linear, ShallowSettings, shallow_method
from hashbench.methods.itq_cca import canonical, rotated

Indices = NDArray[np.int64]

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
    pairs = ClassPairs.of(members[:, classes] > 0)

    def value(both: Floats) -> tuple[float, Floats]:
        w, z = np.split(both, [first.size])
        cost, by_w, by_z = objective(inputs, w.reshape(first.shape), z.reshape(-1, d), pairs, theta, alpha)
        return cost, np.concatenate([by_w.ravel(), by_z.ravel()])

    start = np.concatenate([first.ravel(), prototypes.ravel()])
    best = scipy.optimize.minimize(
        value, start, jac=True, method="L-BFGS-B", options={"maxiter": settings.iterations}
    ).x
    return Linear(mean, best[: first.size].reshape(first.shape) / scale)


def first_prototypes(inputs: Floats, members: Floats, n_each: int, seed: int) -> tuple[Floats, list[int]]:
    """Centres [m, d] of k-means in each class, as many as it has different examples if these are fewer; their class."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    centres = []
    classes = []
    for c, member in enumerate(members.T):
        examples = inputs[member > 0]
        k = min(n_each, len(np.unique(examples, axis=0)))
        with threadpool_limits(1, user_api="openmp"):  # several threads add up in no fixed order
            centres.append(KMeans(k, n_init=3, random_state=seed % 2**32).fit(examples).cluster_centers_)
        classes += [c] * k
    return np.concatenate(centres), classes


def mean_distance(activations: Floats) -> float:
    """The mean Hamming distance of all ordered pairs of examples, (i, i) among them: sum_k 2 p_k (1 - p_k)."""
    ones = (activations > 0).mean(axis=0)
    return float((2 * ones * (1 - ones)).sum())


class ClassPairs(NamedTuple):
    """The pairs of an example and a prototype of its class, row by row, and where the next row or column begins."""

    rows: Indices
    columns: Indices
    by_column: Indices  # the pairs, column by column
    starts: tuple[Indices, Indices]  # of the columns in ``by_column``, and of the rows
    space: Floats  # [n, m], 0 but at the pairs

    @classmethod
    def of(cls, same: Bools) -> "ClassPairs":
        """The pairs where ``same`` bool[n, m]; each row and each column has one."""
        rows, columns = np.nonzero(same)
        by_column = np.argsort(columns, kind="stable")
        starts = [np.cumsum(counts) - counts for counts in (same.sum(axis=0), same.sum(axis=1))]
        return cls(rows, columns, by_column, (starts[0], starts[1]), np.zeros(same.shape))

    def log_sum_exp(self, values: Floats, axis: int) -> Floats:
        """The log sum exp of the ``values`` of the pairs of each column (``axis`` 0) or row, for each pair.

        The sums are those of rows and columns whose other entries are exp(-inf) = 0, in the same order.
        """
        ordered = values[self.by_column] if axis == 0 else values
        largest = np.maximum.reduceat(ordered, self.starts[axis])
        number = self.columns if axis == 0 else self.rows
        shifted = values - largest[number]
        terms = np.exp(shifted)
        is_largest = shifted == 0
        terms[is_largest] = 0
        self.space[self.rows, self.columns] = terms
        n_largest = np.bincount(number[is_largest], minlength=len(largest))
        return _joined(self.space.sum(axis=axis), n_largest, largest)[number]


def log_sum_exp(values: Floats, axis: int) -> Floats:
    """The log sum exp of ``values`` [n, m], which are finite, along the ``axis``, which stays with length 1.

    As ``scipy.special.logsumexp``, which computes all exponentials twice: once for values that are not.
    """
    largest = values.max(axis=axis, keepdims=True)
    shifted = values - largest
    is_largest = shifted == 0
    terms = np.exp(shifted, out=shifted)
    terms[is_largest] = 0
    return _joined(terms.sum(axis=axis, keepdims=True), is_largest.sum(axis=axis, keepdims=True), largest)


def _joined(others: Floats, n_largest: Indices, largest: Floats) -> Floats:
    """The log sum exp from the sum of the ``others`` over the largest one, of which there are ``n_largest``."""
    return np.asarray(np.log1p(others / n_largest) + np.log(n_largest.astype(np.float64)) + largest)


def objective(
    inputs: Floats, projection: Floats, prototypes: Floats, pairs: ClassPairs, theta: float, alpha: float
) -> tuple[float, Floats, Floats]:
    """The value to minimise, and its gradients by W [d, bits] and by the prototypes [m, d]."""
    h = np.tanh(inputs @ projection)
    g = np.tanh(prototypes @ projection)
    products = theta**2 * h @ g.T
    of_pairs = products[pairs.rows, pairs.columns]
    value = 0.0
    pull = np.zeros(products.shape)
    for axis, weight in ((1, 1.0), (0, alpha)):
        whole = log_sum_exp(products, axis)
        part = pairs.log_sum_exp(of_pairs, axis)
        first = pairs.starts[axis]
        if axis == 0:
            first = pairs.by_column[first]
        of_line = part[first]  # one a column, or a row
        value += weight * float((whole - np.expand_dims(of_line, axis)).sum())
        share = products - whole
        np.exp(share, out=share)
        share[pairs.rows, pairs.columns] -= np.exp(of_pairs - part)
        share *= weight
        pull += share
    pull *= theta**2
    by_h = pull @ g * (1 - h**2)
    by_g = pull.T @ h * (1 - g**2)
    return value, inputs.T @ by_h + prototypes.T @ by_g, by_g @ projection.T


METHOD = shallow_method(Settings, _fit, Linear, supervision="labels")
