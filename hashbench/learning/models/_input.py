"""The input of a pretrained network."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Input:
    """The input of a pretrained network: RGB of ``size`` (height, width), channels first, (value - mean) / std."""

    size: tuple[int, int]
    value_max: float  # of values, ``mean`` and ``std``
    mean: tuple[float, float, float]  # or the average image that the weights include
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)
