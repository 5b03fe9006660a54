"""A hash function as a list of steps: operations of NumPy, applied one after the other, with arrays that were learned.

A run encodes by its steps, and ``hashbench export`` writes the same steps: into a file of arrays, and the source of the
operations below into a script beside it. So an operation uses NumPy alone, and its arguments are arrays.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError

Values = NDArray[Any]  # of floating point numbers, but for arguments that are numbers of features or of leaves
LARGEST = 1e18  # of a feature: float32 holds the squared norm of an item
BLOCK = 2000  # items that are encoded at a time: 8 MB of 512 features, so that they stay in the cache


class Step(NamedTuple):
    """An operation of this module, and the ``arrays`` that it takes beside the values, by name."""

    operation: Callable[..., Values]
    arrays: dict[str, Values]

    @property
    def name(self) -> str:
        """The name of the operation in ``OPERATIONS``; HashbenchError if it is another one."""
        name = self.operation.__name__
        if OPERATIONS.get(name) is not self.operation:
            raise HashbenchError(f"{name}: no operation of hashbench.learning.steps, so no file has it")
        return name

    @property
    def arguments(self) -> dict[str, Values]:
        """The arrays in the order of the operation's arguments."""
        return {name: self.arrays[name] for name in arguments_of(self.operation)}


@dataclass(frozen=True, eq=False)
class Steps:
    """All steps from items as they are stored to activations [n, bits], in this ``arithmetic``."""

    steps: list[Step]
    arithmetic: Literal["float32", "float64"]

    def activations(self, items: Values) -> NDArray[np.float32]:
        """The activations float32[n, bits] of ``items`` [n, ...], some thousands at a time."""
        # an activation that is not finite is refused where it is made a code, in one line
        with np.errstate(over="ignore", invalid="ignore"):
            blocks = (apply(self.steps, block.astype(self.arithmetic)) for block in in_blocks(items))
            return np.concatenate([block.astype(np.float32) for block in blocks])


def arguments_of(operation: Callable[..., Values]) -> list[str]:
    """The names of the arrays that an operation takes beside the values."""
    return [*inspect.signature(operation).parameters][1:]


