"""The initial weights of a network: official ones, random numbers, or a safetensors file of ``hashbench pretrain``."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path

from safetensors.torch import save
from torch import nn

from hashbench.foundation import paths
from hashbench.foundation.config import Setting, json_object
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import file_sha256, write_bytes
from hashbench.learning.models import MODELS, RANDOM_WEIGHTS, Pretrained, layers
from hashbench.learning.models import weights as files
from hashbench.learning.training.settings import N_SHOWN, OFFICIAL, SHA256

SUFFIX = ".safetensors"
KEY = "hashbench"
_BACKBONE = "backbone."
_NORMALISED = "normalised."
_MOST_HEADER = 1 << 20


@dataclass(frozen=True)
class Layout:
    """The model, its width (the setting), the normalisation of its input, and the stored items that weights fit."""

    model: str
    width: float
    normalise: str
    item_shape: tuple[int, ...]
    value_max: float


@dataclass(frozen=True)
class BackboneFile:
    """A file of weights that ``hashbench pretrain`` made, and its layout."""

    path: Path
    layout: Layout

    @cached_property
    def sha256(self) -> str:
        """The checksum (hex) of the file."""
        return file_sha256(self.path)

    def fill(self, wanted: Layout, backbone: nn.Module, normalised: nn.Module) -> None:
        """Loads the tensors into modules of the layout ``wanted``; HashbenchError if one is missing or does not fit."""
        self.require(wanted)
        tensors = files.read_safetensors(self.path)
        for module, prefix in ((backbone, _BACKBONE), (normalised, _NORMALISED)):
            own_tensors = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
            files.load_tensors(module, own_tensors, f"{self.path}: {prefix}")

    def require(self, wanted: Layout) -> None:
        """Raises HashbenchError, with the first difference, unless the file has the layout ``wanted``."""
        require_layout(str(self.path), self.layout, wanted)


def require_layout(where: str, layout: Layout, wanted: Layout) -> None:
    """Raises HashbenchError, with the first difference, unless the ``layout`` at ``where`` is the one ``wanted``."""
    for field in fields(Layout):
        here = getattr(layout, field.name)
        needed = getattr(wanted, field.name)
        if here != needed:
            name = field.name.replace("_", " ")
            raise HashbenchError(f"{where}: its {name} is {here}, this run's {needed}: both must be the same")


def content(layout: Layout, backbone: nn.Module, normalised: nn.Module) -> bytes:
    """The content of a file of these weights; the same weights give the same bytes."""
    tensors = {
        prefix + name: value.detach().cpu().contiguous()
        for prefix, module in ((_BACKBONE, backbone), (_NORMALISED, normalised))
        for name, value in module.state_dict().items()
    }
    # safetensors sorts the tensors, but not the keys of metadata: there is one key
    written: bytes = save(tensors, {KEY: json.dumps(asdict(layout), sort_keys=True)})
    return written


def store(weights: bytes, name: str) -> Path:
    """The path of ``weights`` in the data folder, written now if they are not there: NAME-<checksum>.safetensors."""
    path = paths.weights() / f"{name}-{hashlib.sha256(weights).hexdigest()[:N_SHOWN]}{SUFFIX}"
    if not (path.is_file() and path.read_bytes() == weights):
        write_bytes(path, weights)
    return path


def read(path: Path) -> BackboneFile:
    """The file at ``path``; only its header is read. HashbenchError if ``hashbench pretrain`` did not make it."""
    why = "hashbench pretrain did not make this file, and a network without official weights takes no other"
    gone = retold(lambda _: f"{path}: weights file not found; create it with hashbench pretrain", FileNotFoundError)
    with retold(lambda _: f"{path}: {why}", OSError, ValueError, KeyError, TypeError), gone:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json_object(file.read(min(size, _MOST_HEADER)).decode())
        kept = json_object(header["__metadata__"][KEY])
        kept["item_shape"] = tuple(kept["item_shape"])
        layout = Layout(**kept)
    return BackboneFile(path, layout)


def find(name: str) -> BackboneFile:
    """The weights that ``name`` names: a path, the beginning of a stored file's name, or sha256:..."""
    sha256 = name.removeprefix(SHA256)
    is_checksum = sha256 != name
    if not is_checksum and (Path(name).is_file() or "/" in name or name.endswith(SUFFIX)):
        return read(Path(name))
    stored: dict[str, Path] = {}
    for path in paths.weight_files(f"*-{'[0-9a-f]' * N_SHOWN}{SUFFIX}"):
        stored.setdefault(path.stem, path)
    if is_checksum:
        stems = [stem for stem in stored if stem.endswith(f"-{sha256[:N_SHOWN]}")][:1]
    elif name in stored:
        stems = [name]
    else:
        stems = [stem for stem in stored if stem.startswith(name)]
    if len(stems) != 1:
        what = f"{len(stems)} weights files begin with this name" if stems else "no such weights"
        remedy = "hashbench pretrain makes weights, and --weights FILE names others"
        there = ", ".join(stems or stored) or "none"
        raise HashbenchError(f"--weights {name}: {what} in {paths.weights()}: {there}; {remedy}")
    weights_file = read(stored[stems[0]])
    if is_checksum and not weights_file.sha256.startswith(sha256):
        fault = f"damaged: its checksum is {weights_file.sha256}"
        raise HashbenchError(f"{weights_file.path}: {fault}: make it again with pretrain")
    return weights_file


