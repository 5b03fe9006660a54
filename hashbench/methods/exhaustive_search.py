"""Metric learning and exhaustive search: the base of the k-sparse codes, and the baseline that they are compared with.

A network is trained with triplets and semi-hard negatives or with the N-pair loss (Jeong and Song 2018, section 5).
A query ranks all items by the Euclidean distance between the embeddings.
"""

from pydantic import Field

from hashbench.contract import SavedHasher, TrainingData
from hashbench.methods._deep import load, require_torch
from hashbench.methods._method import Method
from hashbench.methods._sparse import MetricLoss
from hashbench.sparse.hasher import ExhaustiveSearch
from hashbench.training.settings import TrainingSettings


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


def _fit(settings: Settings, data: TrainingData) -> ExhaustiveSearch:
    require_torch()
    import torch

    from hashbench.sparse.objectives import MetricObjective
    from hashbench.training.loop import train

    objective = MetricObjective(torch.from_numpy(data.labels), settings.base, margin=settings.margin, l2=settings.l2)
    return ExhaustiveSearch(train(settings, objective, data, "exhaustive_search"))


def _load(settings: Settings, stored: SavedHasher) -> ExhaustiveSearch:
    return ExhaustiveSearch(load(settings, stored))


METHOD = Method(Settings, ("base", "d", "model", "width"), _fit, _load, needs_torch=True, supervision="labels")
