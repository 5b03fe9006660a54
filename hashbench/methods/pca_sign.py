"""PCA-sign: signs of the principal components, what learning should exceed (PCA-Direct of Gong, Lazebnik 2011)."""

from hashbench.contract import Floats
from hashbench.methods._shallow import ShallowSettings, linear_method, principal_components, require_bits


def _project(settings: ShallowSettings, features: Floats, seed: int) -> tuple[Floats, Floats]:  # noqa: ARG001
    mean, axes = principal_components(features)
    require_bits(settings.bits, axes.shape[1], "principal components along which the features vary")
    return mean, axes[:, : settings.bits]


METHOD = linear_method(ShallowSettings, _project)
