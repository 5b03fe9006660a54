"""The histogram of relaxed distances in a minibatch, as a scatter: O(M^2) whatever the number of bins."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from hashbench.errors import HashbenchError
from hashbench.losses import _soft_histogram_numba

# Below it a quotient of two vanishing numbers is replaced by its limit.
SMALL_GROUP = 1e-6

_ROUNDING = 1e-6  # by how much, relative to the longest distance, float32 may leave the range


def cumulative_before(cumulative: Tensor) -> Tensor:
    """C_{d-1} from C_d, [M, B]; shifted, not subtracted, so that it starts at exactly 0."""
    return pad(cumulative, (1, 0))[:, :-1]


def relaxed_distance(relaxed: Tensor) -> Tensor:
    """The relaxed Hamming distances (bits - phi phi^T) / 2, [M, M] in [0, bits] up to rounding.

    In float32 at least, also under autocast: bfloat16 would round a distance of 40 to a quarter of a bin.
    """
    with torch.autocast(relaxed.device.type, enabled=False):
        wide = relaxed.to(torch.promote_types(relaxed.dtype, torch.float32))
        half = wide.new_full((1, 1), wide.shape[1] / 2)
        return torch.addmm(half, wide, wide.T, alpha=-0.5)


def soft_histogram(
    distance: Tensor, level: Tensor, *, n_levels: int, n_bits: int, n_bins: int | None = None, delta: float = 1.0
) -> Tensor:
    """The soft histogram c[i, d, v], float64[M, n_bins + 1, n_levels], over the other examples j != i.

    Bin d is centred at d * n_bits / n_bins. Each distance is spread by a triangle whose half-width is ``delta``
    bins (he2018tieaware, eq. 14): at delta = 1 over the two bins around it, with weights that sum to 1; a wider
    one over up to 2 * delta bins, and is divided by delta, so that the weights sum to about 1 (less at the ends).
    At delta = 1 and n_bins = n_bits a whole distance falls into its own bin, and the histogram of binary codes is
    the integer one.

    The gradient with respect to a distance is, at delta = 1, the difference of the gradients of its two bins over
    the bin width; at a bin's centre it is the one towards larger distances, at n_bits towards smaller ones, and
    beyond both ends, by more than rounding, 0. The backward pass gathers and never scatters, so it is
    deterministic; the forward pass is so on the CPU.

    Args:
        distance: float[M, M]; clamped to [0, n_bits], which rounding errors may leave.
        level: int64[M, M], indices 0 .. n_levels - 1; the diagonal is ignored.
        n_levels: how many levels there are.
        n_bits: the largest distance.
        n_bins: number of bin widths between 0 and n_bits; None is n_bits.
        delta: half-width of the triangle in bins, at least 1.

    >>> distance = torch.tensor([[0.0, 1.25], [1.25, 0.0]])
    >>> soft_histogram(distance, torch.ones(2, 2, dtype=torch.long), n_levels=2, n_bits=2)[0, :, 1].tolist()
    [0.0, 0.75, 0.25]
    """
    n_bins = n_bits if n_bins is None else n_bins
    if n_bins < 1 or not delta >= 1:
        raise HashbenchError(f"soft histogram: {n_bins} bins of half-width {delta}; both must be at least 1")
    counts: Tensor = _Scatter.apply(distance, level, _Bins(n_levels, n_bits, n_bins, float(delta)))
    return counts.double()


@dataclass(frozen=True)
class _Bins:
    """Which bins a distance touches, and with what weights.

    The bins under a triangle are numbered from its leftmost, k = 0 .. 2 reach - 1; its centre lies between
    k = reach - 1 and k = reach. Where it reaches over an end it falls into a margin of reach - 1 bins, which is
    cut off; so is a column after the last level, to which the pairs (i, i) are sent.
    """

    n_levels: int
    n_bits: int
    n_bins: int
    delta: float

    @property
    def reach(self) -> int:
        return math.ceil(self.delta)

    @property
    def ends(self) -> tuple[int, ...]:
        """The bins that a triangle may fail to reach, with its centre between the two in the middle."""
        return () if self.delta == self.reach else (0, 2 * self.reach - 1)

    @property
    def farthest(self) -> float:
        """How far from 1/2 a fraction may be by rounding alone."""
        return 0.5 + _ROUNDING * self.n_bins

    def with_margins(self, n_examples: int, like: Tensor) -> Tensor:
        """Empty counts, [M, reach - 1 + n_bins + 1 + reach - 1, n_levels + 1]."""
        return like.new_zeros(n_examples, self.n_bins + 2 * self.reach - 1, self.n_levels + 1)

    def kept(self, counts: Tensor) -> Tensor:
        """The view of those counts without margins, [M, n_bins + 1, n_levels]."""
        return counts[:, self.reach - 1 : self.reach + self.n_bins, : self.n_levels]

    def under(self, counts: Tensor, k: int) -> Tensor:
        """The view of those counts in which the place of a triangle is that of its k-th bin."""
        n_columns = self.n_levels + 1
        return counts.flatten(1)[:, k * n_columns : (k + self.n_bins) * n_columns]

    def locate(self, distance: Tensor, level: Tensor) -> tuple[Tensor, Tensor]:
        """The place of each triangle, and how far its centre is past bin k = reach - 1."""
        position = distance * (self.n_bins / self.n_bits)
        lower = position.floor().clamp_(0, self.n_bins - 1)  # the last bin is always an upper one
        fraction = position.sub_(lower)  # outside [0, 1] only for distances outside [0, n_bits]
        column = level.clone()
        column.diagonal().fill_(self.n_levels)
        # NaN stays in the fraction; as an integer it would be an index out of range
        return lower.long().clamp_(min=0).mul_(self.n_levels + 1).add_(column), fraction

    def weight(self, fraction: Tensor, k: int) -> Tensor:
        """The share that the k-th bin gets."""
        return fraction.mul(self.slope(k)).add_(self.height(k)).relu_()

    def height(self, k: int) -> float:
        """That share where the centre is that of bin reach - 1."""
        return (1 - abs(k - self.reach + 1) / self.delta) / self.delta

    def slope(self, k: int) -> float:
        """The derivative of that share: bins ahead of the centre gain, those behind it lose."""
        return (1 if k >= self.reach else -1) / self.delta**2


class _Scatter(torch.autograd.Function):
    """distance [M, M], level [M, M] -> counts [M, n_bins + 1, n_levels]."""

    @staticmethod
    def forward(ctx: Any, distance: Tensor, level: Tensor, bins: _Bins) -> Tensor:
        counts = bins.with_margins(len(distance), distance)
        scatter = _scatter_numba if distance.device.type == "cpu" else _scatter_torch
        ctx.save_for_backward(*scatter(distance, level, bins, counts))
        ctx.bins = bins
        return bins.kept(counts)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        bins, of_counts = ctx.bins, ctx.bins.with_margins(len(gradients[0]), gradients[0])
        bins.kept(of_counts).copy_(gradients[0])
        of_position = torch.zeros_like(bins.under(of_counts, 0))
        for k in range(2 * bins.reach):
            if k not in bins.ends:
                of_position.add_(bins.under(of_counts, k) * bins.slope(k))  # not fused: rounded alike everywhere
        gather = _gather_numba if of_counts.device.type == "cpu" else _gather_torch
        return gather(ctx.saved_tensors, bins, of_counts, of_position), None, None


def _scatter_torch(distance: Tensor, level: Tensor, bins: _Bins, counts: Tensor) -> tuple[Tensor, ...]:
    """Adds the triangles of all pairs to ``counts``, and says what the gradient needs; the oracle of the other form.

    It keeps nothing but its inputs: on a GPU, where lists are long, memory is dearer than doing it again.
    """
    place, fraction = bins.locate(distance, level)
    fraction.clamp_(0, 1)
    for k in range(2 * bins.reach):
        bins.under(counts, k).scatter_add_(1, place, bins.weight(fraction, k))
    return distance, level


def _gather_torch(kept: tuple[Tensor, ...], bins: _Bins, of_counts: Tensor, of_position: Tensor) -> Tensor:
    """The gradient of the distances: the form for a GPU, and the oracle of the other."""
    place, fraction = bins.locate(*kept)
    gathered = of_position.gather(1, place)
    for k in bins.ends:
        reached = bins.weight(fraction, k) > 0
        gathered += reached * (bins.slope(k) * bins.under(of_counts, k).gather(1, place))
    outside = fraction.sub_(0.5).abs_() > bins.farthest
    return gathered.masked_fill_(outside, 0).mul_(bins.n_bins / bins.n_bits)


def _scatter_numba(distance: Tensor, level: Tensor, bins: _Bins, counts: Tensor) -> tuple[Tensor, ...]:
    """As ``_scatter_torch``, in one pass; keeps the places, and with them the distances only where they are needed."""
    place = torch.empty_like(distance, dtype=torch.int32, memory_format=torch.contiguous_format)
    weights, constants = _numbers(bins, distance)
    _soft_histogram_numba.scatter(
        _array(distance),
        _array(level),
        _array(counts.flatten(1)),
        place.numpy(),
        bins.n_levels + 1,
        weights,
        constants,
    )
    return (place, distance) if bins.ends else (place,)


def _gather_numba(kept: tuple[Tensor, ...], bins: _Bins, of_counts: Tensor, of_position: Tensor) -> Tensor:
    place, *distances = kept
    of_distance = torch.empty_like(place, dtype=of_counts.dtype)
    weights, constants = _numbers(bins, of_counts)
    given = _array(of_position), of_distance.numpy()
    if bins.ends:
        distance, columns = _array(distances[0]), bins.n_levels + 1
        of_bins = _array(of_counts.flatten(1))
        _soft_histogram_numba.gather_ends(place.numpy(), distance, of_bins, *given, columns, weights, constants)
    else:
        _soft_histogram_numba.gather(place.numpy(), *given, constants)
    return of_distance


def _array(values: Tensor) -> Any:
    """The values as a C-contiguous array, of the same memory where that is so already."""
    return values.detach().contiguous().numpy()


def _numbers(bins: _Bins, like: Tensor) -> tuple[Any, Any]:
    """What the kernels ask of the bins, in the precision of the distances."""
    weights = torch.tensor([[bins.slope(k), bins.height(k)] for k in range(2 * bins.reach)], dtype=like.dtype)
    each = [bins.n_bins / bins.n_bits, 0, 1, bins.n_bins - 1, 0.5, bins.farthest]
    return weights.numpy(), torch.tensor(each, dtype=like.dtype).numpy()
