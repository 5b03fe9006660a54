"""PCA-sign: signs of the principal components, the floor for methods that learn (PCA-Direct of Gong, Lazebnik 2011)."""

from hashbench.contract import Floats
from hashbench.methods._linear import linear_method, principal_components
from hashbench.methods._shallow import ShallowSettings, require_bits


class Settings(ShallowSettings):
    """It has no hyper-parameters of its own."""


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:  # noqa: ARG001
    mean, axes = principal_components(features)
    require_bits(settings.bits, axes.shape[1], "principal components along which the features vary")
    return mean, axes[:, : settings.bits]


METHOD = linear_method(Settings, _project)
