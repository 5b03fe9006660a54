"""ADSH: codes of a network against learnt codes of the training examples (Jiang and Li 2018).

The authors search the learnt codes themselves, of items that the network need not see again; a row says which ones it
is of. In a protocol that trains on a part of the database, the others have the network's codes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.arrays import open_arrays, write_arrays
from hashbench.foundation.errors import retold
from hashbench.learning import losses
from hashbench.learning.contract import (
    BinaryHasher,
    BinaryOutput,
    DamagedHasher,
    Hasher,
    SavedHasher,
    SearchItems,
    TrainingData,
)
from hashbench.learning.methods._method import Objective, Supervision, deep_method, load
from hashbench.learning.steps import Steps
from hashbench.learning.training.settings import DeepSettings
from hashbench.scoring.codes import Codes, binarize, pack

if TYPE_CHECKING:
    from hashbench.learning.training.hasher import DeepHasher

LEARNT = "learnt.npz"


class Settings(DeepSettings):
    """``searched``: whether the training examples in the database have the learnt codes or the network's."""

    gamma: float = Field(ge=0)
    solve_every: int = Field(ge=1)  # epochs between two solutions for the learnt codes
    searched: Literal["learnt", "encoded"]


@dataclass(frozen=True, eq=False)
class LearntHasher(BinaryHasher):
    """The network, and the learnt codes of the items ``ids`` [n], ascending, of the data set that it was trained on."""

    network: DeepHasher
    ids: NDArray[np.int64]
    codes: Codes

    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, bits], always the network's."""
        return self.network.encode(items, progress=progress)

    def as_steps(self) -> Steps | None:
        """The steps of the network."""
        return self.network.as_steps()

    def as_module(self) -> Any:
        """The network."""
        return self.network.as_module()

    def output(self, data: SearchItems, *, progress: bool = False) -> BinaryOutput:
        """The network's codes, and of the training examples in the database the learnt ones."""
        by_network = super().output(data, progress=progress)
        place = np.searchsorted(self.ids, data.database.ids).clip(max=len(self.ids) - 1)
        is_learnt = self.ids[place] == data.database.ids
        words = np.where(is_learnt[:, None], self.codes.words[place], by_network.database.words)
        return replace(by_network, database=Codes(words, by_network.database.n_bits))

    def save(self, folder: Path) -> None:
        """Writes the network and the learnt codes."""
        self.network.save(folder)
        write_arrays(folder / LEARNT, {"ids": self.ids, "codes": self.codes.bits()}, "plain")


def _objective(settings: Settings, supervision: Supervision) -> Objective:
    return losses.adsh.Objective(supervision, settings.bits, gamma=settings.gamma, every=settings.solve_every)


def _with_codes(settings: Settings, network: DeepHasher, objective: Any, data: TrainingData) -> Hasher:
    if settings.searched == "encoded":
        return network
    ids = data.ids
    if ids is None:
        ids = np.arange(len(data.items))
    order = np.argsort(ids)
    return LearntHasher(network, ids[order], binarize(objective.codes.cpu().numpy()[order]))


def _load(settings: Settings, stored: SavedHasher) -> Hasher:
    network = load(settings, stored)
    if settings.searched == "encoded":
        return network
    path = stored.folder / LEARNT
    # an archive can raise nearly anything
    damaged = retold(lambda cause: f"{path}: {cause}", Exception, by=DamagedHasher)
    with damaged, open_arrays(path) as archive:
        return LearntHasher(network, archive["ids"], pack(archive["codes"]))


METHOD = replace(deep_method(__name__, Settings, _objective, finish=_with_codes), load=_load)
