"""Runs from Python: ``hashbench.train`` makes one, ``hashbench.load`` finds a stored one, and its model encodes.

What finds a run is imported with this module; what encodes, searches or trains is imported where it is called.
"""

import os
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from hashbench.foundation.arguments import checked_arguments
from hashbench.foundation.config import Setting, json_object, parse
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.execution import Execution
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.custom.encoder import Encoder, ItemForm
from hashbench.running.runs.row import RUN, Row, from_line
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes, binarize

if TYPE_CHECKING:
    from hashbench.learning.contract import BinaryHasher
    from hashbench.running.runs.run import Run


@dataclass(frozen=True, repr=False)
class TrainedRun(Encoder):
    """A stored run: its ``row``, which holds its scores and settings, and its model on ``device``."""

    row: Row
    store: Store
    device: str = "auto"
    card: Card | None = None  # of its data set, from the folder of a run that was moved

    def __repr__(self) -> str:
        return f"TrainedRun({self.row.run})"

    @cached_property
    def _model(self) -> "tuple[Run, BinaryHasher]":
        from hashbench.learning.contract import BinaryHasher
        from hashbench.running.runs.guard import load_hasher
        from hashbench.running.runs.run import Run

        run = Run.from_row(self.row, self.card)
        hasher = load_hasher(self.row, self.store, self.device, run=run)
        if not isinstance(hasher, BinaryHasher):
            raise HashbenchError(f"{self.row.run}: it makes no binary codes; hashbench encode writes what it makes")
        return run, hasher

    @property
    def form(self) -> ItemForm:
        """The form of an item of the data set of the run."""
        card = self._model[0].card
        return ItemForm(tuple(card.item_shape), card.value_max, card.class_names)

    @property
    def n_bits(self) -> int:
        """The number of bits of a code, as the run was set."""
        from hashbench.learning.contract import BitSettings

        settings = self._model[0].settings
        assert isinstance(settings, BitSettings), "a run whose codes are binary has such settings"
        return settings.bits

    def codes_of(self, items: NDArray[Any]) -> Codes:
        """The packed codes of ``items``, by the model."""
        from hashbench.running.runs.data import own_rows

        run, hasher = self._model
        return binarize(hasher.encode(own_rows(run, items, self.device).whole()))

    def database(self) -> Codes:
        """The codes of the run's database, which lie in its folder."""
        from hashbench.running.runs.guard import codes_file
        from hashbench.scoring.codes import files

        return files.load_codes(codes_file(self.row, self.store))[1]


@checked_arguments
def load(run: str | Path, *, device: str = "auto", results: str | Path | None = None) -> TrainedRun:
    """The stored run called ``run``, or whose name alone starts so; HashbenchError if there is none, or several.

    ``results`` is the folder of results, by default what ``hashbench --results`` would be. ``run`` may also be the path
    of the folder of a run, which encodes on another machine too: without its row, its data and their card there.
    """
    if isinstance(run, PathLike) or is_folder(run):
        return _of_folder(Path(run), device)
    store = Store.default() if results is None else Store(Path(results))
    return TrainedRun(store.named(run), store, device)


def is_folder(run: str) -> bool:
    """Whether ``run`` is the path of a folder, and not the name of a run."""
    return os.sep in run or Path(run).is_dir()


@dataclass(frozen=True)
class _MovedRun(Store):
    """The folder of a run called ``run``, wherever it is; the run that it starts from lies beside it."""

    run: str

    def run_folder(self, run: str) -> Path:
        return self.folder if run == self.run else self.folder.parent / run


def _of_folder(folder: Path, device: str) -> TrainedRun:
    file = folder / RUN
    if not file.is_file():
        older = "a run made before hashbench wrote it is loaded by its name, where its row is"
        raise HashbenchError(f"{folder}: {RUN} is missing, so this is no folder of a run that can be moved: {older}")
    with retold(lambda cause: f"{file}: damaged: {cause}", OSError, ValueError, KeyError, TypeError):
        kept = json_object(file.read_text(encoding="utf-8"))
        row = from_line(kept["row"], str(file), names_protocol=False)
        card = parse(Card, {**kept["card"]}, str(file))
    return TrainedRun(row, _MovedRun(folder, row.run), device, card)


@checked_arguments
def train(
    method: str,
    dataset: str,
    *,
    protocol: str | None = None,
    seed: int = 0,
    split: int | None = None,
    budget: str | None = None,
    device: str = "auto",
    again: bool = False,
    progress: bool = False,
    results: str | Path | None = None,
    **settings: Setting,
) -> TrainedRun:
    """The run that ``hashbench train METHOD DATASET`` would make: trained, scored and stored now, or stored before.

    ``settings`` are the method's hyper-parameters by name: ``bits``, ``model``, and all that ``--set`` takes. Of a run
    that is stored nothing is trained, unless ``again``; its row stays. HashbenchError for a wrong name or value, and
    where the training fails, after its row was stored.
    """
    from hashbench.running.runs.guard import row_of
    from hashbench.running.runs.run import Run

    run = Run.resolve(dataset, protocol, method, settings, seed=seed, budget=budget, split_seed=split)
    store = Store.default() if results is None else Store(Path(results))
    row = row_of(run, store, Execution(device, progress=progress), again=again)
    if row.status == "failed":
        raise HashbenchError(f"{row.run}: {row.reason}")
    return TrainedRun(row, store, device)
