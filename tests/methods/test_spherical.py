"""Spherical hashing: the forces are those of the paper, and the spheres become balanced and independent."""

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods import spherical
from hashbench.learning.methods.spherical import Settings, Spheres
from hashbench.scoring.codes import binarize

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.standard_normal((400, 10)) + 3


def settings(**changes: float) -> Settings:
    values = {"bits": 8, "sample": 5, "mean_error": 0.1, "deviation": 0.15, "iterations": 300}
    return Settings(features="pixels", **{**values, **changes})


def bits_of(features: np.ndarray, chosen: Settings) -> np.ndarray:
    return binarize(function_of(Spheres, "spherical", chosen, data_of(features)).activations(features)).bits()


def overlaps(bits: np.ndarray) -> np.ndarray:
    """The overlap of each two spheres, over a quarter of the examples."""
    both = [(bits[:, i] & bits[:, j]).sum() for i in range(bits.shape[1]) for j in range(i)]
    return np.array(both) / (len(bits) / 4)


def test_forces_are_the_sums_of_the_paper() -> None:
    centres = RANDOM.standard_normal((4, 3))
    shared = RANDOM.random((4, 4)) * 2
    shared = shared + shared.T
    forces = np.zeros((4, 3))
    for i in range(4):
        for j in range(4):
            if i != j:
                forces[i] += 0.5 * (shared[i, j] - 1) * (centres[i] - centres[j])
    np.testing.assert_allclose(spherical._forces(centres, shared), forces / 4)


def test_each_sphere_holds_half_and_each_two_a_quarter() -> None:
    bits = bits_of(FEATURES, settings())
    assert (bits.sum(axis=0) == 200).all()
    assert np.abs(overlaps(bits) - 1).mean() <= 0.1
    assert overlaps(bits).std() <= 0.15
    at_first = overlaps(bits_of(FEATURES, settings(iterations=0)))
    assert np.abs(at_first - 1).mean() > 0.1 or at_first.std() > 0.15


def test_a_bit_is_1_inside_its_sphere() -> None:
    function = function_of(Spheres, "spherical", settings(), data_of(FEATURES))
    radii = np.sqrt(function.squared_radii)
    distances = np.linalg.norm(FEATURES[:, None] - function.centres, axis=2)
    np.testing.assert_array_equal(binarize(function.activations(FEATURES)).bits(), distances < radii)
