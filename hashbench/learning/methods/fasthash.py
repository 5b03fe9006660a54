"""FastHash: codes by graph cuts, bit by bit, and boosted trees that fit them (Lin et al. 2014).

Step 1 of bit r seeks the signs z_i of the training examples with the least loss of their first r bits, summed over
ordered pairs: a constant plus a_ij z_i z_j, where a_ij is half of the loss at 1 minus the loss at -1. Step 2 fits trees
to these signs, and their signs replace them before the next bit, which corrects the mistakes of the trees.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._block_cut import Matrix, descend, eigenvector_signs, submodular_blocks
from hashbench.learning.methods._pairs import Bools, relevant_pairs
from hashbench.learning.methods._shallow import shallow_method
from hashbench.learning.methods._trees import Trees, TreeSettings, binned, boosted, stacked

Loss = Literal["ksh", "hinge"]
Products = NDArray[np.int32]
KINDS = np.array([[False], [True]])  # of pairs


class Settings(TreeSettings):
    """Blocks of the graph cuts have at most ``block_size`` examples; a bit ends after ``sweeps`` times all blocks."""

    loss: Loss
    block_size: int = Field(ge=1)
    sweeps: int = Field(ge=1)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Trees:
    pairs = relevant_pairs(data)
    random = np.random.default_rng(data.seed)
    blocks = submodular_blocks(pairs, settings.block_size, random)
    examples = binned(features)
    products = np.zeros(pairs.shape, np.int32)
    no_fields = np.zeros(len(pairs), np.int64)
    n_relevant = pairs.astype(np.int8) + pairs.T
    bits = []
    for bit in with_bar(range(settings.bits), "fit", "bit", shown=data.execution.progress):
        couplings = Matrix(coupled(products, n_relevant, bit + 1, settings.loss))
        start = eigenvector_signs(couplings, len(pairs), random)
        wanted = descend(couplings, no_fields, start, blocks, settings.sweeps)
        bits.append(boosted(examples, wanted.astype(np.float64), settings, random))
        signs = np.where(bits[-1].scores > 0, 1, -1).astype(np.int32)
        products += np.multiply.outer(signs, signs)
    return stacked(bits)


def losses(products: Products, pairs: Bools, r: int, loss: Loss) -> Products:
    """Four times the loss of ``r`` bits: ksh (r y - s)^2; hinge d^2, irrelevant max(r/2 - d, 0)^2, d = (r - s)/2."""
    if loss == "ksh":
        return 4 * np.square(np.where(pairs, np.int32(r), np.int32(-r)) - products)
    return np.square(np.where(pairs, r - products, np.maximum(products, 0)))


def coupled(products: Products, n_relevant: NDArray[np.int8], r: int, loss: Loss) -> Floats:
    """The couplings [n, n] of bit ``r``: E is twice the sum of ``losses`` over ordered pairs, up to a constant.

    ``n_relevant`` [n, n] of the pairs (i, j) and (j, i) are relevant: 0, 1 or 2. A coupling depends on it and on the
    product alone, so each that there can be is computed once.
    """
    every = np.arange(-r, r + 1, dtype=np.int32)
    irrelevant, relevant = (losses(every + 1, pairs, r, loss) - losses(every - 1, pairs, r, loss) for pairs in KINDS)
    table = np.stack([2 * irrelevant, irrelevant + relevant, 2 * relevant]).astype(np.float64)
    couplings = np.empty(products.shape)
    for values, kinds, of_row in zip(couplings, n_relevant, products, strict=True):
        values[:] = table[kinds, of_row + r]
    np.fill_diagonal(couplings, 0)
    return couplings


METHOD = shallow_method(Settings, _fit, Trees, supervision="relevance")
