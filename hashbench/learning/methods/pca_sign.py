"""PCA-sign: signs of the principal components, what learning should exceed (PCA-Direct of Gong, Lazebnik 2011)."""

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import (
    ShallowSettings,
    first_components,
    linear_method,
    require_bits_below_features,
)


def _project(settings: ShallowSettings, features: Floats, seed: int) -> tuple[Floats, Floats]:  # noqa: ARG001
    return first_components(features, settings.bits)


METHOD = linear_method(ShallowSettings, _project, require=require_bits_below_features)
