"""FastHash: its losses, the couplings of a bit against the sum of the losses, and codes near within a class."""

import numpy as np
import pytest

from hashbench.learning.methods._block_cut import energy
from hashbench.learning.methods.fasthash import Loss, coupled, losses

LOSSES: list[Loss] = ["ksh", "hinge"]


def loss_of(codes: np.ndarray, relevant: bool, loss: Loss) -> float:
    """The loss of a pair of codes [2, r] as the paper writes it."""
    r = codes.shape[1]
    distance = (codes[0] != codes[1]).sum()
    if loss == "ksh":
        return float(((r if relevant else -r) - codes[0] @ codes[1]) ** 2)
    return float(distance**2 if relevant else max(r / 2 - distance, 0) ** 2)


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_are_those_of_the_paper(loss: Loss) -> None:
    random = np.random.default_rng(0)
    codes = random.choice([-1, 1], (20, 7))
    pairs = random.uniform(size=(20, 20)) < 0.5
    actual = losses(codes @ codes.T, pairs, 7, loss)
    for i in range(20):
        for j in range(20):
            assert actual[i, j] == 4 * loss_of(codes[[i, j]], pairs[i, j], loss)


def of_three_classes(random: np.random.Generator, n: int, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Random codes [n, bits] of -1 and 1, and which pairs [n, n] of them are of one class."""
    codes = random.choice([-1, 1], (n, bits))
    labels = random.integers(0, 3, n)
    return codes, labels[:, None] == labels


@pytest.mark.parametrize("loss", LOSSES)
def test_the_energy_of_a_bit_is_the_sum_of_the_losses(loss: Loss) -> None:
    random = np.random.default_rng(0)
    codes, pairs = of_three_classes(random, 12, 4)
    couplings = coupled(codes @ codes.T, pairs.astype(np.int8) + pairs.T, 5, loss)
    values = []
    for _ in range(10):
        bit = random.choice([-1, 1], 12)
        whole = np.column_stack([codes, bit])
        total = losses(whole @ whole.T, pairs, 5, loss)
        values.append((2 * total.sum() - energy(couplings, np.zeros(12, int), bit), total.sum()))
    assert len({constant for constant, _ in values}) == 1
    assert len({total for _, total in values}) > 1
