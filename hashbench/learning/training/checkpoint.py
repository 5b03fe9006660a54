"""Checkpoints: the training state after an epoch, so that a killed run continues and ends with the same result."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zipfile import ZipFile

import torch

from hashbench.foundation import provenance
from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import atomic
from hashbench.foundation.progress import note
from hashbench.learning.training.checkpoint_files import DIGEST, EPOCHS, FILE, is_whole

MadeBy = Mapping[str, str]
UNKNOWN: MadeBy = MappingProxyType({})


def made_by(device: torch.device, precision: str) -> dict[str, str]:
    """What the bits of a training depend on beside its settings: the code, PyTorch, the arithmetic, the processor."""
    processor = " ".join(map(str, provenance.processor().values()))
    if device.type == "cuda":
        processor = torch.cuda.get_device_name(device)
    return {
        "hashbench": f"{provenance.code().version} {provenance.sources()[:10]}",
        "PyTorch": str(torch.__version__),  # a type of its own, which no checkpoint can hold
        "arithmetic": f"{device.type} {precision}",
        "processor": processor,
    }


def save(folder: Path, config: str, epochs_done: int, state: dict[str, Any], made_by: MadeBy = UNKNOWN) -> None:
    """Writes a checkpoint in place of the one before; ``config`` is the digest of the run's configuration."""
    buffer = io.BytesIO()
    torch.save({"config": config, "epochs_done": epochs_done, "state": state, "made_by": dict(made_by)}, buffer)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(EPOCHS, str(epochs_done))
    content = buffer.getbuffer()
    with atomic(folder / FILE) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)


def load(folder: Path, config: str, here: MadeBy = UNKNOWN) -> tuple[int, dict[str, Any]] | None:
    """The number of finished epochs and the state of the checkpoint; None without one.

    A note says where ``made_by`` of the training so far is another than ``here``: then its bits may be others.
    """
    path = folder / FILE
    if not path.exists():
        return None
    remedy = "remove it to start over"
    with retold(lambda cause: f"{path}: a damaged checkpoint ({printable(cause, 100)}): {remedy}"):
        content = read(path)
        epochs_done = int(content["epochs_done"])
        differences = _differences(content.get("made_by", {}), here)
        if content["config"] != config:
            raise HashbenchError(f"{path}: a checkpoint of another configuration{differences}: {remedy}")
        if differences:
            note(f"note: {folder.name} goes on after epoch {epochs_done}, but perhaps not to the bit{differences}")
        return epochs_done, content["state"]


def _differences(there: MadeBy, here: MadeBy) -> str:
    """What differs between two trainings, in brackets; empty if nothing does, and of checkpoints that do not say it."""
    differing = [key for key in here if there.get(key, here[key]) != here[key]]
    shown = [f"its {key} is {printable(there[key])}, here {here[key]}" for key in differing]
    return f" ({'; '.join(shown)})" if shown else ""


def read(path: Path) -> dict[str, Any]:
    """The content of a checkpoint: config, epochs_done, state; raises ValueError if its checksum is another."""
    content = path.read_bytes()
    if not is_whole(content):
        raise ValueError("the content does not have its checksum")
    state: dict[str, Any] = torch.load(io.BytesIO(content[DIGEST:]), map_location="cpu", weights_only=True)
    return state
