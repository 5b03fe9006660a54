"""The catalogue of features: the extractors of this folder, and the pretrained networks."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError, unknown
from hashbench.foundation.files import atomic, file_sha256, require_writable
from hashbench.foundation.registry import Catalogue
from hashbench.learning.models import MODELS, RANDOM_WEIGHTS, TIMM, canonical_model
from hashbench.learning.training.settings import N_SHOWN

if TYPE_CHECKING:
    from torch import nn

RANDOM = "_random"  # the end of the name of features that a network with random weights computes


@dataclass(frozen=True)
class FeatureModule:
    """``module`` maps stored items [n, ...] to float32 [n, width]; ``constants`` are all else that decides it."""

    module: nn.Module
    width: int
    constants: Mapping[str, Any]
    stored: Literal["float32", "float16"] = "float32"


@dataclass(frozen=True)
class Extractor:
    """Makes the features of a data set."""

    summary: str
    # from the shape and ``value_max`` of items (None: features); HashbenchError for items it does not accept
    build: Callable[[tuple[int, ...], float | None], FeatureModule]
    batch: int  # items at a time


FEATURES = Catalogue("features", "hashbench.running.features", "EXTRACTOR", Extractor, group="hashbench.features")


def split_checksum(name: str) -> tuple[str, str | None]:
    """The model, and the beginning of the checksum of its weights, in the name of features; None if it names none.

    >>> split_checksum("resnet9_0123456789ab"), split_checksum("alexnet")
    (('resnet9', '0123456789ab'), ('alexnet', None))
    """
    parts = re.fullmatch(rf"(.+)_([0-9a-f]{{{N_SHOWN}}})", canonical_model(name))
    if parts is None or parts[1] not in MODELS:
        return name, None
    return parts[1], parts[2]


def is_own(model: str) -> bool:
    """True where ``hashbench pretrain`` makes weights of ``model``, which has no official ones."""
    return model in MODELS.names and MODELS.get(model).pretrained is None


def kept_weights(model: str, checksum: str) -> Path:
    """The file of weights of ``model`` with this beginning of its checksum, which ``keep_weights`` stored."""
    for path in sorted(paths.weights().glob(f"{model}-{checksum}.*")):
        if not file_sha256(path).startswith(checksum):
            raise HashbenchError(f"{path}: damaged: its checksum is another: remove it, and name the file again")
        return path
    command = f"hashbench features DATASET --model {model} --weights FILE"
    raise HashbenchError(f"the weights of {model}_{checksum} are not in {paths.weights()}: {command} keeps them there")


def keep_weights(source: Path, model: str, sha256: str) -> None:
    """Copies the file ``source`` to where ``kept_weights`` finds it, so that runs need no path."""
    path = paths.weights() / f"{model}-{sha256[:N_SHOWN]}{source.suffix.lower()}"
    if not path.is_file():
        require_writable(path.parent, source.stat().st_size, instead="--data")
        with atomic(path) as temporary:
            shutil.copyfile(source, temporary)


def stored_name(name: str, weights: str | None = None) -> str:
    """The name under which features are stored, found without torch; raises HashbenchError for an unknown name."""
    stem = canonical_model(name)
    if stem in FEATURES or split_checksum(stem)[1] is not None:
        if weights is not None:
            fault = "it is no network, or its name already says which weights it has"
            raise HashbenchError(f"{stem}: {fault}: it cannot be combined with --weights")
        return stem
    if stem not in MODELS:
        raise unknown("features", name, MODELS.like(stem) if stem.startswith(TIMM) else known())
    if MODELS.get(stem).pretrained is None:
        others = f"{', '.join(_pretrained())} and torchvision's have"
        advice = f"or hashbench pretrain makes weights: --model {stem} --weights NAME"
        raise HashbenchError(f"{stem} is trained from scratch and has no features: {others}, {advice}")
    if weights == RANDOM_WEIGHTS:
        return f"{stem}{RANDOM}"
    return stem


@lru_cache(maxsize=1024)
def check_name(name: str) -> str:
    """The canonical form of the features' name; raises HashbenchError if there are no such features."""
    stored_name(*model_and_weights(name))
    return canonical_model(name)


def model_and_weights(name: str) -> tuple[str, str | None]:
    """The model and its weights, None or "none" (random), in the name of features."""
    stem = canonical_model(name)
    if stem.endswith(RANDOM):
        return stem.removesuffix(RANDOM), RANDOM_WEIGHTS
    return stem, None


def known() -> list[str]:
    """The names of all features, torchvision's among them."""
    return sorted({*FEATURES.names, *_pretrained(), *MODELS.of_torchvision()})


def _pretrained() -> list[str]:
    return [name for name, model in MODELS.usable() if model.pretrained is not None]
