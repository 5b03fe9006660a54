"""MACHash: its loss and couplings against the formula, its step Z, its gain."""

import numpy as np
import pytest

from hashbench.learning.methods._block_cut import Matrix, energy, submodular_blocks
from hashbench.learning.methods.machash import CodeStep, KshCouplings, affinities, ksh_loss


def slow_loss(codes: np.ndarray, pairs: np.ndarray) -> int:
    """L as the paper writes it."""
    n, bits = codes.shape
    z = codes.astype(int)
    return sum((z[i] @ z[j] - bits * (1 if pairs[i, j] else -1)) ** 2 for i in range(n) for j in range(n) if i != j)


def example(n: int = 20, bits: int = 5, seed: int = 0, *, asymmetric: bool = False) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    labels = random.integers(0, 3, n)
    pairs = random.uniform(size=(n, n)) < 0.4 if asymmetric else labels[:, None] == labels
    return random.choice([-1, 1], (n, bits)).astype(np.int8), pairs


@pytest.mark.parametrize("asymmetric", [False, True])
def test_loss_is_its_formula(asymmetric: bool) -> None:
    codes, pairs = example(asymmetric=asymmetric)
    assert ksh_loss(codes, affinities(pairs)) == slow_loss(codes, pairs)


def matrix_of(couplings: KshCouplings) -> np.ndarray:
    """The couplings [20, 20], each the force of one example alone."""
    return np.stack([couplings.pull(np.array([j]), np.array([1])) for j in range(20)], axis=1)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_energy_of_a_bit_is_the_penalised_loss(asymmetric: bool) -> None:
    codes, pairs = example(asymmetric=asymmetric)
    hashed = np.random.default_rng(1).choice([-1, 1], 20)
    couplings = KshCouplings(np.delete(codes, 2, axis=1).astype(float), affinities(pairs), 5)
    whole = matrix_of(couplings)
    np.testing.assert_array_equal(whole, whole.T)
    assert (whole.diagonal() == 0).all()
    constants = set()
    for seed in range(8):
        codes[:, 2] = np.random.default_rng(seed).choice([-1, 1], 20)
        penalised = slow_loss(codes, pairs) + 7 * np.square(codes[:, 2] - hashed).sum()
        constants.add(int(penalised) - energy(whole, -2 * 7 * hashed, codes[:, 2]))
        z = codes[:, 2].astype(float)
        np.testing.assert_array_equal(couplings.times(z), Matrix(whole.astype(np.float64)).times(z))
    assert len(constants) == 1
    block = np.array([3, 1, 7])
    values = np.array([2, -2, 2])
    for operator in (couplings, Matrix(whole.astype(np.float64))):
        np.testing.assert_array_equal(operator.pull(block, values), whole[:, block] @ values)


def test_couplings_within_a_block_are_those_of_its_examples() -> None:
    codes, pairs = example()
    couplings = KshCouplings(codes[:, :4].astype(float), affinities(pairs), 5)
    for block in submodular_blocks(pairs, 8, np.random.default_rng(0)):
        np.testing.assert_array_equal(couplings.within(block), matrix_of(couplings)[np.ix_(block, block)])


@pytest.mark.parametrize("mu", [0, 10, 10_000])
def test_step_z_lowers_the_penalised_loss(mu: int) -> None:
    codes, pairs = example(n=30, bits=6)
    hashed = np.random.default_rng(1).choice([-1, 1], codes.shape).astype(np.int8)
    affinity = affinities(pairs)

    def penalised(z: np.ndarray) -> int:
        return ksh_loss(z, affinity) + mu * int(np.square(z - hashed).sum())

    step = CodeStep(affinity, submodular_blocks(pairs, 8, np.random.default_rng(0)), 1, 2)
    values = [penalised(codes)]
    for _ in range(4):
        codes = step.codes(codes, hashed, mu)
        values.append(penalised(codes))
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]
    assert (codes == hashed).all() == (mu == 10_000)
