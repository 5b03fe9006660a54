"""A new bit of boosted trees from weights of pairs, in two steps: signs of the training examples, then trees for them.

The first step has no hash function: it seeks signs z with a small z'W z, where W holds the pair weights as in
``_pair_bits``. It starts from the eigenvector of the smallest eigenvalue, and then flips single examples while that
lowers z'W z. The second step is a classifier for z; an error at example i costs what the flip of z_i would cost.
"""

import numpy as np

from hashbench.contract import Floats
from hashbench.methods._block_cut import least_eigenvector_signs
from hashbench.methods._pair_bits import PairMatrix

FLIPS = 20  # flips for each example at most; far fewer are needed


def best_signs(matrix: PairMatrix, random: np.random.Generator) -> Floats:
    """Signs float64[m] from which no flip of one example lowers z'W z; ``matrix`` is the sparse W [m, m]."""
    return flipped(matrix, least_eigenvector_signs(matrix, random).astype(np.float64))


def flipped(matrix: PairMatrix, signs: Floats) -> Floats:
    """``signs`` [m] after flips: each lowers z'W z by the most that one flip can."""
    signs, diagonal = signs.copy(), matrix.diagonal()
    pulled = matrix @ signs
    for _ in range(FLIPS * len(signs)):
        gain = signs * pulled - diagonal  # a flip lowers z'W z by 4 times this
        example = int(gain.argmax())
        if gain[example] <= 1e-12:
            break
        signs[example] = -signs[example]
        row = slice(matrix.indptr[example], matrix.indptr[example + 1])
        pulled[matrix.indices[row]] += 2 * signs[example] * matrix.data[row]
    return signs


def flip_costs(matrix: PairMatrix, signs: Floats) -> Floats:
    """float64[m]: by how much z'W z grows when one example is flipped, divided by 4; 0 or more at a minimum."""
    return np.maximum(matrix.diagonal() - signs * (matrix @ signs), 0)
