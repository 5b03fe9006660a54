"""Features of a data set's items, for the shallow methods: one file an extractor, and the pretrained networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.store import open_dataset, standing
from hashbench.errors import HashbenchError, unknown
from hashbench.features import _store
from hashbench.features._extractor import Extractor
from hashbench.models import MODELS, TORCHVISION
from hashbench.registry import Catalogue, canonical

RANDOM = "_random"  # the end of the name of features by random weights
FEATURES = Catalogue("features", "hashbench.features", "EXTRACTOR", Extractor)


def named(name: str, weights: str | None = None) -> tuple[str, Extractor]:
    """The extractor called ``name``, and the name that its features are stored under.

    An entry of this folder, or a pretrained network: vggf, alexnet, alexnet_caffe or a classifier of torchvision,
    whose features are what its last layer sees. ``weights`` is a file of them, or "none" for random ones, whose
    features are stored under another name. Raises HashbenchError for an unknown name, with the nearest ones.
    """
    stem = canonical(name).removeprefix(TORCHVISION)
    if stem in FEATURES:
        if weights is not None:
            raise HashbenchError(f"{stem} is no network: it has no --weights")
        return stem, FEATURES.get(stem)
    if stem not in MODELS:
        raise unknown("features", name, known())
    if MODELS.get(stem).pretrained is None:
        raise HashbenchError(
            f"{stem} is trained from scratch and has no features: {', '.join(_pretrained())} and torchvision's have"
        )
    from hashbench.features import _network

    return f"{stem}{RANDOM}" if weights == "none" else stem, _network.extractor(stem, weights)


def known() -> list[str]:
    """The names of all features, torchvision's among them."""
    from hashbench.models import _torchvision

    return sorted({*FEATURES.names, *_pretrained(), *_torchvision.names()})


def open_features(dataset: str, name: str) -> _store.Features:
    """The stored features of a data set; raises HashbenchError where they are absent, damaged or of other data.

    ``name`` is that of the extractor, ``vggf_random`` for random weights.
    """
    found = _store.read(dataset, canonical(name))
    sha256 = standing(dataset).sha256 or open_dataset(dataset).sha256
    if found.provenance["data_sha256"] != sha256:
        raise HashbenchError(
            f"{found.path}: features of other data than {dataset} is now: run hashbench features {dataset} again"
        )
    return found


def _pretrained() -> list[str]:
    return [name for name in MODELS.names if MODELS.get(name).pretrained is not None]


def features_of_run(
    dataset: str, name: str, made_by: Mapping[str, Any], *, device: str = "auto", progress: bool = False
) -> _store.Features:
    """The features called ``name`` of a data set, extracted now where they are not stored yet.

    The weights of a network are the official ones, or random ones where the name ends in ``_random``; features that
    other weights made are replaced. ``made_by`` is stored beside the features.
    """
    from hashbench.features._extract import extract

    model, weights = _model_and_weights(name)
    extract(dataset, model, weights, device=device, made_by=made_by, progress=progress)
    return open_features(dataset, name)


def features_of_items(
    items: NDArray[Any], name: str, value_max: float | None, *, device: str = "auto"
) -> NDArray[np.float32]:
    """The features float32[n, d] of one's own ``items``, whose value ``value_max`` means 1.0."""
    from hashbench.features._extract import extract_items

    return extract_items(items, *_model_and_weights(name), value_max, device=device)


def check_name(name: str) -> str:
    """The canonical name of the features ``name``; raises HashbenchError for features that do not exist."""
    named(*_model_and_weights(name))
    return canonical(name)


def _model_and_weights(name: str) -> tuple[str, str | None]:
    model = canonical(name).removesuffix(RANDOM)
    return model, "none" if canonical(name).endswith(RANDOM) else None
