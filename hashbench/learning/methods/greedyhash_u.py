"""GreedyHash without labels: signs as near to each other as their items (Su, Zhang, Han, Tian 2018)."""

from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import RowObjective, item_method
from hashbench.learning.methods.greedyhash import Settings


def _objective(settings: Settings, data: TrainingData) -> RowObjective:  # noqa: ARG001
    return losses.greedyhash_u.Objective(alpha=settings.alpha)


METHOD = item_method(__name__, Settings, _objective)
