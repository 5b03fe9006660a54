"""k-sparse codes learned with a minimum cost flow (Jeong and Song 2018, algorithm 1).

A metric network gets a new last layer with d outputs. A flow assigns k buckets to each class of a batch, and the
network is trained to set them. Distances are still measured in the embedding of the metric network.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.learning.contract import SavedHasher, TrainingData
from hashbench.learning.methods._method import RowObjective, load, trained
from hashbench.learning.methods.exhaustive_search import SparseSettings, sparse_method
from hashbench.learning.sparse.hasher import BucketHasher, ExhaustiveSearch
from hashbench.learning.training.settings import TrainingSettings

if TYPE_CHECKING:
    from hashbench.learning.training.hasher import DeepHasher


class Settings(SparseSettings, TrainingSettings):
    """The N-pair loss compares items by the gated distance of eq. 10 ("paper") or by the inner product ("released")."""

    lam: float = Field(ge=0, le=1e9)  # lambda of eq. 5, the same for every bucket
    variant: Literal["paper", "released"]
    margin: float = Field(gt=0)  # of triplets
    l2: float = Field(ge=0)  # weight of the squared norms, of pairs

    @property
    def outputs(self) -> int:
        """The number of activations: one for each bucket."""
        return self.d


@dataclass(frozen=True)
class FineTunedHasher(BucketHasher):
    """The base, and the network that was fine-tuned from it, whose outputs are the activations of the buckets."""

    network: DeepHasher

    def activate(self, items: NDArray[Any], embeddings: NDArray[np.float32]) -> NDArray[np.float32]:  # noqa: ARG002
        """The outputs of the fine-tuned network."""
        return self.network.encode(items)

    def save(self, folder: Path) -> None:
        """Writes the fine-tuned network."""
        self.network.save(folder)


def _objective(settings: Settings, data: TrainingData) -> RowObjective:
    from hashbench.learning.sparse.objectives import HashObjective

    return HashObjective(
        data.labels,
        settings.base,
        k=settings.k,
        lam=settings.lam,
        variant=settings.variant,
        margin=settings.margin,
        l2=settings.l2,
    )


def _fit(settings: Settings, data: TrainingData, base: ExhaustiveSearch) -> FineTunedHasher:
    network, _ = trained(settings, _objective, replace(data, base=base.network), "sparse_hash")
    return FineTunedHasher(base, settings.k, network)


def _load(settings: Settings, stored: SavedHasher, base: ExhaustiveSearch) -> FineTunedHasher:
    return FineTunedHasher(base, settings.k, load(settings, stored))


METHOD = sparse_method(Settings, _fit, _load, "variant")
