"""How the encoder is computed: the precision changes the rounding, and neither the cell nor its result."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.on_digits import on_digits

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store


def cell(seed: int = 0, **changes: int | str) -> Run:
    return on_digits("talr_ap", {"bits": 16, **changes}, seed=seed)


def settings(**changes: int | str) -> DeepSettings:
    chosen = cell(**changes).settings
    assert isinstance(chosen, DeepSettings)
    return chosen


@pytest.mark.parametrize(
    "option, device, used",
    [
        ("auto", "cpu", "float32"),
        ("auto", "cuda:1", "bfloat16"),
        ("float32", "cuda", "float32"),
        ("bfloat16", "cpu", "bfloat16"),
    ],
)
def test_the_option_comes_before_the_device(option: str, device: str, used: str) -> None:
    assert settings().precision_on(device, option) == used


def fit(folder: Path, precision: str) -> DeepHasher:
    folder.mkdir()
    rng = np.random.default_rng(0)
    items = rng.integers(0, 256, (60, 16, 16, 3), np.uint8)
    data = TrainingData(
        items, np.arange(60) % 3, 255.0, seed=1, folder=folder, execution=Execution("cpu", precision=precision)
    )
    changes: Any = {"bits": 8, "model": "small_cnn", "epochs": 2, "batch_size": 30, "lr": 0.01, "augment": "crop_flip"}
    hasher = METHODS.get("talr_ap").fit(Run.resolve("cifar10", "s1", "talr_ap", changes).settings, data)
    assert isinstance(hasher, DeepHasher)
    return hasher


def apart(one: DeepHasher, other: DeepHasher) -> float:
    """The largest difference of a weight."""
    pairs = zip(one.encoder.parameters(), other.encoder.parameters(), strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)


def test_bfloat16_is_really_used_and_encoding_is_not_in_it(tmp_path: Path) -> None:
    usual = fit(tmp_path / "usual", "auto")
    half = fit(tmp_path / "half", "bfloat16")
    assert 1e-5 < apart(usual, half) < 0.1
    items = np.random.default_rng(2).integers(0, 256, (3, 16, 16, 3), np.uint8)
    expected = half(half.normalised(torch.from_numpy(items))).detach().numpy()
    np.testing.assert_allclose(half.encode(items), expected, rtol=1e-5, atol=1e-5)


def test_a_row_says_how_it_was_computed_and_is_the_same_cell(tmp_path: Path) -> None:
    chosen = cell(epochs=1)
    rows = [
        row_of(chosen, Store(tmp_path / precision), Execution("cpu", precision=precision))
        for precision in ("auto", "bfloat16")
    ]
    assert rows[0].run == rows[1].run
    assert [row.arithmetic and row.arithmetic.model_dump() for row in rows] == [
        {"precision": "float32", "compiled": False, "channels_last": True, "processes": 1},
        {"precision": "bfloat16", "compiled": False, "channels_last": True, "processes": 1},
    ]
    shallow = on_digits("lsh", {"bits": 8})
    assert row_of(shallow, Store(tmp_path)).arithmetic is None
