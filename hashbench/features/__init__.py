"""Features of a data set's items, for the shallow methods: one file an extractor, and the pretrained networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.store import open_dataset, standing
from hashbench.errors import HashbenchError
from hashbench.features import _store
from hashbench.features._catalogue import FEATURES, RANDOM, known, named
from hashbench.features._extract import ExtractionResult, extract, extract_items
from hashbench.features._extractor import Extractor, FeatureModule
from hashbench.features._store import Features
from hashbench.registry import canonical

__all__ = [
    "FEATURES",
    "ExtractionResult",
    "Extractor",
    "FeatureModule",
    "Features",
    "check_name",
    "extract",
    "features_of_items",
    "features_of_run",
    "known",
    "named",
    "open_features",
]


def open_features(dataset: str, name: str) -> Features:
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


def features_of_run(
    dataset: str, name: str, made_by: Mapping[str, Any], *, device: str = "auto", progress: bool = False
) -> Features:
    """The features called ``name`` of a data set, extracted now where they are not stored yet.

    The weights of a network are the official ones, or random ones where the name ends in ``_random``; features that
    other weights made are replaced. ``made_by`` is stored beside the features.
    """
    model, weights = _model_and_weights(name)
    extract(dataset, model, weights, device=device, made_by=made_by, progress=progress)
    return open_features(dataset, name)


def features_of_items(
    items: NDArray[Any], name: str, value_max: float | None, *, device: str = "auto"
) -> NDArray[np.float32]:
    """The features float32[n, d] of one's own ``items``, whose value ``value_max`` means 1.0."""
    return extract_items(items, *_model_and_weights(name), value_max, device=device)


def check_name(name: str) -> str:
    """The canonical name of the features ``name``; raises HashbenchError for features that do not exist."""
    named(*_model_and_weights(name))
    return canonical(name)


def _model_and_weights(name: str) -> tuple[str, str | None]:
    model = canonical(name).removesuffix(RANDOM)
    return model, "none" if canonical(name).endswith(RANDOM) else None
