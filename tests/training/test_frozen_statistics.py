"""Batch normalisation that keeps the statistics of its initial weights while its scale and shift are trained."""

from pathlib import Path

import pytest
import torch
from support.on_digits import on_digits
from torch import nn

from hashbench.foundation.execution import Execution
from hashbench.running.runs.guard import load_hasher, row_of
from hashbench.running.runs.store import Store


def moved(tmp_path: Path, how: str) -> dict[str, bool]:
    """Whether training resnet9 moved the first running mean and the first scale from their initial 0 and 1."""
    settings = {"bits": 16, "model": "resnet9", "epochs": 1, "lr": 0.001, "batch_norm": how}
    store = Store(tmp_path)
    row = row_of(on_digits("talr_ap", settings), store, Execution(device="cpu"))
    assert row.status == "ok", row.reason
    hasher = load_hasher(row, store, "cpu")
    assert isinstance(hasher, nn.Module)
    first = next(layer for layer in hasher.modules() if isinstance(layer, nn.BatchNorm2d))
    mean = first.get_buffer("running_mean")
    return {"mean": bool((mean != 0).any()), "scale": not torch.equal(first.weight, torch.ones_like(first.weight))}


@pytest.mark.parametrize("how, mean", [("trained", True), ("frozen", False)])
def test_frozen_statistics_stay_and_the_scale_is_trained(how: str, mean: bool, tmp_path: Path) -> None:
    assert moved(tmp_path, how) == {"mean": mean, "scale": True}
