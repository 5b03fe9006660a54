"""An auto-encoder through a graph of the binary codes of a batch, with two adversaries: TBH's objective."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from hashbench.learning.losses._codes import Noise, bernoulli, noise_of
from hashbench.learning.losses._objective import ItemObjective

POWER = 1.4  # of a similarity in the graph, as released


class Objective(ItemObjective):
    """The squared error of a decoder's x' plus the cross-entropies of two adversaries, which the codes raise.

    b = 1[sigmoid(u) > e] are the codes, with the gradient of sigmoid(u); e is uniform in [0, 1), as in the paper, or
    (``half``) 1/2, as released and in encoding. A_ij = (1 - d(b_i, b_j) / bits)^POWER is their graph, d the Hamming
    distance. z = sigmoid(V relu(W x)) is the continuous bottleneck of an item x, and
    g = sigmoid(D^-1/2 A D^-1/2 (U z + a)), D the diagonal of A 1. x' comes from g by two layers. The error is
    |x' - x|^2 / 2, summed over the items as released. One adversary tells b from fair coins, the other g from uniform
    numbers: each is a linear layer [shen2020auto].

    The layers of z, of the decoder and the adversaries are this objective's. In the released code z shares the hidden
    layer of the codes; here it has its own. ``x`` is a stored item divided by ``value_max``.
    """

    def __init__(
        self,
        width: int,
        bits: int,
        *,
        bottleneck: int,
        hidden: int,
        value_max: float,
        noise: Noise,
        seed: int,
    ) -> None:
        super().__init__()
        self.value_max = value_max
        self.noise = noise
        self.to_z = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, bottleneck), nn.Sigmoid())
        self.graph = nn.Linear(bottleneck, bottleneck)
        self.decoder = nn.Sequential(nn.Linear(bottleneck, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.adversaries = nn.ModuleList([nn.Linear(bits, 1), nn.Linear(bottleneck, 1)])
        generator = torch.Generator().manual_seed(seed)
        for name, values in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(values)
            else:
                nn.init.xavier_uniform_(values, generator=generator)

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:  # noqa: ARG002
        """The scalar to minimise, of activations u [M, bits] before the sign, in the precision of the layers."""
        kind = self.graph.weight.dtype
        device = activations.device
        x = (self.vectors / self.value_max).to(kind)
        p = activations.to(kind).sigmoid()
        codes = bernoulli(p, noise_of(p, self.noise, generator))
        # D^-1/2 A D^-1/2 [M, M]
        n_ones = codes.sum(1)
        distance = (2 * codes @ codes.T - n_ones[:, None] - n_ones).abs() / codes.shape[1]
        graph = (1 - distance).clamp(min=0).pow(POWER)
        scale = graph.sum(1).rsqrt()  # an item is its own neighbour: no sum is below 1
        g = ((scale[:, None] * graph * scale) @ self.graph(self.to_z(x))).sigmoid()
        loss = (self.decoder(g) - x).square().sum() / 2
        for adversary, learned, is_binary in zip(self.adversaries, (codes, g), (True, False), strict=True):
            real = torch.rand(learned.shape, generator=generator, dtype=torch.float64)
            if is_binary:
                real = real > 0.5
            of_real = adversary(real.to(device, kind))
            of_learned = adversary(_Reversed.apply(learned))
            loss = loss + binary_cross_entropy_with_logits(of_real, torch.ones_like(of_real))
            loss = loss + binary_cross_entropy_with_logits(of_learned, torch.zeros_like(of_learned))
        return loss


class _Reversed(torch.autograd.Function):
    """The same values, with minus their gradient: what an adversary lowers, those before it raise."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:  # noqa: ARG004
        return values.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ARG004
        return -gradients[0]
