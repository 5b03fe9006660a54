"""Similarity of pairs from two half Gaussians of the distances of all items: SSDH's objective."""

from collections.abc import Iterator
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from hashbench.learning.losses._objective import ItemObjective

BIN = 0.01  # of the histogram whose mode is the mean of both Gaussians
_BLOCK = 500  # items whose distances to all others are in memory at a time


class Objective(ItemObjective):
    """The mean over all pairs of a batch of |S_ij| (h_i . h_j / bits - S_ij)^2 [yang2018semantic].

    S is 1 where the cosine distance of two items is below ``lower``, -1 where it is above ``upper``, else 0, and such a
    pair does not count; an item is a pair with itself, as released. Both limits are those that ``limits`` returns.
    """

    def __init__(self, lower: float, upper: float) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of relaxed codes h [M, bits]; float64."""
        unit = normalize(self.vectors)
        wide = activations.double()
        distance = _distances(unit, unit)
        similarity = (distance < self.lower).double() - (distance > self.upper).double()
        return (similarity.abs() * (wide @ wide.T / wide.shape[1] - similarity).square()).mean()

    def logged(self) -> dict[str, float]:
        """The cosine distances below which two items are similar, and above which they are not."""
        return {"similar_below": round(self.lower, 4), "dissimilar_above": round(self.upper, 4)}


def sampled(items: NDArray[Any], most: int, seed: int) -> Tensor:
    """``most`` random ``items``, or all of them if there are fewer."""
    order = torch.randperm(len(items), generator=torch.Generator().manual_seed(seed))
    return torch.from_numpy(items)[order[:most]]


def limits(items: Tensor, alpha: float, beta: float) -> tuple[float, float]:
    """The limits m - ``alpha`` s_l and m + ``beta`` s_r of the cosine distances of all pairs of ``items`` [n, ...].

    m is the lower end of the fullest bin of width ``BIN`` (the first of several). Half a Gaussian with the mean m is
    fitted to the distances up to m, and half of another one to those above: s_l^2 and s_r^2 are the means of their
    squared differences from m, which is what mirroring them at m gives. An item is no pair with itself here; as
    released it is. No [n, n] matrix is built.
    """
    unit = normalize(items.flatten(1).double())
    counts = torch.zeros(round(2 / BIN) + 1, dtype=torch.int64)
    for distances in _blocks(unit):
        counts += torch.bincount((distances / BIN).long(), minlength=len(counts))
    mode = int(counts.argmax()) * BIN
    squares = torch.zeros(2, dtype=torch.float64)
    sizes = torch.zeros(2)
    for distances in _blocks(unit):
        for side, inside in enumerate((distances <= mode, distances > mode)):
            squares[side] += ((distances - mode).square() * inside).sum()
            sizes[side] += inside.sum()
    left, right = (squares / sizes.clamp(min=1)).sqrt().tolist()
    return mode - alpha * left, mode + beta * right


def _blocks(unit: Tensor) -> Iterator[Tensor]:
    """The distances of all pairs i != j of vectors of norm 1, block by block."""
    for start in range(0, len(unit), _BLOCK):
        distances = _distances(unit[start : start + _BLOCK], unit)
        yield distances[torch.arange(len(unit)) != start + torch.arange(len(distances))[:, None]]


def _distances(unit: Tensor, others: Tensor) -> Tensor:
    """The cosine distances 1 - x . y, from 0 to 2, of vectors of norm 1."""
    return (1 - unit @ others.T).clamp(0, 2)
