"""Metric learning and exhaustive search: base and baseline of k-sparse codes (Jeong and Song 2018, section 5)."""

from collections.abc import Callable
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from hashbench.foundation.config import Setting
from hashbench.learning.contract import CodeSettings, Hasher, SavedHasher, TrainingData
from hashbench.learning.methods._method import Base, Method, RowObjective, load, trained
from hashbench.learning.sparse.codes import MAX_D
from hashbench.learning.sparse.hasher import ExhaustiveSearch
from hashbench.learning.training.settings import TrainingSettings

MetricLoss = Literal["triplet", "npairs"]


class Settings(TrainingSettings):
    """``base`` is the loss: "triplet" with the margin ``margin``, or "npairs" with the regulariser's weight ``l2``."""

    base: MetricLoss
    d: int = Field(ge=1)  # the width of the embeddings
    margin: float = Field(gt=0)
    l2: float = Field(ge=0)  # weight of the squared norms
    n_classes: int = Field(0, ge=0)  # use only the first so many classes, of queries and database too; 0: all classes

    @property
    def outputs(self) -> int:
        """The width of the embeddings."""
        return self.d

    @property
    def size(self) -> str:
        """The width of the embeddings, such as ``64d``."""
        return f"{self.d}d"


def _objective(settings: Settings, data: TrainingData) -> RowObjective:
    from hashbench.learning.sparse.objectives import MetricObjective

    return MetricObjective(data.labels, settings.base, margin=settings.margin, l2=settings.l2)


def _fit(settings: Settings, data: TrainingData) -> ExhaustiveSearch:
    network, _ = trained(settings, _objective, data, "exhaustive_search")
    return ExhaustiveSearch(network)


def _load(settings: Settings, stored: SavedHasher) -> ExhaustiveSearch:
    return ExhaustiveSearch(load(settings, stored))


METHOD = Method(Settings, ("base", "d", "model", "width"), _fit, _load, needs_torch=True, supervision="labels")


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


def sparse_method(
    settings: type[SparseSettings],
    fit: Callable[[Any, TrainingData, ExhaustiveSearch], Hasher],
    load: Callable[[Any, SavedHasher, ExhaustiveSearch], Hasher],
    *identity: str,
) -> Method:
    """The method of k-sparse codes that starts from a metric network, which ``fit`` and ``load`` are given last."""

    def fitted(chosen: Any, data: TrainingData) -> Hasher:
        assert isinstance(data.base, ExhaustiveSearch)
        return fit(chosen, data, data.base)

    def loaded(chosen: Any, stored: SavedHasher) -> Hasher:
        assert isinstance(stored.base, ExhaustiveSearch)
        return load(chosen, stored, stored.base)

    def settings_of_base(chosen: SparseSettings) -> dict[str, Setting]:
        return {"base": chosen.base, "d": chosen.d, "model": chosen.model, "features": chosen.features}

    names = ("base", "d", "k", "model", *identity)
    base = Base("exhaustive_search", settings_of_base)
    return Method(settings, names, fitted, loaded, needs_torch=True, supervision="labels", base=base)
