"""The initial weights of a network: the official weights of its authors, the user's own file, or random numbers.

The initial weights decide the result, so they are a setting: ``official``, ``none`` (random), or the checksum of the
file, ``sha256:...``. The path of the file is not a setting.
"""

from pathlib import Path

from torch import nn

from hashbench.errors import HashbenchError
from hashbench.models import MODELS, RANDOM_WEIGHTS, Preprocessor, Pretrained, fill, identify
from hashbench.training.settings import OFFICIAL, SHA256


def weights_setting(model: str, given: str) -> tuple[str, str | None]:
    """The value of the setting ``weights`` and the file (None: no file) for the option ``--weights`` = ``given``."""
    pretrained = _of(model)
    if given == RANDOM_WEIGHTS:
        return RANDOM_WEIGHTS, None
    found = identify(model, pretrained.weights, Path(given))
    return OFFICIAL if found.official else f"{SHA256}{found.sha256}", given


def fill_backbone(model: str, weights: str, file: str | None, backbone: nn.Module, prepared: Preprocessor) -> None:
    """Loads the weights that the setting ``weights`` names into ``backbone``, their average image into ``prepared``.

    ``file`` is the path of the weights; None is the official file in the data folder. Raises HashbenchError if the file
    is missing or has another checksum than the setting.
    """
    pretrained = _of(model)
    if weights == RANDOM_WEIGHTS:
        return
    if weights != OFFICIAL and file is None:
        raise HashbenchError(f"{model} starts from a file here, of {weights}: name its place with --weights FILE")
    filled = fill(model, pretrained, backbone, prepared, file)
    if weights != (OFFICIAL if filled.official else f"{SHA256}{filled.sha256}"):
        raise HashbenchError(f"{file}: of sha256:{filled.sha256}, but this run starts from weights = {weights}")


def require_pretrained(model: str, weights: str) -> None:
    """Raises HashbenchError if the setting ``weights`` names weights and ``model`` has no pretrained weights."""
    if weights != OFFICIAL:
        _of(model)


def _of(model: str) -> Pretrained:
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        raise HashbenchError(f"{model} has no pretrained weights, it always starts from random ones: no --weights")
    return pretrained
