"""Contrast: relevant examples at distance 0, others at a distance of ``margin`` bits or more."""

from typing import TYPE_CHECKING

from pydantic import Field

from hashbench import DeepSettings, Objective, Supervision, deep_method

if TYPE_CHECKING:
    from torch import Tensor


class Settings(DeepSettings):
    """``margin``: the distance in bits beyond which examples that are not relevant are left alone."""

    margin: float = Field(gt=0)


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    """The loss of a batch, with the values of the settings."""
    import torch

    def loss(relaxed: "Tensor", levels: "Tensor") -> "Tensor":
        """The mean over pairs of two examples, of ``relaxed`` [M, bits] and ``levels`` [M, M]: a scalar to minimise."""
        distance = (settings.bits - relaxed @ relaxed.T) / 2  # the Hamming distance, where codes are -1 and +1
        far = (settings.margin - distance).clamp(min=0)
        cost = torch.where(levels > 0, distance.square(), far.square())
        return cost.fill_diagonal_(0).sum() / max(1, len(relaxed) * (len(relaxed) - 1))

    return loss


METHOD = deep_method(__name__, Settings, _objective)
