"""Checkpoints: the state of a run after whole epochs, so that a killed run ends as an undisturbed one."""

from pathlib import Path
from typing import Any

import torch

from hashbench.errors import HashbenchError
from hashbench.files import atomic

FILE = "checkpoint.pt"


def save(folder: Path, config: str, epochs_done: int, state: dict[str, Any]) -> None:
    """Writes the checkpoint of the run whose configuration has the digest ``config``."""
    with atomic(folder / FILE) as temporary:
        torch.save({"config": config, "epochs_done": epochs_done, "state": state}, temporary)


def load(folder: Path, config: str) -> tuple[int, dict[str, Any]] | None:
    """(epochs done, state), or None where there is no checkpoint yet; a foreign or damaged one is an error."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        kept = torch.load(path, map_location="cpu", weights_only=True)
        made_by, epochs_done, state = kept["config"], int(kept["epochs_done"]), kept["state"]
    except Exception as error:
        raise HashbenchError(
            f"{path}: a damaged checkpoint ({type(error).__name__}): remove it to start over"
        ) from None
    if made_by != config:
        raise HashbenchError(f"{path}: a checkpoint of another configuration: remove it to start over")
    return epochs_done, state


def remove(folder: Path) -> None:
    """Removes the checkpoint of a finished run."""
    (folder / FILE).unlink(missing_ok=True)