def in_blocks(items: Values) -> Iterator[Values]:
    """The rows of ``items`` in blocks of about ``BLOCK``, row by row in memory, as BLAS adds in the order of memory."""
    for block in np.array_split(items, max(1, len(items) // BLOCK)):
        yield np.ascontiguousarray(block)


def apply(steps: Iterable[Step], values: Values) -> Values:
    """The ``values`` [n, ...] after all ``steps``, in turn."""
    for step in steps:
        values = step.operation(values, **step.arrays)
    return values


def flatten(x: Values) -> Values:
    """Each item as a vector [n, d]."""
    return x.reshape(len(x), -1)


def channels_first(x: Values) -> Values:
    """Images [n, h, w, c] as [n, c, h, w]; vectors [n, d] as they are."""
    return np.moveaxis(x, -1, 1)


def subtract(x: Values, by: Values) -> Values:
    """The difference of each item to ``by``."""
    return x - by


def add(x: Values, by: Values) -> Values:
    """The sum of each item and ``by``."""
    return x + by


def divide(x: Values, by: Values) -> Values:
    """Each value over that of ``by``."""
    return x / by


def multiply(x: Values, by: Values) -> Values:
    """Each value times that of ``by``."""
    return x * by


def unit_norm(x: Values) -> Values:
    """Each item [d] divided by its norm; 0 stays 0, and an item whose norm overflows becomes NaN."""
    norms = np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    return x / np.where(np.isinf(norms), np.nan, norms)


def project(x: Values, weights: Values) -> Values:
    """The products of each item with the columns of ``weights`` [d, k]."""
    return x @ weights


def positive_part(x: Values) -> Values:
    """0 in place of each value below it: a rectified linear unit."""
    return np.maximum(x, 0)


def exponential(x: Values) -> Values:
    """The exponential of each value."""
    return np.exp(x)


def cosine(x: Values) -> Values:
    """The cosine of each value."""
    return np.cos(x)


def squared_distances(x: Values, others: Values) -> Values:
    """Squared Euclidean distances [n, m] of the items [n, d] to ``others`` [m, d], never below 0."""
    products = x @ others.T
    products *= -2
    products += np.square(x).sum(axis=1)[:, None]
    products += np.square(others).sum(axis=1)
    return np.maximum(products, 0, out=products)


def anchor_weights(x: Values, nearest: Values | int, bandwidth: Values | float) -> Values:
    """The weights [n, m] of the ``nearest`` anchors by squared distances x: exp(-x / bandwidth^2) over its sum.

    Of anchors at equal distances the first ones count, on every machine. Distances that only exact arithmetic makes
    equal may differ in their last digits, and then those digits decide.
    """
    ids = np.argpartition(x, nearest - 1, axis=1)[:, :nearest]
    last = np.take_along_axis(x, ids, axis=1).max(axis=1, keepdims=True)
    is_tied = (x <= last).sum(axis=1) > nearest  # a partition takes any of the anchors at that distance
    ids[is_tied] = np.argsort(x[is_tied], axis=1, kind="stable")[:, :nearest]
    near = np.take_along_axis(x, ids, axis=1)
    # the nearest anchor has the weight 1 before the division, so that no sum is 0 for an item far from all anchors
    unscaled = np.exp((near.min(axis=1, keepdims=True) - near) / bandwidth**2)
    z = np.zeros(x.shape)
    np.put_along_axis(z, ids, unscaled / unscaled.sum(axis=1, keepdims=True), axis=1)
    return z


def second_layer(x: Values, upper: Values, lower: Values) -> Values:
    """All values, then x - ``upper`` or ``lower`` - x of the first ones, where they are above 0 or not."""
    split = x[:, : len(upper)]
    return np.hstack([x, np.where(split > 0, split - upper, lower - split)])


def interpolate(x: Values, points: Values, values: Values) -> Values:
    """Column by column a function with ``values`` at ``points``, straight between them and constant beyond."""
    columns = zip(x.T, points, values, strict=True)
    return np.column_stack([np.interp(column, where, what) for column, where, what in columns])


def between_matrices(x: Values, left: Values, right: Values) -> Values:
    """The products left^T X right, row by row, where X is an item as a matrix."""
    matrices = x.reshape(len(x), len(left), len(right))
    return (left.T @ (matrices @ right)).reshape(len(x), -1)


def convolve(x: Values, kernel: Values, bits: Values) -> Values:
    """The first ``bits`` values of the circular convolution of each item [d] with the ``kernel`` [d]."""
    return np.fft.irfft(np.fft.rfft(x) * np.fft.rfft(kernel), len(kernel))[:, : int(bits)]


def codeword(x: Values, codewords: Values) -> Values:
    """The row of ``codewords`` [k, bits] of the largest of the k values."""
    return codewords[x.argmax(axis=1)]


def trees(x: Values, features: Values, thresholds: Values, values: Values) -> Values:
    """The sums [n, bits] over complete trees, in their order, of the value of the leaf that an item [d] reaches.

    ``features`` and ``thresholds`` [bits, trees, nodes], level by level; ``values`` [bits, trees, nodes + 1].
    """
    items = np.arange(len(x))[:, None]
    bits = np.arange(len(features))
    nodes = features.shape[2]
    sums = np.zeros((len(x), len(features)))
    for tree in range(features.shape[1]):
        node = np.zeros(sums.shape, np.int64)
        for _ in range(nodes.bit_length()):
            is_above = x[items, features[bits, tree, node]] > thresholds[bits, tree, node]
            node = 2 * node + 1 + is_above
        sums += values[bits, tree, node - nodes]
    return sums


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        flatten,
        channels_first,
        subtract,
        add,
        divide,
        multiply,
        unit_norm,
        project,
        positive_part,
        exponential,
        cosine,
        squared_distances,
        anchor_weights,
        second_layer,
        interpolate,
        between_matrices,
        convolve,
        codeword,
        trees,
    )
}
