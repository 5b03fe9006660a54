"""ITQ: PCA, then the rotation with the smallest quantisation error ||B - V R||^2 (Gong, Lazebnik 2011)."""

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import (
    ShallowSettings,
    linear_method,
    principal_components,
    random_rotation,
    require_bits_below_features,
    signs,
)


class Settings(ShallowSettings):
    """``iterations`` is how often the codes B and the rotation R are updated in turn; 0 is PCA-RR, a random R."""

    iterations: int = Field(ge=0)


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    mean, axes = principal_components(features)
    components = axes[:, : settings.bits]  # if fewer vary, as a constant feature makes it, the rotation spreads them
    return mean, components @ rotation((features - mean) @ components, settings.bits, settings.iterations, seed)


def rotation(projected: Floats, bits: int, iterations: int, seed: int) -> Floats:
    """R [k, bits] with orthonormal rows and a small ||B - V R||^2, for V = ``projected`` [n, k], k <= ``bits``."""
    turn = random_rotation(bits, seed)[: projected.shape[1]]
    for _ in range(iterations):  # B = sign(V R), then R by the orthogonal Procrustes problem
        codes = signs(projected @ turn)
        left, _, right = np.linalg.svd(projected.T @ codes, full_matrices=False)
        turn = left @ right
    return turn


METHOD = linear_method(Settings, _project, require=require_bits_below_features)
