"""STHs: supervised self-taught hashing (Zhang, Wang, Cai, Lu 2010): codes of a graph, which linear SVMs then predict.

Edges join an example to its most similar relevant ones, by cosine W_ij. The codes are the v of (D - W) v = lambda D v
with the smallest lambda but the constant v, binarised at their medians. lambda = 0 is there once for each component of
the graph, so at least once for each class: the seed of the run draws the basis, and the signs of the other v. Those are
0 outside one component, so most examples lie at their median, 0, where the released code compares rounding errors.
"""

from typing import Literal

import numpy as np
import scipy
from pydantic import Field

from hashbench.foundation.progress import bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._machines import machines
from hashbench.learning.methods._pairs import Bools, Ints, relevant_pairs
from hashbench.learning.methods._shallow import Linear, ShallowSettings, require_bits, shallow_method

TINY = np.finfo(np.float64).tiny
EQUAL = 1e-9  # values of an eigenvector that are closer, relative to its largest one, differ by rounding only


class Settings(ShallowSettings):
    """Each example is joined to ``n_neighbours`` relevant ones; 0: to all."""

    n_neighbours: int = Field(ge=0)
    c: float = Field(gt=0)  # the cost of errors of the SVMs
    unit_norm: Literal[True]  # the SVMs see features divided by their norm, as the cosine does; a part of the name
    at_median: Literal["zero", "drawn"]  # the bits of examples at the median; drawn: so that half of all bits are 1


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


def eigenmap(graph: Floats, bits: int, random: np.random.Generator) -> Floats:
    """The vectors v [n, bits], drawn by ``random``; an example without a neighbour is a component of its own."""
    n_parts, part = scipy.sparse.csgraph.connected_components(graph, directed=False)
    degree = graph.sum(axis=1)
    root = np.sqrt(np.where(degree > 0, degree, 1))  # D^(1/2) v are orthonormal
    size = np.sqrt(np.bincount(part, root**2))
    # lambda = 0: vectors that are constant in each part, at right angles to the one that is the same in all
    n_constant = min(bits, n_parts - 1)
    everywhere = size / np.linalg.norm(size)
    drawn = random.standard_normal((n_parts, n_constant))
    basis, triangle = np.linalg.qr(drawn - np.outer(everywhere, everywhere @ drawn))
    basis *= np.sign(triangle.diagonal())  # so that every basis is as likely
    vectors = np.zeros((len(graph), bits))
    vectors[:, :n_constant] = (basis / size[:, None])[part]
    n_others = bits - n_constant
    parts = np.split(np.argsort(part, kind="stable"), np.cumsum(np.bincount(part))[:-1])
    others: list[tuple[float, Ints, Floats]] = []
    for ids in parts:
        others += _inside(graph, root, ids, n_others)
    others.sort(key=lambda eigenvector: -eigenvector[0])
    for k, (_, ids, vector) in enumerate(others[:n_others], n_constant):
        # drawn like this the sign does not depend on LAPACK's, which depends on the processor
        vectors[ids, k] = vector * np.sign(random.standard_normal(len(ids)) @ vector)
    return vectors


def _inside(graph: Floats, root: Floats, ids: Ints, most: int) -> list[tuple[float, Ints, Floats]]:
    """The largest ``most`` values 1 - lambda of the component ``ids``, with ``ids`` and v; without the constant v."""
    n = len(ids)
    if min(most, n - 1) == 0:
        return []
    root = root[ids]
    constant = root / np.linalg.norm(root)
    normalised = graph[np.ix_(ids, ids)] / np.outer(root, root)
    # the constant's eigenvalue, 1, becomes -2, less than any other one
    values, vectors = scipy.linalg.eigh(
        normalised - 3 * np.outer(constant, constant), subset_by_index=[max(1, n - most), n - 1]
    )
    return [(float(value), ids, vector / root) for value, vector in zip(values, vectors.T, strict=True)]


def binarised(vectors: Floats, at_median: str, random: np.random.Generator) -> Bools:
    """bool[n, bits]: whether an entry is above the median of its column by more than rounding, or is drawn there."""
    median = np.median(vectors, axis=0)
    margin = EQUAL * np.abs(vectors).max(axis=0)
    above = np.asarray(vectors > median + margin)
    if at_median == "drawn":
        lots = np.where(above | (vectors < median - margin), 1.0, random.random(vectors.shape))
        above |= lots.argsort(axis=0).argsort(axis=0) < len(vectors) // 2 - above.sum(axis=0)
    return above


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    relevant = relevant_pairs(data)
    require_bits(settings.bits, len(features) - 1, "eigenvectors")
    random = np.random.default_rng(data.seed)
    vectors = eigenmap(neighbour_graph(features, relevant, settings.n_neighbours), settings.bits, random)
    codes = binarised(vectors, settings.at_median, random)
    inputs = unit_rows(features)
    signs = np.where(codes, 1, -1).astype(np.int8)
    start = np.zeros((inputs.shape[1], settings.bits))
    with bar("STHs", "step", shown=data.execution.progress) as done:
        # to 1e-7, because 1e-5 leaves AP 0.008 off for C = 28 on the features of a network
        weights = machines(inputs, signs, start, settings.c, 1000, 1e-7, lambda _: done.update())
    return Linear(np.zeros(features.shape[1]), weights)


METHOD = shallow_method(Settings, _fit, Linear, supervision="relevance")
