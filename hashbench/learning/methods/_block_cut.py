"""Minima over signs z of E(z) = 1/2 sum_{i != j} a_ij z_i z_j + sum_i u_i z_i, a symmetric (Lin et al. 2014).

Where a_ij <= 0 for all pairs of a block of examples, as affinity losses have it for relevant pairs, a minimum cut finds
the exact minimum over its signs. Couplings a and fields u are integers, as the maximum flow of SciPy: a cut is exact.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from hashbench.learning.contract import Floats
from hashbench.learning.methods._pairs import Bools

Ints = NDArray[np.int64]
Signs = NDArray[np.int8]


class Couplings(Protocol):
    """The symmetric couplings a [n, n]; their diagonal is zero."""

    def times(self, z: Floats) -> Floats:
        """The product a z [n] with z [n]; it is exact where z are signs."""

    def within(self, block: Ints) -> Ints:
        """The couplings [m, m] of the examples of a ``block`` [m], which are all relevant to each other."""

    def pull(self, block: Ints, values: Ints) -> Ints:
        """The sum [n] of the couplings of all examples to those of a ``block`` [m], times their ``values`` [m]."""


def submodular_blocks(pairs: Bools, block_size: int, random: np.random.Generator) -> list[Ints]:
    """Random blocks of at most ``block_size`` examples that are all relevant to each other by ``pairs`` bool[n, n]."""
    mutual = pairs & pairs.T
    order = random.permutation(len(pairs))
    is_free = np.ones(len(pairs), bool)
    blocks = []
    for first in order:
        if not is_free[first]:
            continue
        block = [first]
        fits = mutual[first] & is_free  # relevant to all before them in the block
        fits[first] = False
        while len(block) < block_size and fits.any():
            following = order[fits[order].argmax()]
            block.append(following)
            fits &= mutual[following]
            fits[following] = False
        is_free[block] = False
        blocks.append(np.array(block))
    return blocks


def energy(couplings: Ints, fields: Ints, signs: Signs | Ints) -> int:
    z = signs.astype(np.int64)
    return int(z @ (couplings @ z) // 2 + fields @ z)


def eigenvector_signs(couplings: Couplings, n: int, random: np.random.Generator) -> Signs:
    """Signs [n] to start from: of the eigenvector z with the least z^T a z of all z of its norm."""
    matrix = scipy.sparse.linalg.LinearOperator((n, n), matvec=lambda z: couplings.times(z.ravel()), dtype=np.float64)
    return least_eigenvector_signs(matrix, random)


def least_eigenvector_signs(matrix: Any, random: np.random.Generator) -> Signs:
    """The signs [n] of the eigenvector of the smallest eigenvalue of ``matrix`` [n, n], sparse or an operator."""
    _, vectors = scipy.sparse.linalg.eigsh(matrix, 1, which="SA", v0=random.standard_normal(matrix.shape[0]), tol=1e-2)
    return np.where(vectors[:, 0] > 0, 1, -1).astype(np.int8)


class Matrix(NamedTuple):
    """Couplings [n, n] that are held as a matrix: in float64, for NumPy would convert integers at every product."""

    couplings: Floats

    def times(self, z: Floats) -> Floats:
        return self.couplings @ z

    def within(self, block: Ints) -> Ints:
        return self.couplings[np.ix_(block, block)].astype(np.int64)

    def pull(self, block: Ints, values: Ints) -> Ints:
        # rows of a symmetric matrix in place of its columns: they are contiguous; the sums are exact
        return np.rint(values.astype(np.float64) @ self.couplings[block]).astype(np.int64)


def descend(couplings: Couplings, fields: Ints, signs: Signs, blocks: Sequence[Ints], sweeps: int) -> Signs:
    """``signs`` after at most ``sweeps`` times all ``blocks``, each set to its exact minimum given the others."""
    now = signs.astype(np.int64)
    force = np.rint(couplings.times(now.astype(np.float64))).astype(np.int64) + fields  # sum_j a_ij z_j + u_i
    for _ in range(sweeps):
        has_changed = False
        for block in blocks:
            within = couplings.within(block)
            outside = force[block] - within @ now[block]
            best = cut(within, outside).astype(np.int64)
            changed = best != now[block]
            if changed.any() and energy(within, outside, best) < energy(within, outside, now[block]):
                force += couplings.pull(block[changed], 2 * best[changed])
                now[block] = best
                has_changed = True
        if not has_changed:
            break
    return now.astype(np.int8)


def cut(couplings: Ints, fields: Ints) -> Signs:
    """The signs [m] with the least energy, exactly; no coupling may be above 0 and the diagonal must be 0."""
    signs = np.zeros(len(fields), np.int8)
    field = fields.copy()
    reach = -couplings.sum(axis=1)
    # a field that is as strong as all couplings together decides the sign; a minimum cut finds the rest
    settled = np.abs(field) >= reach
    while settled.any():
        signs[settled] = np.where(field[settled] > 0, -1, 1)
        field += couplings[:, settled] @ signs[settled]
        reach += couplings[:, settled].sum(axis=1)
        settled = (signs == 0) & (np.abs(field) >= reach)
    rest = np.flatnonzero(signs == 0)
    if len(rest):
        signs[rest] = _minimum_cut(couplings[np.ix_(rest, rest)], field[rest])
    return signs


def _minimum_cut(couplings: Ints, fields: Ints) -> Signs:
    """The signs with the least energy: the value of a cut is E(z) / 2 up to a constant, sign 1 beside the source."""
    if (fields >= 0).all() or (fields <= 0).all():  # equal signs lower every term
        return np.full(len(fields), -1 if fields.sum() > 0 else 1, np.int8)
    m = len(fields)
    capacity = np.zeros((m + 2, m + 2), np.int32)
    capacity[:m, :m] = -couplings
    capacity[m, :m] = np.maximum(-fields, 0)
    capacity[:m, m + 1] = np.maximum(fields, 0)
    arcs = scipy.sparse.csr_array(capacity)
    residual = arcs - scipy.sparse.csgraph.maximum_flow(arcs, m, m + 1).flow
    residual.eliminate_zeros()
    reached = scipy.sparse.csgraph.breadth_first_order(residual, m, return_predecessors=False)
    signs = np.full(m + 2, -1, np.int8)
    signs[reached] = 1
    return signs[:m]
