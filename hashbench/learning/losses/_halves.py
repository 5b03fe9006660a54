"""Pairs of a batch whose codes shall be as near as their items: GreedyHash and BiHalf without labels."""

from torch import Tensor
from torch.nn.functional import cosine_similarity


def cosine_gap(codes: Tensor, vectors: Tensor) -> Tensor:
    """The mean of (cos(b_i, b_j) - cos(x_i, x_j))^2 over the pairs (i, i + M // 2), i < M // 2, of a batch.

    ``codes`` are b [M, bits], ``vectors`` x [M, d]. The last example of an odd batch is in no pair; a batch of one has
    none, and its loss and gradient are 0. The cosine with a vector of zeros is 0 [su2018greedy, li2021deep].
    """
    half = len(codes) // 2
    first = slice(half)
    second = slice(half, 2 * half)
    vectors = vectors.detach()
    of_codes = cosine_similarity(codes[first], codes[second], dim=1)
    of_vectors = cosine_similarity(vectors[first], vectors[second], dim=1)
    return (of_codes - of_vectors).square().sum() / max(1, half)
