"""BiHalf: codes that halve the batch, as near to each other as their items (Li, van Gemert 2021)."""

from pydantic import Field

from hashbench.contract import TrainingData
from hashbench.methods._method import RowObjective, item_method
from hashbench.training.settings import RawSettings


class Settings(RawSettings):
    """``gamma`` is the weight of u - b in the gradient of the activations u with codes b."""

    gamma: float = Field(ge=0)


def _objective(settings: Settings, data: TrainingData) -> RowObjective:  # noqa: ARG001
    from hashbench.losses import bihalf_u

    return bihalf_u.Objective(gamma=settings.gamma)


METHOD = item_method(__name__, Settings, _objective)
