"""What the methods of k-sparse codes share: their size, and the metric network that they start from."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hashbench.config import Setting
from hashbench.errors import HashbenchError
from hashbench.hasher import CodeSettings, Hasher
from hashbench.methods._method import Base
from hashbench.sparse.codes import MAX_D
from hashbench.sparse.hasher import ExhaustiveSearch

MetricLoss = Literal["triplet", "npairs"]


class SparseSettings(CodeSettings):
    """Settings of every method of k-sparse codes: k of d bits are set; ``base`` is how the embedding is learned."""

    base: MetricLoss
    d: int = Field(ge=2, le=MAX_D)
    k: int = Field(ge=1)
    model: str

    @property
    def size(self) -> str:
        """How many buckets there are, and how many of them an item stands in."""
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
    """The metric network that a run starts from; raises HashbenchError where ``base`` is none."""
    if not isinstance(base, ExhaustiveSearch):
        raise HashbenchError(f"base: {type(base).__name__}: the hasher of exhaustive_search is expected")
    return base
