"""CIBHash: codes of two views of an item are near, those of two items are not (Qiu, Su, Ou, Yu, Chen 2021)."""

from typing import Self

from pydantic import Field, model_validator

from hashbench.learning import losses
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._method import RowObjective, item_method
from hashbench.learning.training.settings import RawSettings


class Settings(RawSettings):
    """Two views are two copies of an item, two augmentations of an image, two masks of dropped features, or all."""

    temperature: float = Field(gt=0)  # cosines are divided by it
    beta: float = Field(ge=0)  # the weight of the divergence of the bits of two views

    @model_validator(mode="after")
    def _views_differ(self) -> Self:
        is_varied = self.copies or self.feature_dropout or self.augment != "none"
        if self.copies == 1 or not is_varied:
            raise ValueError("two equal views: copies (2 or more), feature_dropout or augment must tell them apart")
        return self


def _objective(settings: Settings, data: TrainingData) -> RowObjective:  # noqa: ARG001
    return losses.cibhash.Objective(temperature=settings.temperature, beta=settings.beta)


METHOD = item_method(__name__, Settings, _objective)
