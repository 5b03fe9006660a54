"""LSH: signs of random projections (Charikar 2002); the baseline that learns nothing."""

from typing import Literal

import numpy as np
from pydantic import field_validator

from hashbench.learning.contract import Floats
from hashbench.learning.methods._shallow import ShallowSettings, linear_method


class Settings(ShallowSettings):
    """``centre``: whether the mean of the training features is subtracted first, or the middle of their range."""

    centre: bool | Literal["range"]  # range: the codes are those of values that were scaled to [-1, 1]

    @field_validator("centre", mode="before")
    @classmethod
    def _is_one_of_three(cls, value: object) -> object:
        if not isinstance(value, bool) and value != "range":
            raise ValueError("true, false or range is expected")
        return value


def _project(settings: Settings, features: Floats, seed: int) -> tuple[Floats, Floats]:
    width = features.shape[1]
    if settings.centre == "range":
        centre = np.full(width, (features.min() + features.max()) / 2)
    elif settings.centre:
        centre = features.mean(axis=0)
    else:
        centre = np.zeros(width)
    return centre, np.random.default_rng(seed).standard_normal((width, settings.bits))


METHOD = linear_method(Settings, _project)
