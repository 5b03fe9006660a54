"""BiHalf: codes that halve the batch, as near to each other as their items (Li, van Gemert 2021)."""

from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import RowObjective, item_method
from hashbench.learning.methods.bihalf import Settings, halved


def _objective(settings: Settings, data: TrainingData) -> RowObjective:  # noqa: ARG001
    return losses.bihalf_u.Objective(gamma=settings.gamma)


METHOD = item_method(__name__, Settings, _objective, finish=halved)
