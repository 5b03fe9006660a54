"""Settings, examples and an objective that train in a moment."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from support.on_digits import on_digits
from torch import Tensor

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import RowObjective
from hashbench.learning.training.settings import DeepSettings, TrainingSettings

CLASSES = 5
ROUNDS = {"classes_per_batch": 4, "batch_size": 12, "steps_per_epoch": 6}


class Embedding(TrainingSettings):
    """Settings of a network whose outputs are no bits."""

    d: int

    @property
    def outputs(self) -> int:
        return self.d


def settings(**changes: Any) -> DeepSettings:
    """Those of TALR-AP on the digits, small."""
    values = {"bits": 6, "epochs": 3, "batch_size": 20, **changes}
    chosen = on_digits("talr_ap", values).settings
    assert isinstance(chosen, DeepSettings)
    return chosen


def embedding(d: int = 4, **changes: Any) -> Embedding:
    """As ``settings``, of an embedding without relaxation."""
    values = settings(**{"relaxation": "identity", **changes}).model_dump()
    return Embedding(d=d, **{key: value for key, value in values.items() if key in TrainingSettings.model_fields})


def examples(folder: Path, shape: tuple[int, ...] = (8, 8, 1), **changes: Any) -> TrainingData:
    """Sixty-one images of five classes, one class being larger than the others."""
    folder.mkdir(parents=True, exist_ok=True)
    items = np.random.default_rng(0).integers(0, 17, (61, *shape), np.uint8)
    values: dict[str, Any] = {
        "items": items,
        "labels": np.arange(61) % CLASSES,
        "value_max": 16.0,
        "seed": 1,
        **changes,
    }
    return TrainingData(folder=folder, execution=Execution("cpu", checkpoint_every_s=0), **values)


class Spread(RowObjective):
    """Makes inner products 1 within a class and 0 across; keeps the rows that it was values."""

    labels: Tensor

    def __init__(self, data: TrainingData) -> None:
        super().__init__()
        self.register_buffer("labels", torch.from_numpy(data.labels), persistent=False)
        self.seen: list[Tensor] = []

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The mean squared difference from that."""
        self.seen.append(rows)
        labels = self.labels[rows]
        same = (labels[:, None] == labels).double()
        wide = activations.double()
        return (wide @ wide.T - same).square().mean()


def same(one: torch.nn.Module, other: torch.nn.Module) -> bool:
    """True where both hold the same weights, bit for bit."""
    state = other.state_dict()
    return all(torch.equal(values, state[name]) for name, values in one.state_dict().items())
