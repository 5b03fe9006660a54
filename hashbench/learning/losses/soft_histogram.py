"""The soft histogram of relaxed distances in a minibatch, computed by a scatter: O(M^2) for any number of bins."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

# If a group of tied items has less mass than this, a quotient 0 / 0 is replaced by its limit.
SMALL_GROUP = 1e-6
_ROUNDING = 1e-6  # how far rounding to float32 may move a distance out of range, relative to the largest distance


def cumulative_before(cumulative: Tensor) -> Tensor:
    """C_{d-1} from C_d, [M, B]: the columns are shifted (nothing is subtracted), so C_{-1} is exactly 0."""
    return pad(cumulative, (1, 0))[:, :-1]


def relaxed_distance(relaxed: Tensor) -> Tensor:
    """The relaxed Hamming distances (bits - phi phi^T) / 2, [M, M] in [0, bits] up to rounding; never bfloat16."""
    with torch.autocast(relaxed.device.type, enabled=False):
        wide = relaxed.to(torch.promote_types(relaxed.dtype, torch.float32))
        half = wide.new_full((1, 1), wide.shape[1] / 2)
        return torch.addmm(half, wide, wide.T, alpha=-0.5)


def soft_histogram(
    distance: Tensor, level: Tensor, *, n_levels: int, n_bits: int, n_bins: int | None = None, delta: float = 1.0
) -> Tensor:
    """The soft histogram c[i, d, v], float64[M, n_bins + 1, n_levels], over the other examples j != i.

    Bin d is centred at d * n_bits / n_bins (None: n_bits). Each distance, float[M, M], clamped to [0, n_bits], is
    spread over bins by a triangle of half-width ``delta`` >= 1 bins (he2018tieaware, eq. 14): at delta = 1 over the two
    nearest bins, with weights that sum to 1; at a larger delta over up to 2 * delta bins, with weights divided by
    delta, so that they sum to about 1 (less at the ends). At delta = 1 and n_bins = n_bits a whole distance falls into
    its own bin, and the histogram of binary codes is the integer one. ``level`` int64[M, M] are indices 0 .. n_levels -
    1; the diagonal is ignored.

    At delta = 1 the gradient with respect to a distance is the difference between the gradients of its two bins,
    divided by the bin width. At the centre of a bin it is the one-sided gradient towards larger distances, at n_bits
    towards smaller ones; outside [0, n_bits] by more than rounding it is 0. The backward pass is deterministic, because
    it gathers and never scatters; the forward pass is deterministic on the CPU.

    >>> distance = torch.tensor([[0.0, 1.25], [1.25, 0.0]])
    >>> soft_histogram(distance, torch.ones(2, 2, dtype=torch.long), n_levels=2, n_bits=2)[0, :, 1].tolist()
    [0.0, 0.75, 0.25]
    """
    if n_bins is None:
        n_bins = n_bits
    counts: Tensor = _Scatter.apply(distance, level, _Bins(n_levels, n_bits, n_bins, float(delta)))
    return counts.double()


def relaxed_histogram(relaxed: Tensor, level: Tensor, n_levels: int, n_bins: int | None, delta: float) -> Tensor:
    """The ``soft_histogram`` of the relaxed distances between all examples of a batch ``relaxed`` [M, bits]."""
    distance = relaxed_distance(relaxed)
    n_bits = relaxed.shape[1]
    return soft_histogram(distance, level, n_levels=n_levels, n_bits=n_bits, n_bins=n_bins, delta=delta)


@dataclass(frozen=True)
class _Bins:
    """The bins under a triangle are k = 0 .. 2 reach - 1; its centre is between k = reach - 1 and k = reach.

    Counts have a margin of reach - 1 bins at both ends, for triangles that extend beyond an end, and one column after
    the last level, for the pairs (i, i). Both are cut off in the end.
    """

    n_levels: int
    n_bits: int
    n_bins: int
    delta: float

    @property
    def reach(self) -> int:
        return math.ceil(self.delta)

    @property
    def ends(self) -> tuple[int, ...]:  # covered for some positions of the centre only
        return () if self.delta == self.reach else (0, 2 * self.reach - 1)

    @property
    def farthest(self) -> float:  # from 1/2, of a fraction of a valid distance, with rounding
        return 0.5 + _ROUNDING * self.n_bins

    def with_margins(self, n_examples: int, like: Tensor) -> Tensor:
        return like.new_zeros(n_examples, self.n_bins + 2 * self.reach - 1, self.n_levels + 1)

    def kept(self, counts: Tensor) -> Tensor:
        return counts[:, self.reach - 1 : self.reach + self.n_bins, : self.n_levels]

    def under(self, counts: Tensor, k: int) -> Tensor:
        n_columns = self.n_levels + 1
        return counts.flatten(1)[:, k * n_columns : (k + self.n_bins) * n_columns]

    def locate(self, distance: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
        position = distance * (self.n_bins / self.n_bits)
        lower = position.floor().clamp_(0, self.n_bins - 1)  # the last bin is never the lower one of two
        fraction = position.sub_(lower)  # outside [0, 1] only for distances outside [0, n_bits]
        column = level.clone()
        column.diagonal().fill_(self.n_levels)
        # NaN remains in the fraction; converted to an integer it would be an index out of range
        return lower.long().clamp_(min=0).mul_(self.n_levels + 1).add_(column), fraction

    def weight(self, fraction: Tensor, k: int) -> Tensor:  # of the k-th bin
        return fraction.mul(self.slope(k)).add_(self.height(k)).relu_()

    def height(self, k: int) -> float:  # the weight if the triangle is centred on bin reach - 1
        return (1 - abs(k - self.reach + 1) / self.delta) / self.delta

    def slope(self, k: int) -> float:  # positive for bins right of the centre
        return (1 if k >= self.reach else -1) / self.delta**2


class _Scatter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, distance: Tensor, level: Tensor, bins: _Bins) -> Tensor:
        counts = bins.with_margins(len(distance), distance)
        place, fraction = bins.locate(distance, level)
        fraction.clamp_(0, 1)
        for k in range(2 * bins.reach):
            bins.under(counts, k).scatter_add_(1, place, bins.weight(fraction, k))
        # the inputs alone: on a GPU memory is scarcer than the time to compute the indices again
        ctx.save_for_backward(distance, level)
        ctx.bins = bins
        return bins.kept(counts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        bins = ctx.bins
        of_counts = bins.with_margins(len(gradients[0]), gradients[0])
        bins.kept(of_counts).copy_(gradients[0])
        of_position = torch.zeros_like(bins.under(of_counts, 0))
        for k in range(2 * bins.reach):
            if k not in bins.ends:
                of_position.add_(bins.under(of_counts, k) * bins.slope(k))  # not fused: rounded alike everywhere
        place, fraction = bins.locate(*ctx.saved_tensors)
        gathered = of_position.gather(1, place)
        for k in bins.ends:
            reached = bins.weight(fraction, k) > 0
            gathered += reached * (bins.slope(k) * bins.under(of_counts, k).gather(1, place))
        is_outside = fraction.sub_(0.5).abs_() > bins.farthest
        return gathered.masked_fill_(is_outside, 0).mul_(bins.n_bins / bins.n_bits), None, None
