"""Checkpoints: the training state after an epoch, so that a killed run continues and ends with the same result."""

import hashlib
import io
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import torch

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.files import atomic
from hashbench.learning.training.checkpoint_files import DIGEST, EPOCHS, FILE, is_whole


def save(folder: Path, config: str, epochs_done: int, state: dict[str, Any]) -> None:
    """Writes a checkpoint in place of the one before; ``config`` is the digest of the run's configuration."""
    buffer = io.BytesIO()
    torch.save({"config": config, "epochs_done": epochs_done, "state": state}, buffer)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(EPOCHS, str(epochs_done))
    content = buffer.getbuffer()
    with atomic(folder / FILE) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(content).digest())
        file.write(content)


def load(folder: Path, config: str) -> tuple[int, dict[str, Any]] | None:
    """The number of finished epochs and the state of the checkpoint; None without one."""
    path = folder / FILE
    if not path.exists():
        return None
    remedy = "remove it to start over"
    with retold(lambda cause: f"{path}: a damaged checkpoint ({printable(cause, 100)}): {remedy}"):
        content = path.read_bytes()
        if not is_whole(content):
            raise ValueError("the content does not have its checksum")
        kept = torch.load(io.BytesIO(content[DIGEST:]), map_location="cpu", weights_only=True)
        if kept["config"] != config:
            raise HashbenchError(f"{path}: a checkpoint of another configuration: {remedy}")
        return int(kept["epochs_done"]), kept["state"]
