"""Density sensitive hashing (Jin, Li, Lin, Cai 2014), not Deep Supervised Hashing, which is ``dsh``.

A few iterations of k-means give groups of training examples. The candidates are the planes half way between each
centre and one of its nearest centres; the bits are those that split the examples, counted by groups, most evenly.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.learning.contract import Floats, TrainingData
from hashbench.learning.methods._anchors import clustered
from hashbench.learning.methods._shallow import Linear, ShallowSettings, require_bits, shallow_method
from hashbench.learning.steps import squared_distances


class Settings(ShallowSettings):
    """There are ``groups_per_bit`` groups for each bit; each has planes to its ``nearest`` others."""

    groups_per_bit: float = Field(gt=0)
    nearest: int = Field(ge=1)
    kmeans_iterations: int = Field(ge=1)


def _fit(settings: Settings, features: Floats, data: TrainingData) -> Linear:
    n_groups = max(2, int(settings.groups_per_bit * settings.bits + 0.5))
    groups = clustered(features, n_groups, settings.kmeans_iterations, data.seed, "groups_per_bit")
    centres = groups.cluster_centers_
    pairs = adjacent(centres, min(settings.nearest, n_groups - 1))
    require_bits(settings.bits, len(pairs), f"planes between {n_groups} groups")
    normals = centres[pairs[:, 0]] - centres[pairs[:, 1]]
    middles = centres[pairs].mean(axis=1)
    sizes = np.bincount(groups.labels_, minlength=n_groups) / len(features)
    offsets = (middles * normals).sum(axis=1)
    share = sizes @ (centres @ normals.T > offsets)
    chosen = np.argsort(np.abs(share - 0.5), kind="stable")[: settings.bits]
    mean = features.mean(axis=0)
    return Linear(mean, normals[chosen].T, normals[chosen] @ mean - offsets[chosen])


def adjacent(centres: Floats, nearest: int) -> NDArray[np.intp]:
    """The pairs [p, 2] of ``centres`` of which one is among the ``nearest`` of the other, once each, nearest first."""
    distances = squared_distances(centres, centres)
    np.fill_diagonal(distances, np.inf)
    near = np.argsort(distances, axis=1, kind="stable")[:, :nearest]
    pairs = np.sort(np.column_stack([np.repeat(np.arange(len(centres)), nearest), near.ravel()]), axis=1)
    pairs = np.unique(pairs, axis=0)
    return pairs[np.argsort(distances[pairs[:, 0], pairs[:, 1]], kind="stable")]


METHOD = shallow_method(Settings, _fit, Linear)
