"""Features of the items of a data set: one file for each extractor; pretrained networks are extractors too."""

from importlib.util import find_spec
from math import prod

import numpy as np

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import PIXELS
from hashbench.learning.models import MODELS
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.store import stated_sha256
from hashbench.running.features._catalogue import (
    FEATURES,
    Extractor,
    FeatureModule,
    check_name,
    is_own,
    kept_weights,
    known,
    model_and_weights,
    split_checksum,
)
from hashbench.running.features._extract import ExtractionResult, extract, features_of_items, named
from hashbench.running.features._store import Features, path_of, read

__all__ = ["FEATURES", "ExtractionResult", "Extractor", "FeatureModule", "Features", "check_name", "extract", "known"]
__all__ += [
    "features_of_items",
    "is_own",
    "kept_weights",
    "model_and_weights",
    "named",
    "open_features",
    "path_of",
    "read",
    "split_checksum",
    "stored_bytes",
    "width_of",
]


def width_of(card: Card, name: str, weights: str | None = None) -> int:
    """The number of values of an item in the features called ``name``, extracted or not."""
    if name == PIXELS:
        return prod(card.item_shape)
    if weights is None and path_of(card.name, name).is_file():
        return read(card.name, name).shape[1]
    model, own_weights = model_and_weights(name)
    return named(model, weights or own_weights)[1].build(tuple(card.item_shape), card.value_max).width


def stored_bytes(card: Card, name: str) -> int | None:
    """The bytes that the features called ``name`` of a data set take in the store, extracted or not.

    None where that is not known without PyTorch, or without the weights of a network of one's own.
    """
    path = path_of(card.name, name)
    if path.is_file():
        return path.stat().st_size
    stem, checksum = split_checksum(name)
    model, _ = model_and_weights(stem)
    if checksum is not None or find_spec("torch") is None:
        return None
    if model in FEATURES:
        built = FEATURES.get(model).build(tuple(card.item_shape), card.value_max)
        return card.n_items * built.width * np.dtype(built.stored).itemsize
    network = MODELS.get(model)
    if network.pretrained is None:
        return None
    import torch

    with torch.device("meta"):  # no weight is drawn: it is the shapes that say the width
        _, width = network.backbone((3, *network.pretrained.input.size))
    return card.n_items * width * np.dtype(network.stored).itemsize


def open_features(card: Card, name: str) -> Features:
    """The stored features of a data set; raises HashbenchError if they are missing, damaged or of other data."""
    features = read(card.name, name)
    if features.provenance["data_sha256"] != stated_sha256(card):
        fault = f"features of other data than {card.name} is now"
        raise HashbenchError(f"{features.path}: {fault}: run hashbench features {card.name} again")
    return features
