"""Feature extraction: applies an extractor to all items of a data set in batches and stores the features."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation import __version__
from hashbench.foundation.config import canonical_json
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.files import locked, require_writable
from hashbench.foundation.parallel import available_cores
from hashbench.foundation.progress import bar
from hashbench.learning.models import MODELS, RANDOM_WEIGHTS, canonical_model
from hashbench.learning.models import weights as weight_files
from hashbench.learning.training.settings import N_SHOWN, SHA256
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.store import Dataset, open_dataset
from hashbench.running.features import _catalogue, _store
from hashbench.running.features._catalogue import FEATURES, Extractor, FeatureModule, stored_name

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class ExtractionResult:
    """The path, shape [n, d] and type of the stored features, how many this call computed, and in how many seconds."""

    path: Path
    shape: tuple[int, int]
    stored: str
    n_made: int
    seconds: float


def extract(
    card: Card,
    name: str,
    weights: str | None = None,
    *,
    device: str = "auto",
    batch: int | None = None,
    progress: bool = False,
    data: Dataset | None = None,  # if it is open
    copies: tuple[int, NDArray[Any]] | None = None,  # so many augmented ones of the items with these ids, not all items
) -> ExtractionResult:
    """Extracts the features called ``name`` of all items of a data set into the store, unless they are there."""
    chosen = _device(device)
    stem, extractor = named(name, weights)
    if data is None:
        data = open_dataset(card)
    built = extractor.build(tuple(data.items.shape[1:]), card.value_max)
    items: NDArray[Any] = data.items
    model, checksum = _catalogue.split_checksum(stem)
    if checksum is not None and weights is not None and Path(weights).is_file():
        _catalogue.keep_weights(Path(weights), model, str(built.constants["weights_sha256"]))
    if copies is not None:
        from hashbench.running.features._copies import Copies

        copied = Copies(*copies)
        built = copied.module(built, items)
        items = copied.rows
        stem = f"{stem}_{copied.name}"
    identity = {  # all that decides the features; their last digits depend on the device
        "dataset": data.name,
        "data_sha256": data.sha256,
        "extractor": stem,
        "constants": json.loads(canonical_json(dict(built.constants))),
        "device": chosen.type,
        "version": __version__,
    }
    path = _store.path_of(card.name, stem)
    shape = (len(items), built.width)
    stored = ExtractionResult(path, shape, built.stored, 0, 0.0)
    if _store.is_stored(card.name, stem, identity):
        return stored
    dtype = np.dtype(built.stored).newbyteorder("<")
    require_writable(path.parent, prod(shape) * dtype.itemsize + (1 << 20), instead="--data")
    busy = f"{path}: another process is writing it: waiting"
    with locked(path.with_name(f"{path.name}.lock"), wait=True, busy=busy, instead="--data"):
        if _store.is_stored(card.name, stem, identity):  # by the process that held the lock
            return stored
        with _store.writing(path, identity, shape, dtype) as part:
            began = part.rows
            started = time.perf_counter()
            blocks = _in_order(built, items, began, batch or extractor.batch, chosen)
            with bar("features", "image", len(items), done=began, shown=progress) as extracted:
                for block in blocks:
                    part.append(block)
                    extracted.update(len(block))
            return ExtractionResult(path, shape, built.stored, shape[0] - began, time.perf_counter() - started)


def features_of_items(
    items: NDArray[Any], name: str, value_max: float | None, *, device: str = "auto"
) -> NDArray[np.float32]:
    """The features float32[n, d] called ``name`` of ``items`` [n, ...], whose value ``value_max`` means 1.0."""
    chosen = _device(device)
    _, extractor = named(*_catalogue.model_and_weights(name))
    built = extractor.build(tuple(items.shape[1:]), value_max)
    return np.concatenate(list(_in_order(built, items, 0, extractor.batch, chosen)))


def named(name: str, weights: str | None = None) -> tuple[str, Extractor]:
    """The name under which features are stored, and the extractor; ``weights``: "none", a file or one of pretrain."""
    stem = canonical_model(name)
    if stem in FEATURES:
        return stored_name(name, weights), FEATURES.get(stem)
    from hashbench.learning.training.weights import find
    from hashbench.running.features import _network

    # a network without official weights takes those of pretrain: by the checksum in ``name``, by file or by name
    model, checksum = _catalogue.split_checksum(stem)
    if checksum is not None and _catalogue.is_own(model):
        return stored_name(name, weights), _network.own_extractor(model, find(f"{SHA256}{checksum}"))
    if checksum is not None:
        kept = _catalogue.kept_weights(model, checksum)
        return stored_name(name, weights), _network.extractor(model, str(kept))
    if weights is not None and _catalogue.is_own(stem):
        pretrained = find(weights)
        return f"{stem}_{pretrained.sha256[:N_SHOWN]}", _network.own_extractor(stem, pretrained)
    features_name = stored_name(name, weights)
    official = MODELS.get(stem).pretrained
    if weights not in (None, RANDOM_WEIGHTS) and official is not None:
        file = weight_files.identify(stem, official.weights, Path(weights))
        if not file.official:
            features_name = f"{features_name}_{str(file.sha256)[:N_SHOWN]}"
    return features_name, _network.extractor(stem, weights)


def _in_order(
    built: FeatureModule, items: NDArray[Any], start: int, batch: int, device: "torch.device"
) -> Iterator[NDArray[Any]]:
    """The features of ``items`` from row ``start`` on; on a CPU each core has a batch of its own, on one thread."""
    import torch

    from hashbench.learning.training.device import is_out_of_memory, one_thread

    module = built.module.to(device)
    stored = getattr(torch, built.stored)

    def features(first: int) -> NDArray[Any]:
        with torch.inference_mode():  # it holds for a thread
            try:
                computed = module(torch.from_numpy(items[first : first + batch].copy()).to(device)).to(stored)
            except RuntimeError as error:
                if is_out_of_memory(error):
                    needed = f"no memory for the activations of {at_once} x {batch} images"
                    advice = "hashbench features --batch N takes fewer, or take fewer pixels"
                    raise HashbenchError(f"{needed}: {advice}") from None
                raise
            if not computed.isfinite().all():
                raise HashbenchError(f"features of items {first} to {first + len(computed) - 1} are not all finite")
            return np.asarray(computed.cpu().numpy())

    at_once = available_cores() if device.type == "cpu" else 1
    exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)  # by default cuDNN takes TF32 for float32
    with exactly, one_thread(), ThreadPoolExecutor(at_once) as pool:
        step = at_once * batch  # no more batches in memory than cores
        for first in range(start, len(items), step):
            yield from pool.map(features, range(first, min(first + step, len(items)), batch))


def _device(name: str) -> "torch.device":
    """The device called ``name``; raises HashbenchError if PyTorch is not installed."""
    try:
        from hashbench.learning.training.device import pick_device
    except ImportError:
        advice = f"features need the extra train (--set features=pixels does not): {how_to_install('train')}"
        raise HashbenchError(f"torch is not installed: {advice}") from None
    return pick_device(name)
