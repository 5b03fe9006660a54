"""The initial weights of a network: the official weights of its authors, a file, or random numbers.

The initial weights decide the result, so they are a setting: ``official``, ``none`` (random), or the checksum of the
file, ``sha256:...``. The path of the file is not a setting. The file of a network from ImageNet is in the layout of its
authors; that of any other network is one that ``hashbench pretrain`` made (``training/backbone.py``).
"""

from pathlib import Path

from torch import nn

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.models import MODELS, RANDOM_WEIGHTS, Preprocessor, Pretrained, fill, identify
from hashbench.training.backbone import BackboneFile, find, has_backbone, read
from hashbench.training.settings import OFFICIAL, SHA256


def weights_settings(model: str, given: str) -> tuple[dict[str, Setting], str | None]:
    """The settings that the option ``--weights`` = ``given`` decides, and the file (None: no file).

    They are ``weights`` and, for weights that ``hashbench pretrain`` made, the ``width`` of their network.
    """
    if given != RANDOM_WEIGHTS and has_backbone(model):
        own = find(given)
        return {"weights": f"{SHA256}{own.sha256}", "width": own.layout.width}, str(own.path)
    pretrained = _of(model)
    if given == RANDOM_WEIGHTS:
        return {"weights": RANDOM_WEIGHTS}, None
    found = identify(model, pretrained.weights, Path(given))
    return {"weights": OFFICIAL if found.official else f"{SHA256}{found.sha256}"}, given


def is_own(model: str, weights: str) -> bool:
    """Whether the setting ``weights`` names a file that ``hashbench pretrain`` made."""
    return weights.startswith(SHA256) and has_backbone(model)


def own_file(weights: str, file: str | None) -> BackboneFile:
    """The file that the setting ``weights`` names: ``file``, or the one in the data folder if that is None.

    Raises HashbenchError if it is missing or has another checksum than the setting.
    """
    found = find(weights) if file is None else read(Path(file))
    if weights != f"{SHA256}{found.sha256}":
        raise HashbenchError(f"{file}: of sha256:{found.sha256}, but this run starts from weights = {weights}")
    return found


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


def require_known(model: str, weights: str) -> None:
    """Raises HashbenchError if ``model`` has no weights from ImageNet and the setting ``weights`` is ``none``."""
    if weights == RANDOM_WEIGHTS:
        _of(model)


def _of(model: str) -> Pretrained:
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        raise HashbenchError(
            f"{model} has no pretrained weights: without --weights it starts from random ones, and --weights names a "
            "file that hashbench pretrain made"
        )
    return pretrained
