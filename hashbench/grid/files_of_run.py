"""The files that a run needs where it is executed: data set, features, weights, and the run that it starts from."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hashbench.contract import PIXELS
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import Percentiles
from hashbench.datasets.store import path_of
from hashbench.features import path_of as features_path
from hashbench.foundation import paths
from hashbench.grid.execute import OUTPUT
from hashbench.grid.node import DriverFile
from hashbench.models import MODELS
from hashbench.runs.data import protocol_of
from hashbench.runs.lock import HOLDER, LOCK
from hashbench.runs.run import Run
from hashbench.runs.store import Store
from hashbench.training.settings import N_SHOWN, OFFICIAL, SHA256

Folder = Literal["data", "results"]
LEFT = (LOCK, HOLDER, OUTPUT)  # files of a run's folder that only say who made it


@dataclass(frozen=True)
class NeededFile:
    """A file here, with the folder that it belongs into on a node, and its path inside."""

    folder: Folder
    name: str
    file: DriverFile


def needed_files(spec: Run, store: Store) -> list[NeededFile]:
    """The files here that the run needs; what is not here the run will say itself."""
    found = {name: path for name, path in _data_files(spec) if path.is_file()}
    files = [NeededFile("data", name, DriverFile.at(path)) for name, path in found.items()]
    return files + (_files_of_base(spec.base, store) if spec.base is not None else [])


def files_of(run: str, store: Store) -> dict[str, bytes]:
    """The working files of a run by name, without those that only serve its training."""
    folder = store.run_folder(run)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file() and _is_kept(path.name)}


def _is_kept(name: str) -> bool:
    return name not in LEFT and not name.startswith(("checkpoint", "."))


def _data_files(spec: Run) -> Iterator[tuple[str, Path]]:
    """Names inside the data folder, and paths."""
    card = load_card(spec.dataset)
    own_card = paths.own_cards() / f"{card.name}.toml"
    yield f"{own_card.parent.name}/{own_card.name}", own_card  # there is one if the data set is the user's own
    if not card.embedded:
        yield f"{card.name}/{card.name}.h5", path_of(card)
    rule = protocol_of(spec).relevance
    compared = rule.features if isinstance(rule, Percentiles) else None
    for features in {spec.settings.features, compared} - {None, PIXELS}:
        path = features_path(spec.dataset, str(features))
        yield f"{card.name}/features/{path.name}", path
    yield from ((f"weights/{path.name}", path) for path in _weights_of(spec))


def _weights_of(spec: Run) -> Iterator[Path]:
    """The files of pretrained weights that the run starts from."""
    given, model = getattr(spec.settings, "weights", None), getattr(spec.settings, "model", None)
    if isinstance(given, str) and given.startswith(SHA256):
        end = f"*-{given.removeprefix(SHA256)[:N_SHOWN]}.*"
        yield from (path for folder in (paths.weights(), paths.committed_weights()) for path in folder.glob(end))
    elif given == OFFICIAL and model is not None and (pretrained := MODELS.get(model).pretrained) is not None:
        yield paths.weights() / pretrained.weights.file


def _files_of_base(base: Run, store: Store) -> list[NeededFile]:
    """The row and the working files of a run that others start from, and what it needed itself."""
    row = store.row_path(base.dataset, base.protocol, base.run)
    folder = store.run_folder(base.run)
    if not row.is_file() or not folder.is_dir():
        return []
    found = [row, *(path for path in sorted(folder.iterdir()) if path.is_file() and _is_kept(path.name))]
    return [NeededFile("results", str(path.relative_to(store.folder)), DriverFile.at(path)) for path in found]
