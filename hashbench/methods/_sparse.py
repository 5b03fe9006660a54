"""The settings that all methods of k-sparse codes share, and the metric network that they start from."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hashbench.contract import CodeSettings, Hasher
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.methods._method import Base
from hashbench.sparse.codes import MAX_D
from hashbench.sparse.hasher import ExhaustiveSearch

MetricLoss = Literal["triplet", "npairs"]


class SparseSettings(CodeSettings):
    """The settings of every method of k-sparse codes: k of d bits are set; ``base`` names the loss of the embedding."""

    base: MetricLoss
    d: int = Field(ge=2, le=MAX_D)
    k: int = Field(ge=1)
    model: str

    @property
    def size(self) -> str:
        """The number of buckets d and the number of buckets k of an item, such as ``64d-2k``."""
        return f"{self.d}d-{self.k}k"

    @model_validator(mode="after")
    def _k_of_d(self) -> Self:
        if self.k > self.d:
            raise ValueError(f"k = {self.k} of d = {self.d} bits: k from 1 to d is expected")
        return self


def _of_base(settings: Any) -> dict[str, Setting]:
    return {"base": settings.base, "d": settings.d, "model": settings.model, "features": settings.features}


BASE = Base("exhaustive_search", _of_base)
IDENTITY = ("base", "d", "k", "model")


def metric_network(base: Hasher | None) -> ExhaustiveSearch:
    """``base`` as the metric network that it must be; raises HashbenchError if it is another hasher."""
    if not isinstance(base, ExhaustiveSearch):
        raise HashbenchError(f"base: {type(base).__name__}: the hasher of exhaustive_search is expected")
    return base
