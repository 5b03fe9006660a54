"""The catalogue of features: the extractors of this folder, and the pretrained networks."""

from hashbench.errors import HashbenchError, unknown
from hashbench.features._extractor import Extractor
from hashbench.models import MODELS, RANDOM_WEIGHTS, TORCHVISION
from hashbench.registry import Catalogue, canonical

RANDOM = "_random"  # the end of the name of features that a network with random weights computes
FEATURES = Catalogue("features", "hashbench.features", "EXTRACTOR", Extractor, group="hashbench.features")


def named(name: str, weights: str | None = None) -> tuple[str, Extractor]:
    """The name under which features are stored, and the extractor called ``name``.

    It is an entry of this folder or a pretrained network (vggf, alexnet, alexnet_caffe or a classifier of torchvision),
    whose features are the inputs of its last layer. ``weights`` is a file, or "none" for random weights, whose features
    are stored under another name. Raises HashbenchError, with similar names, for an unknown name.
    """
    stem = canonical(name).removeprefix(TORCHVISION)
    stored = stored_name(name, weights)
    if stem in FEATURES:
        return stored, FEATURES.get(stem)
    from hashbench.features import _network

    return stored, _network.extractor(stem, weights)


def stored_name(name: str, weights: str | None = None) -> str:
    """The name under which the features called ``name`` are stored; raises HashbenchError for an unknown name.

    It does not import torch, so that the cells of a table are named at once.
    """
    stem = canonical(name).removeprefix(TORCHVISION)
    if stem in FEATURES:
        if weights is not None:
            raise HashbenchError(f"{stem} is no network: it has no --weights")
        return stem
    if stem not in MODELS:
        raise unknown("features", name, known())
    if MODELS.get(stem).pretrained is None:
        raise HashbenchError(
            f"{stem} is trained from scratch and has no features: {', '.join(_pretrained())} and torchvision's have"
        )
    return f"{stem}{RANDOM}" if weights == RANDOM_WEIGHTS else stem


def known() -> list[str]:
    """The names of all features, torchvision's among them."""
    return sorted({*FEATURES.names, *_pretrained(), *MODELS.of_torchvision()})


def _pretrained() -> list[str]:
    return [name for name, model in MODELS.usable() if model.pretrained is not None]
