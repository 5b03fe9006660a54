"""Loads pretrained weights into a network: from the data folder or a given file, after a check of its checksum."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import file_sha256
from hashbench.learning.models._layers import Prepared
from hashbench.learning.models._matconvnet import AVERAGE
from hashbench.learning.models._model import RANDOM_WEIGHTS, Pretrained, Weights
from hashbench.scoring.codes.files import pt

PARALLEL = "module."  # begins every name where torch's DataParallel trained the network
COUNTERS = "num_batches_tracked"  # a counter of batch normalisation, which is not needed; older files do not have it


@dataclass(frozen=True)
class WeightsFile:
    """The file of a network's weights; the name and the checksum are None for random weights."""

    file: str | None
    sha256: str | None
    official: bool


def fill(name: str, pretrained: Pretrained, backbone: nn.Module, prepared: Prepared, file: str | None) -> WeightsFile:
    """Loads the weights of the network called ``name`` into ``backbone``, and their average image into ``prepared``."""
    if file == RANDOM_WEIGHTS:  # they stay
        return WeightsFile(None, None, official=False)
    weights = pretrained.weights
    path = weights.path
    if file:
        path = Path(file)
    if file is None and weights.fetch is not None and not path.is_file():
        weights.fetch(path)
    identified = identify(name, weights, path)
    if file is None and not identified.official:
        checksum = weights.md5 or weights.sha256
        remedy = f"{weights.remedy}, or name it with --weights if it is meant"
        raise HashbenchError(f"{path}: not the official file, whose checksum is {checksum}: {remedy}")
    tensors = _read(path, weights)
    average = tensors.pop(AVERAGE, None)
    if average is not None:
        with retold(lambda fault: f"{path}: {fault}", HashbenchError):
            prepared.set_mean(average)
    elif weights.brings_average:
        raise HashbenchError(f"{path}: {AVERAGE} is missing: {name} needs the average image of its weights")
    load_tensors(backbone, tensors, f"{path}: layer ")
    return identified


def identify(name: str, weights: Weights, path: Path) -> WeightsFile:
    """The file at ``path``: its checksum, and whether it is the official one of ``name``; HashbenchError without it."""
    if not path.is_file():
        remedy = f"{weights.remedy}, or name their path with --weights FILE (--weights none: random weights)"
        raise HashbenchError(f"{path}: weights of {name} not found: {remedy}")
    sha256 = file_sha256(path)
    if weights.sha256 is not None:
        official = sha256.startswith(weights.sha256)
    elif weights.md5 is not None:
        with path.open("rb") as file:
            official = hashlib.file_digest(file, "md5").hexdigest() == weights.md5
    else:  # no checksum is published
        official = path.name == weights.file
    return WeightsFile(path.name, sha256, official)


def _read(path: Path, weights: Weights) -> dict[str, Tensor]:
    suffix = path.suffix.lower()
    if suffix == ".mat" and weights.read_mat is not None:
        tensors = weights.read_mat(path)
    elif suffix == ".safetensors":
        tensors = read_safetensors(path)
    elif suffix in (".pth", ".pt"):
        tensors = _read_torch(path)
    else:
        kinds = ".safetensors, .pth"
        if weights.read_mat is not None:
            kinds = f".mat, {kinds}"
        raise HashbenchError(f"{path}: weights of this network are read from {kinds}")
    if suffix != ".safetensors":  # they are checked where they are read
        _require_finite(tensors, path)
    if all(name.startswith(PARALLEL) for name in tensors):
        tensors = {name.removeprefix(PARALLEL): tensor for name, tensor in tensors.items()}
    return {weights.rename(name): tensor for name, tensor in tensors.items()}


def _require_finite(tensors: dict[str, Tensor], path: Path) -> None:
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not tensor.isfinite().all():
            raise HashbenchError(f"{path}: {name} holds values that are not finite")


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors file by name; raises HashbenchError if it is damaged or one is not finite."""
    damaged = SafetensorError, OSError, ValueError
    with retold(lambda cause: f"{path}: not a readable .safetensors file ({cause})", *damaged):
        tensors = load_file(path)
    _require_finite(tensors, path)
    return tensors


def _read_torch(path: Path) -> dict[str, Tensor]:
    advice = "save the module's state_dict()"
    content = pt.load(path, advice)
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):  # a checkpoint of a training
        content = content["state_dict"]
    if not isinstance(content, dict) or not all(isinstance(name, str) for name in content):
        raise HashbenchError(f"{path}: a dictionary of tensors by name is expected: {advice}")
    return {name: pt.plain(tensor, f"{path}: {printable(name)}", path) for name, tensor in content.items()}


def load_tensors(module: nn.Module, tensors: dict[str, Tensor], where: str) -> None:
    """Loads the ``tensors`` of ``module``, no others; HashbenchError, at ``where``, if one is missing or misshapen."""
    state = {}
    for key, expected in module.state_dict().items():
        if key in tensors:
            if tensors[key].shape != expected.shape:
                raise HashbenchError(f"{where}{key} is {_by(tensors[key])}, {_by(expected)} is expected")
            state[key] = tensors[key]
        elif not key.endswith(COUNTERS):
            raise HashbenchError(f"{where}{key} is missing; {_by(expected)} is expected")
    module.load_state_dict(state, strict=False)


def _by(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape)) or "one number"
