"""Density sensitive hashing: the bits are the most balanced planes between neighbouring groups."""

import numpy as np
from support.fits import data_of, function_of

from hashbench.learning.methods import Linear
from hashbench.learning.methods._anchors import clustered
from hashbench.learning.methods.density_sensitive import Settings, adjacent

RANDOM = np.random.default_rng(0)
FEATURES = RANDOM.gamma(1.0, 1.0, (200, 4)) + 3


def fitted(**changes: float) -> Linear:
    values = {"bits": 8, "groups_per_bit": 1.5, "nearest": 3, "kmeans_iterations": 3, **changes}
    return function_of(Linear, "density_sensitive", Settings(features="pixels", **values), data_of(FEATURES, seed=5))  # type: ignore[arg-type]


def test_bits_are_the_most_balanced_planes_between_neighbours() -> None:
    groups = clustered(FEATURES, 12, 3, 5)
    centres = groups.cluster_centers_
    sizes = np.bincount(groups.labels_) / 200
    planes = {}
    for i, centre in enumerate(centres):
        distances = np.linalg.norm(centres - centre, axis=1)
        for j in np.argsort(distances)[1:4]:
            nearer_i = np.linalg.norm(centres - centre, axis=1) < np.linalg.norm(centres - centres[j], axis=1)
            share = sizes[nearer_i].sum()
            entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
            planes[min(i, int(j)), max(i, int(j))] = round(entropy, 12), -distances[j]
    best = sorted(planes, key=lambda pair: planes[pair], reverse=True)[:8]
    function = fitted()
    for bit, (i, j) in enumerate(best):
        np.testing.assert_allclose(function.projection[:, bit], centres[i] - centres[j])
        nearer_i = ((FEATURES - centres[i]) ** 2).sum(axis=1) < ((FEATURES - centres[j]) ** 2).sum(axis=1)
        np.testing.assert_array_equal(function.activations(FEATURES)[:, bit] > 0, nearer_i)


def test_each_pair_of_neighbours_stands_once_even_at_equal_distances() -> None:
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [9.0, 9.0]])
    assert adjacent(square, 2).tolist() == [[0, 1], [0, 2], [1, 3], [2, 3], [3, 4], [1, 4]]
