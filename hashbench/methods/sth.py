"""STHs: supervised self-taught hashing (Zhang, Wang, Cai, Lu 2010): codes of a graph, which linear SVMs then predict.

Edges join an example to its most similar relevant ones, by cosine W_ij. The codes are the v of (D - W) v = lambda D v
with the smallest lambda but the first, binarised at their medians. The released code compares rounding with the median
where v is 0 in all classes but one, which gives random bits; here rounding counts as 0.
"""

import numpy as np
from pydantic import Field

from hashbench.contract import Floats, TrainingData
from hashbench.methods._pairs import Bools, relevant_pairs
from hashbench.methods._shallow import Linear, ShallowSettings, columns, require_bits, shallow_method

TINY = np.finfo(np.float64).tiny
EQUAL = 1e-9  # values of an eigenvector that are closer, relative to its largest one, differ by rounding only


class Settings(ShallowSettings):
    """Each example is joined to ``n_neighbours`` relevant ones; 0: to all."""

    n_neighbours: int = Field(ge=0)
    c: float = Field(gt=0)  # the cost of errors of the SVMs
    unit_norm: bool  # whether the SVMs see features that are divided by their norm, as the cosine does


def unit_rows(features: Floats) -> Floats:
    """``features`` [n, d], each row divided by its norm."""
    return features / np.maximum(np.linalg.norm(features, axis=1, keepdims=True), TINY)


def neighbour_graph(features: Floats, relevant: Bools, n_neighbours: int) -> Floats:
    """The weights W [n, n]: the cosine where j is one of the nearest relevant examples of i, or i of j; else 0."""
    unit = unit_rows(features)
    cosine = unit @ unit.T
    keys = np.where(relevant & ~np.eye(len(unit), dtype=bool), cosine, -np.inf)
    if 0 < n_neighbours < len(unit):
        bound = np.partition(keys, -n_neighbours, axis=1)[:, -n_neighbours]
        keys[keys < bound[:, None]] = -np.inf
    chosen = keys > 0  # an opposite or orthogonal direction is no neighbour: a weight is above 0
    return np.where(chosen | chosen.T, cosine, 0)


def eigenmap(graph: Floats, bits: int) -> Floats:
    """The vectors v [n, bits]; an example without a neighbour has its own, which is 1 there and 0 elsewhere."""
    from scipy.linalg import eigh

    n, degree = len(graph), graph.sum(axis=1)
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1))
    normalised = graph * np.outer(scale, scale) + np.diag(np.where(degree > 0, 0.0, 1.0))
    # the largest eigenvalues 1 - lambda of D^-1/2 W D^-1/2, in rising order
    _, vectors = eigh(normalised, subset_by_index=[n - 1 - bits, n - 1])
    return np.asarray(vectors[:, -2::-1] * scale[:, None])


def above_median(vectors: Floats) -> Bools:
    """bool[n, bits]: whether an entry is above the median of its column by more than rounding."""
    margin = EQUAL * np.abs(vectors).max(axis=0)
    return np.asarray(vectors > np.median(vectors, axis=0) + margin)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    relevant = relevant_pairs(data)
    require_bits(settings.bits, len(features) - 1, "eigenvectors")
    codes = above_median(eigenmap(neighbour_graph(features, relevant, settings.n_neighbours), settings.bits))
    inputs = unit_rows(features) if settings.unit_norm else features
    directions = (_svm(settings, inputs, code) for code in codes.T)
    return Linear(np.zeros(features.shape[1]), columns("STHs", directions, settings.bits, shown=data.progress))


def _svm(settings: Settings, inputs: Floats, code: Bools) -> Floats:
    """The weights [d] of the linear SVM that predicts ``code`` [n], without an offset; 0 if all its bits are equal."""
    from sklearn.svm import LinearSVC

    if code.all() or not code.any():
        return np.zeros(inputs.shape[1])
    svm = LinearSVC(C=settings.c, dual=False, fit_intercept=False).fit(inputs, code)
    return np.asarray(svm.coef_[0], np.float64)


METHOD = shallow_method(Settings, _fit, Linear, supervision="relevance")
