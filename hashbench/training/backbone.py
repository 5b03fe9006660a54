"""Files of weights that ``hashbench pretrain`` makes: a backbone, the normalisation of its input, and what they fit.

A file holds tensors only (safetensors): ``normalised.*`` and ``backbone.*``, and one line of JSON, the ``Layout``. Its
name ends with the beginning of its checksum, and the whole checksum names the cells that start from it.
"""

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from hashbench.foundation import paths
from hashbench.foundation.config import json_object
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.files import atomic, file_sha256
from hashbench.models import MODELS
from hashbench.training.settings import N_SHOWN, SHA256

SUFFIX, KEY = ".safetensors", "hashbench"
_BACKBONE, _NORMALISED = "backbone.", "normalised."
_MOST_HEADER = 1 << 20


@dataclass(frozen=True)
class Layout:
    """What weights fit: the model, its width (the setting), the normalisation of its input, and the stored items."""

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
        """Loads the tensors into ``backbone`` and ``normalised``, which have the layout ``wanted``.

        Raises HashbenchError if the layouts differ, or if a tensor is missing, not finite or of another shape.
        """
        self.require(wanted)
        tensors = self._tensors()
        for module, prefix in ((backbone, _BACKBONE), (normalised, _NORMALISED)):
            own = {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
            _load(module, own, f"{self.path}: {prefix}")

    def require(self, wanted: Layout) -> None:
        """Raises HashbenchError, with the first difference, unless the file has the layout ``wanted``."""
        found = asdict(self.layout)
        for key, value in asdict(wanted).items():
            if found[key] != value:
                remedy = f": --set width={found[key]:g}" if key == "width" else ""
                what = key.replace("_", " ")
                raise HashbenchError(
                    f"{self.path}: its {what} is {_said(found[key])}, this run's {_said(value)}{remedy}"
                )

    def _tensors(self) -> dict[str, Tensor]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            tensors = load_file(self.path)
        except (SafetensorError, OSError, ValueError) as error:
            raise HashbenchError(f"{self.path}: not a readable {SUFFIX} file ({one_line(error)})") from None
        for name, tensor in tensors.items():
            if tensor.is_floating_point() and not tensor.isfinite().all():
                raise HashbenchError(f"{self.path}: {name} holds values that are not finite")
        return tensors


def content(layout: Layout, backbone: nn.Module, normalised: nn.Module) -> bytes:
    """The content of a file of these weights; the same weights give the same bytes."""
    from safetensors.torch import save

    parts = ((_BACKBONE, backbone), (_NORMALISED, normalised))
    tensors = {
        prefix + name: value.detach().cpu().contiguous()
        for prefix, module in parts
        for name, value in module.state_dict().items()
    }
    # safetensors sorts the tensors, but not the keys of metadata: there is one key
    written: bytes = save(tensors, {KEY: json.dumps(asdict(layout), sort_keys=True)})
    return written


def store(weights: bytes, name: str) -> Path:
    """The path of ``weights`` in the data folder, written now if they are not there: NAME-<checksum>.safetensors."""
    path = paths.weights() / f"{name}-{hashlib.sha256(weights).hexdigest()[:N_SHOWN]}{SUFFIX}"
    if not (path.is_file() and path.read_bytes() == weights):
        with atomic(path) as temporary:
            temporary.write_bytes(weights)
    return path


def read(path: Path) -> BackboneFile:
    """The file at ``path``, of which only the header is read.

    Raises HashbenchError if it is missing or if ``hashbench pretrain`` did not make it.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json_object(file.read(min(size, _MOST_HEADER)).decode())
        kept = json_object(header["__metadata__"][KEY])
        layout = Layout(**{**kept, "item_shape": tuple(kept["item_shape"])})
    except FileNotFoundError:
        raise HashbenchError(f"{path}: no such file of weights: hashbench pretrain makes one") from None
    except (OSError, ValueError, KeyError, TypeError):
        raise HashbenchError(
            f"{path}: not weights that hashbench pretrain made, and a network without official weights takes no others"
        ) from None
    return BackboneFile(path, layout)


def find(given: str) -> BackboneFile:
    """The weights that ``given`` names: a path, the (beginning of the) name of a stored file, or sha256:...

    Stored files are those in the data folder, and those that are committed in results/weights of a clone.

    Raises HashbenchError if there are none or several, or if a file is damaged.
    """
    if given.startswith(SHA256):
        return _of_checksum(given.removeprefix(SHA256))
    if Path(given).is_file() or "/" in given or given.endswith(SUFFIX):
        return read(Path(given))
    found = [path for path in _stored() if path.stem.startswith(given)]
    exact = [path for path in found if path.stem == given]
    if len(exact or found) != 1:
        there = ", ".join(path.stem for path in found or _stored()) or "none"
        what = f"{len(found)} files of weights begin so" if found else "no such weights"
        raise HashbenchError(f"--weights {given}: {what} in {paths.weights()}: {there}")
    return read((exact or found)[0])


def _of_checksum(sha256: str) -> BackboneFile:
    """The stored weights whose checksum begins with ``sha256``, which is compared with that of the whole file."""
    for path in _stored():
        if re.search(rf"-{re.escape(sha256[:N_SHOWN])}$", path.stem):
            found = read(path)
            if found.sha256.startswith(sha256):
                return found
            raise HashbenchError(f"{path}: damaged: its checksum is {found.sha256}: make it again with pretrain")
    raise HashbenchError(
        f"the weights of sha256:{sha256} are not in {paths.weights()}: make them with hashbench pretrain, or name "
        "their place with --weights FILE"
    )


def _stored() -> list[Path]:
    """The files in the data folder, then those of the clone that the data folder does not have."""
    found: dict[str, Path] = {}
    for folder in (paths.weights(), paths.committed_weights()):
        for path in sorted(folder.glob(f"*-{'[0-9a-f]' * N_SHOWN}{SUFFIX}")):
            found.setdefault(path.name, path)
    return list(found.values())


def has_backbone(model: str) -> bool:
    """Whether ``hashbench pretrain`` makes weights of ``model``: one that has no official weights from ImageNet."""
    return MODELS.get(model).pretrained is None


def _load(module: nn.Module, tensors: dict[str, Tensor], where: str) -> None:
    state = module.state_dict()
    for key, expected in state.items():
        if key not in tensors:
            raise HashbenchError(f"{where}{key} is missing")
        if tensors[key].shape != expected.shape:
            raise HashbenchError(f"{where}{key} is {_by(tensors[key])}, {_by(expected)} is expected")
    module.load_state_dict({key: tensors[key] for key in state})


def _by(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape)) or "one number"


def _said(value: Any) -> str:
    if isinstance(value, tuple):
        return " x ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
