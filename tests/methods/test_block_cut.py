"""Cuts of blocks: each against the enumeration of all signs; descent never rises, and ends in a minimum."""

import itertools

import numpy as np
import pytest

from hashbench.learning.methods._block_cut import Matrix, cut, descend, energy, submodular_blocks


def symmetric(values: np.ndarray) -> np.ndarray:
    upper = np.triu(values, 1)
    return upper + upper.T


def least_energy(couplings: np.ndarray, fields: np.ndarray) -> int:
    every = itertools.product((-1, 1), repeat=len(fields))
    return min(energy(couplings, fields, np.array(signs)) for signs in every)


@pytest.mark.parametrize("seed", range(60))
def test_a_cut_has_the_least_energy_of_all_signs(seed: int) -> None:
    random = np.random.default_rng(seed)
    m = random.integers(1, 10)
    couplings = symmetric(-random.integers(0, 7, (m, m)))
    fields = random.integers(-10, 11, m) * random.integers(0, 2)
    assert energy(couplings, fields, cut(couplings, fields)) == least_energy(couplings, fields)


def affinities(n: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Relevant pairs of a random class each, and couplings at most 0 for them and at least 0 for the others."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, n_classes, n)
    pairs = labels[:, None] == labels
    return pairs, symmetric(np.where(pairs, -1, 1) * random.integers(0, 9, (n, n)))


@pytest.mark.parametrize("seed", range(5))
def test_descent_never_rises_and_no_block_can_be_improved(seed: int) -> None:
    pairs, couplings = affinities(40, 5, seed)
    random = np.random.default_rng(seed)
    fields = random.integers(-20, 21, 40)
    signs = random.choice([-1, 1], 40).astype(np.int8)
    blocks = submodular_blocks(pairs, 10, random)
    matrix = Matrix(couplings.astype(np.float64))
    energies = [energy(couplings, fields, descend(matrix, fields, signs, blocks, n)) for n in range(1, 12)]
    assert energies[0] <= energy(couplings, fields, signs)
    assert energies == sorted(energies, reverse=True)
    last = descend(matrix, fields, signs, blocks, 50)
    for block in blocks:
        for signs_of_block in itertools.product((-1, 1), repeat=len(block)):
            other = last.copy()
            other[block] = signs_of_block
            assert energy(couplings, fields, other) >= energy(couplings, fields, last)


def test_blocks_of_classes() -> None:
    labels = np.repeat([0, 1, 2], [30, 5, 1])
    pairs = labels[:, None] == labels
    blocks = submodular_blocks(pairs, 20, np.random.default_rng(0))
    assert sorted(len(block) for block in blocks) == [1, 5, 10, 20]
    assert all(len(set(labels[block])) == 1 for block in blocks)
    np.testing.assert_array_equal(np.sort(np.concatenate(blocks)), np.arange(36))