def has_backbone(model: str) -> bool:
    """Whether ``hashbench pretrain`` makes weights of ``model``: one that has no official weights from ImageNet."""
    return MODELS.get(model).pretrained is None


def weights_settings(model: str, name: str) -> tuple[dict[str, Setting], str | None]:
    """The settings that ``--weights`` decides, ``weights`` and of a pretrained file ``width``; and the file or None."""
    if name == RANDOM_WEIGHTS:
        pretrained_model(model)
        return {"weights": RANDOM_WEIGHTS}, None
    if has_backbone(model):
        pretrained = find(name)
        settings: dict[str, Setting] = {"weights": f"{SHA256}{pretrained.sha256}", "width": pretrained.layout.width}
        return settings, str(pretrained.path)
    file = files.identify(model, pretrained_model(model).weights, Path(name))
    return {"weights": _setting_of(file.sha256, official=file.official)}, name


def own_file(weights: str, file: str | None) -> BackboneFile:
    """The file of ``hashbench pretrain`` with the checksum in the setting ``weights``; None: from the data folder."""
    weights_file = find(weights) if file is None else read(Path(file))
    _require_same(file, weights, weights_file.sha256)
    return weights_file


def fill_backbone(model: str, weights: str, file: str | None, backbone: nn.Module, prepared: layers.Prepared) -> None:
    """Loads the weights from ImageNet that ``weights`` names; ``file`` is their path (None: the official file)."""
    if weights == RANDOM_WEIGHTS:
        return
    if weights != OFFICIAL and file is None:
        raise HashbenchError(f"{model} starts from the weights {weights}: name their file with --weights FILE")
    filled = files.fill(model, pretrained_model(model), backbone, prepared, file)
    _require_same(file, weights, filled.sha256, official=filled.official)


def _setting_of(sha256: str | None, *, official: bool) -> str:
    return OFFICIAL if official else f"{SHA256}{sha256}"


def _require_same(file: str | None, weights: str, sha256: str | None, *, official: bool = False) -> None:
    if weights != _setting_of(sha256, official=official):
        raise HashbenchError(f"{file}: its checksum is sha256:{sha256}, but this run starts from weights = {weights}")


def pretrained_model(model: str) -> Pretrained:
    """The input and the official weights of ``model``; raises HashbenchError if it has none."""
    pretrained = MODELS.get(model).pretrained
    if pretrained is None:
        start = "without --weights it starts from random ones, and --weights names a file that hashbench pretrain made"
        raise HashbenchError(f"{model} has no pretrained weights: {start}")
    return pretrained
