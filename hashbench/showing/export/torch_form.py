"""A hash function as one module of PyTorch, with preprocessing and features; and as a program of torch.export."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import BinaryHasher
from hashbench.learning.steps import Steps, Values
from hashbench.running.features import FeatureModule
from hashbench.showing.export.script import Program

FILE = "hash.pt2"
PROGRAM = Program(
    imports="import torch\n",
    loaded="PROGRAM = torch.export.load(FILE).module()",
    activations="PROGRAM(torch.from_numpy(block))[1].detach().numpy()",
)


def program(module: nn.Module, example: Values) -> "torch.export.ExportedProgram":
    """The program of ``module`` for any number of items such as those of ``example`` [n, ...]."""
    return torch.export.export(module, (torch.from_numpy(example),), dynamic_shapes=({0: torch.export.Dim("items")},))


def write(module: nn.Module, example: Values, path: Path) -> None:
    """Writes the program, which ``torch.export.load`` reads."""
    torch.export.save(program(module, example), path)


class WholeHashFunction(nn.Module):
    """Items as they are stored [n, ...] -> bits uint8[n, bits] and activations float32[n, bits]."""

    def __init__(self, hasher: BinaryHasher, features: FeatureModule | None) -> None:
        super().__init__()
        module = hasher.as_module()
        if module is None and (steps := hasher.as_steps()) is not None:
            module = StepsModule(steps)
        if module is None:
            raise HashbenchError("its hash function is neither steps nor a network, so no file has it")
        self.hashed = module.cpu()
        self.features = None
        if features is not None:
            self.features = features.module.cpu()
            self.stored = getattr(torch, features.stored)
        self.eval()

    def forward(self, items: Tensor) -> tuple[Tensor, Tensor]:
        """The bits and the activations."""
        if self.features is not None:
            items = self.features(items).to(self.stored)
        activations = self.hashed(items).float()
        return (activations > 0).to(torch.uint8), activations


class StepsModule(nn.Module):
    """The steps of a hash function with PyTorch's operations."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self.arithmetic = getattr(torch, steps.arithmetic)
        self.steps: list[tuple[str, dict[str, str | int]]] = []
        for number, step in enumerate(steps.steps, 1):
            names: dict[str, str | int] = {}
            for name, array in step.arguments.items():
                names[name] = self._kept(f"step{number}_{name}", array)
            self.steps.append((step.name, names))

    def _kept(self, name: str, array: Values) -> str | int:
        """The name of the buffer that holds the ``array``; a whole number, such as one of bits, itself."""
        if array.ndim == 0 and array.dtype.kind in "ui":
            return int(array)
        kind = self.arithmetic
        if array.dtype.kind in "ui":
            kind = torch.int64
        self.register_buffer(name, torch.from_numpy(np.array(array)).to(kind))
        return name

    def forward(self, items: Tensor) -> Tensor:
        """The activations [n, bits]."""
        values = items.to(self.arithmetic)
        for operation, names in self.steps:
            arguments = [name if isinstance(name, int) else self.get_buffer(name) for name in names.values()]
            values = OPERATIONS[operation](values, *arguments)
        return values


def unit_norm(x: Tensor) -> Tensor:
    """Each item [d] divided by its norm; 0 stays 0, and an item whose norm overflows becomes NaN."""
    norms = x.square().sum(dim=1, keepdim=True).sqrt()
    return x / norms.clamp_min(1e-12).masked_fill(norms.isinf(), torch.nan)  # ONNX clamps infinity too


def squared_distances(x: Tensor, others: Tensor) -> Tensor:
    """Squared Euclidean distances [n, m] of the items [n, d] to ``others`` [m, d], never below 0."""
    products = -2 * (x @ others.T)
    return (products + x.square().sum(dim=1, keepdim=True) + others.square().sum(dim=1)).clamp_min(0)


def anchor_weights(x: Tensor, nearest: int, bandwidth: Tensor) -> Tensor:
    """The weights [n, m] of the ``nearest`` anchors by squared distances x, the first ones of equal distances."""
    near = x.topk(nearest, dim=1, largest=False).values  # its indices are any of equal ones; ONNX has no stable sort
    last = near[:, -1:]
    is_closer = x < last
    is_last = x == last
    n_left = nearest - is_closer.sum(dim=1, keepdim=True)
    is_chosen = is_closer | (is_last & (is_last.to(torch.int64).cumsum(dim=1) <= n_left))
    unscaled = torch.exp((near[:, :1] - x) / bandwidth**2) * is_chosen
    return unscaled / unscaled.sum(dim=1, keepdim=True)


def second_layer(x: Tensor, upper: Tensor, lower: Tensor) -> Tensor:
    """All values, then x - ``upper`` or ``lower`` - x of the first ones, where they are above 0 or not."""
    split = x[:, : len(upper)]
    return torch.cat([x, torch.where(split > 0, split - upper, lower - split)], dim=1)


def interpolate(x: Tensor, points: Tensor, values: Tensor) -> Tensor:
    """Column by column a function with ``values`` at ``points``, straight between them and constant beyond."""
    before = (x[:, :, None] >= points).sum(dim=2).clamp(1, points.shape[1] - 1) - 1
    column = torch.arange(len(points))
    left = points[column, before]
    low = values[column, before]
    share = ((x - left) / (points[column, before + 1] - left)).clamp(0, 1)
    return low + share * (values[column, before + 1] - low)


def between_matrices(x: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """The products left^T X right, row by row, where X is an item as a matrix."""
    matrices = x.reshape(-1, len(left), len(right))
    return (left.T @ (matrices @ right)).flatten(1)


def convolve(x: Tensor, kernel: Tensor, bits: int) -> Tensor:
    """The first ``bits`` values of the circular convolution with ``kernel`` [d], as a product with a matrix."""
    d = len(kernel)
    place = (torch.arange(bits)[None, :] - torch.arange(d)[:, None]) % d
    return x @ kernel[place]


def trees(x: Tensor, features: Tensor, thresholds: Tensor, values: Tensor) -> Tensor:
    """The sums over complete trees, in their order, of the value of the leaf that an item reaches."""
    n_bits, n_trees, nodes = features.shape
    first = torch.arange(n_bits * n_trees)
    node = x.new_zeros((x.shape[0], n_bits * n_trees), dtype=torch.int64)
    for _ in range(nodes.bit_length()):
        place = first * nodes + node
        is_above = x.gather(1, features.flatten()[place]) > thresholds.flatten()[place]
        node = 2 * node + 1 + is_above.to(torch.int64)
    leaves = values.flatten()[first * (nodes + 1) + node - nodes]
    # a running sum adds in the order of the trees: another order would round otherwise
    return leaves.reshape(-1, n_bits, n_trees).cumsum(dim=2)[:, :, -1]


OPERATIONS: dict[str, Callable[..., Any]] = {
    "flatten": lambda x: x.flatten(1),
    "channels_first": lambda x: x.movedim(-1, 1),
    "subtract": torch.sub,
    "add": torch.add,
    "divide": torch.div,
    "multiply": torch.mul,
    "unit_norm": unit_norm,
    "project": torch.matmul,
    "positive_part": torch.relu,
    "exponential": torch.exp,
    "cosine": torch.cos,
    "squared_distances": squared_distances,
    "anchor_weights": anchor_weights,
    "second_layer": second_layer,
    "interpolate": interpolate,
    "between_matrices": between_matrices,
    "convolve": convolve,
    "codeword": lambda x, codewords: codewords[x.argmax(dim=1)],
    "trees": trees,
}
