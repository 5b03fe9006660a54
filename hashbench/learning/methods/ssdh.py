"""SSDH: pairs are similar if their features are unusually near (Yang, Deng, Liu, Liu, Tao 2018)."""

from pydantic import Field

from hashbench.foundation.config import derive_seed
from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import DeepSettings, RowObjective, item_method


class Settings(DeepSettings):
    """Limits of similarity, in standard deviations from the most frequent distance of two items."""

    alpha: float = Field(ge=0)  # nearer by so many: similar
    beta: float = Field(ge=0)  # farther by so many: dissimilar
    sampled: int = Field(ge=2)  # so many training items at most, drawn at random, give the distribution of distances


def _objective(settings: Settings, data: TrainingData) -> RowObjective:
    items = losses.ssdh.sampled(data.items, settings.sampled, derive_seed(data.seed, "sampled"))
    return losses.ssdh.Objective(*losses.ssdh.limits(items, settings.alpha, settings.beta))


METHOD = item_method(__name__, Settings, _objective)
