"""Checkpoints: the training state after an epoch, so that a killed run continues and ends with the same result."""

import hashlib
import io
import sys
from pathlib import Path
from typing import Any

import torch

from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.files import atomic

FILE, BEFORE = "checkpoint.pt", "checkpoint-before.pt"  # the last checkpoint, and the one before it
_DIGEST = 32  # the file starts with 32 bytes of SHA-256: torch's archive does not detect a flipped bit in a tensor


def save(folder: Path, config: str, epochs_done: int, state: dict[str, Any]) -> None:
    """Writes a checkpoint; ``config`` is the digest of the run's configuration. The previous one is kept as BEFORE."""
    buffer = io.BytesIO()
    torch.save({"config": config, "epochs_done": epochs_done, "state": state}, buffer)
    content = buffer.getbuffer()
    with atomic(folder / FILE) as temporary:
        with temporary.open("wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        if (folder / FILE).exists():
            (folder / FILE).replace(folder / BEFORE)


def load(folder: Path, config: str) -> tuple[int, dict[str, Any]] | None:
    """The number of finished epochs and the state of the last checkpoint that is whole; None without any."""
    paths = [path for path in (folder / FILE, folder / BEFORE) if path.exists()]
    remedy = f"remove {'it' if len(paths) == 1 else f'{FILE} and {BEFORE}'} to start over"
    for path in paths:
        try:
            content = read(path)
            made_by, epochs_done, state = content["config"], int(content["epochs_done"]), content["state"]
        except Exception as error:
            reason = f"{path}: a damaged checkpoint ({type(error).__name__}: {one_line(error)})"
            if path == paths[-1]:
                raise HashbenchError(f"{reason}: {remedy}") from None
            print(f"warning: {reason}: going on from the one before", file=sys.stderr)  # noqa: T201
            continue
        if made_by != config:
            raise HashbenchError(f"{path}: a checkpoint of another configuration: {remedy}")
        return epochs_done, state
    return None


def read(path: Path) -> dict[str, Any]:
    """The content of a checkpoint: config, epochs_done, state; raises ValueError if its checksum is another."""
    content = path.read_bytes()
    if hashlib.sha256(memoryview(content)[_DIGEST:]).digest() != content[:_DIGEST]:
        raise ValueError("the content does not have its checksum")
    found: dict[str, Any] = torch.load(io.BytesIO(content[_DIGEST:]), map_location="cpu", weights_only=True)
    return found


def remove(folder: Path) -> None:
    """Removes the checkpoints of a finished run."""
    for name in (FILE, BEFORE):
        (folder / name).unlink(missing_ok=True)
