"""Where a network starts from: the official weights of its authors, a file of one's own, or random numbers.

What a network starts from decides the result, so it is a setting: ``official``, ``none``, or the checksum of the
file, ``sha256:...``. Where the file lies is none.
"""

from pathlib import Path

from torch import nn

from hashbench.errors import HashbenchError
from hashbench.models import MODELS, RANDOM_WEIGHTS, Prepared, Pretrained, fill, identify
from hashbench.training.settings import OFFICIAL, SHA256


def named(model: str, given: str) -> tuple[str, str | None]:
    """The setting ``weights`` and the file that ``--weights`` asks for: none, or a file."""
    pretrained = _of(model)
    if given == RANDOM_WEIGHTS:
        return RANDOM_WEIGHTS, None
    found = identify(model, pretrained.weights, Path(given))
    return OFFICIAL if found.official else f"{SHA256}{found.sha256}", given


def start(model: str, weights: str, file: str | None, backbone: nn.Module, prepared: Prepared) -> None:
    """Fills ``backbone`` and the average image of ``prepared`` as the setting ``weights`` says.

    ``file`` is where the weights are; None is the data folder. Raises HashbenchError where it is absent, or not the
    one that the setting names.
    """
    pretrained = _of(model)
    if weights == RANDOM_WEIGHTS:
        return
    if weights != OFFICIAL and file is None:
        raise HashbenchError(f"{model} starts from a file here, of {weights}: name its place with --weights FILE")
    filled = fill(model, pretrained, backbone, prepared, file)
    if weights != (OFFICIAL if filled.official else f"{SHA256}{filled.sha256}"):
        raise HashbenchError(f"{file}: of sha256:{filled.sha256}, but this cell starts from weights = {weights}")


def refuse(model: str, weights: str) -> None:
    """Raises HashbenchError where weights are asked for by a model that has none."""
    if weights != OFFICIAL:
        _of(model)


def _of(model: str) -> Pretrained:
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        raise HashbenchError(f"{model} has no pretrained weights, it always starts from random ones: no --weights")
    return pretrained
