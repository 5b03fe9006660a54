"""The kernel encoder: its responses by a transcription in NumPy, what it keeps, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.small_training import Spread, examples, same, settings

from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.models._layers import KernelResponses
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.loop import Trainer

CHANGES: dict[str, Any] = {"model": "kernel", "width": 0.1, "normalise": "pixel_mean", "augment": "none"}
ANCHORS = 30


def started(data: TrainingData, **changes: Any) -> DeepHasher:
    return Trainer(settings(**{**CHANGES, **changes}), Spread(data), data, "test").hasher


def slow_responses(items: np.ndarray, anchors: np.ndarray, train: np.ndarray) -> np.ndarray:
    """The formula, one pair at a time: exp(-d^2 / (2 s)) less its mean over the training examples, s = mean d^2."""
    squared = np.array([[((x - a) ** 2).sum() for a in anchors] for x in train])
    scale = 2 * squared.mean()
    actual = [[np.exp(-((x - a) ** 2).sum() / scale) for a in anchors] for x in items]
    return np.array(actual) - np.exp(-squared / scale).mean(axis=0)


@pytest.mark.parametrize("shape", [(4, 3, 1), (3, 2, 3), (7,)])
def test_responses_are_those_of_the_formula(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Distances do not change if the mean is subtracted, so the items are taken as they are."""
    data = examples(tmp_path, shape)
    hasher = started(data)
    assert isinstance(hasher.backbone, KernelResponses)
    others = np.random.default_rng(3).integers(0, 17, (9, *shape), np.uint8)
    actual = hasher.backbone(hasher.normalised(torch.from_numpy(others)))
    order = (0, 3, 1, 2) if len(shape) == 3 else (0, 1)
    train, new = ((images / 16).transpose(order).reshape(len(images), -1) for images in (data.items, others))
    anchors = hasher.backbone.anchors.numpy().astype(np.float64) + train.mean(axis=0)
    np.testing.assert_allclose(actual.numpy(), slow_responses(new, anchors, train), atol=2e-6)
    nearest = [np.abs(train - anchor).max(axis=1).argmin() for anchor in anchors]
    np.testing.assert_allclose(anchors, train[nearest], atol=1e-6)
    assert len(set(nearest)) == ANCHORS  # different training examples


def test_columns_are_centred_and_only_the_hash_layer_learns(tmp_path: Path) -> None:
    data = examples(tmp_path)
    hasher = started(data)
    inputs = hasher.normalised(torch.from_numpy(data.items))
    np.testing.assert_allclose(hasher.backbone(inputs).mean(dim=0).numpy(), 0, atol=1e-6)
    assert [name for name, _ in hasher.named_parameters()] == ["encoder.1.weight", "encoder.1.bias"]
    trained = METHODS.get("talr_ap").fit(settings(**CHANGES), data)
    assert isinstance(trained, DeepHasher)
    assert same(trained.backbone, started(data).backbone)
    assert not same(trained.encoder[1], started(data).encoder[1])


def test_responses_stay_in_float32_under_autocast() -> None:
    layer = KernelResponses(4, 3)
    inputs = torch.rand(20, 4, generator=torch.Generator().manual_seed(1))
    layer.fit(inputs)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(inputs), layer(inputs.clone()))
        actual = layer(inputs)
    assert torch.equal(actual, layer(inputs))
    assert actual.dtype == torch.float32


@pytest.mark.parametrize(
    "changes, data, complaint",
    [
        ({"width": 0.25}, {}, "75 anchors from 61 training examples: at most as many"),
        ({"bits": 32}, {}, "32 bits from the 30 features of kernel: at most 30"),
    ],
)
def test_what_it_cannot_do_is_one_line(
    changes: dict[str, Any], data: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    with one_line(complaint):
        started(examples(tmp_path, **data), **changes)
