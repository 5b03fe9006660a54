"""A network cut in two: the first part's activations are stored, the last layers are trained on them and on copies."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.small_training import Spread, examples, settings
from support.stored_toy import small_images
from tqdm import tqdm

from hashbench.learning.models import MODELS
from hashbench.learning.models._layers import Preprocessor
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.loop import Trainer
from hashbench.running.datasets.store import open_dataset
from hashbench.running.features import extract, named, read
from hashbench.running.features._copies import square
from hashbench.running.runs.data import open_data
from hashbench.running.runs.run import Run

WHOLE = "efficientnet_lite0_32px"
CUT = "block11"
FIRST = f"{WHOLE}_before_{CUT}"
LAST = f"{WHOLE}_from_{CUT}"


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path))
    return small_images(tmp_path)


def last_layers(**changes: Any) -> DeepHasher:
    hasher = DeepHasher(settings(model=LAST, normalise="channel", augment="none", **changes), (448,), 1.0)
    hasher.start(torch.zeros(2, 448))
    return hasher


def test_the_two_parts_compute_what_the_network_does(card: Any) -> None:
    stored, whole = (extract(card, name) for name in (FIRST, WHOLE))
    assert stored.shape == (150, 448)
    assert stored.stored == "float16"
    activations = read(card.name, FIRST).array
    expected = read(card.name, WHOLE).array
    assert activations.dtype == np.float16
    assert whole.stored == "float32"
    assert expected.dtype == np.float32
    hasher = last_layers().eval()
    with torch.inference_mode():
        actual = hasher.backbone(hasher.normalised(torch.from_numpy(activations)))
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(actual, expected, atol=0.02)  # of float16
    exact = named(FIRST)[1].build((8, 8, 1), 255.0).module(torch.from_numpy(open_dataset(card).items[:20]))
    with torch.inference_mode():
        np.testing.assert_allclose(hasher.backbone(exact), expected[:20], atol=1e-4)


def test_training_leaves_the_statistics_of_batch_normalisation(tmp_path: Path) -> None:
    data = examples(tmp_path, items=np.random.default_rng(1).normal(0, 2, (61, 448)).astype(np.float16), value_max=1.0)
    before = last_layers().state_dict()
    chosen = settings(model=LAST, normalise="channel", augment="none", lr=0.001)
    trainer = Trainer(chosen, Spread(data), data, "any")
    trainer.epoch(0, tqdm(disable=True))
    after = trainer.hasher.state_dict()
    moved = {name for name, values in after.items() if not torch.equal(values, before[name])}
    assert "encoder.0.block11.expand.0.weight" in moved
    assert "encoder.0.block11.expand.1.weight" in moved
    assert not [name for name in moved if "running" in name or "tracked" in name]


@pytest.mark.parametrize(
    "name, shape, complaint",
    [
        (f"{WHOLE}_from_block16", (448,), "unknown layer of .* at which it can be cut 'block16': did you mean"),
        (f"{WHOLE}_before_stem", (3, 32, 32), "unknown layer of .* at which it can be cut 'stem'"),
        (LAST, (8, 8, 3), "from block11 on takes the 448 activations before it, .*_before_block11, not items"),
        ("resnet18_64px_from_layer4", (448,), "resnet18_64px is not one chain of layers: it cannot be cut at layer4"),
        ("resnet9_from_pool", (448,), "resnet9 has not seen ImageNet"),
    ],
)
def test_a_cut_that_cannot_be(name: str, shape: tuple[int, ...], complaint: str) -> None:
    with one_line(complaint):
        MODELS.get(name).backbone(shape)


def test_a_copy_is_a_square_of_the_image_perhaps_flipped(card: Any) -> None:
    ids = np.array([3, 140, 7])
    done = extract(card, FIRST, copies=(4, ids))
    actual = read(card.name, done.path.stem).array.reshape(4, 3, -1)
    items = open_dataset(card).items
    model = MODELS.get(FIRST)
    assert model.pretrained is not None
    network = named(FIRST)[1].build((8, 8, 1), 255.0).module
    for copy, place in np.ndindex(4, 3):
        top, left, side, flipped = square(ids[place], copy, 8, 8)
        assert 6 <= side <= 8
        part = items[ids[place], top : top + side, left : left + side]
        prepared = Preprocessor(model.pretrained.input, part.shape, 255.0)(torch.from_numpy(part[None].copy()))
        with torch.inference_mode():
            expected = network.backbone(prepared.flip(3) if flipped else prepared)
        np.testing.assert_allclose(actual[copy, place], expected[0], atol=0.02)
    drawn = {square(item, copy, 8, 8) for item in range(20) for copy in range(20)}
    assert {side for _, _, side, _ in drawn} == {6, 7, 8}
    assert {flipped for *_, flipped in drawn} == {True, False}
    # another list of items, and more copies, have the same ones of an item
    again = read(card.name, extract(card, FIRST, copies=(5, ids[1:])).path.stem).array.reshape(5, 2, -1)
    np.testing.assert_array_equal(again[:4], actual[:, 1:])


def test_a_run_has_the_features_that_its_model_takes_and_copies_of_them(card: Any) -> None:
    setting_values = {
        "bits": 6,
        "model": LAST,
        "copies": 3,
        "head": "random",
        "normalise": "channel",
        "augment": "none",
    }
    rest = {"epochs": 1, "batch_size": 30, "lr": 0.05, "lr_decay": 1.0, "lr_decay_every": 0, "weight_decay": 0.0}
    run = Run.resolve(card.name, "s1", "talr_ap", {**setting_values, **rest})
    assert run.settings.features == FIRST
    data = open_data(run)
    assert data.copies is not None
    assert data.copies.shape == (3, 90, 448)
    plain = open_data(Run.resolve(card.name, "s1", "talr_ap", {**setting_values, **rest, "copies": 0}))
    assert plain.copies is None
    assert data.features_sha256 != plain.features_sha256


def test_the_head_is_trained_on_the_features_of_the_whole_network(card: Any) -> None:
    setting_values = {"bits": 6, "model": LAST, "head": "trained", "normalise": "channel", "augment": "none"}
    rest = {"epochs": 1, "batch_size": 30, "lr": 0.05, "lr_decay": 1.0, "lr_decay_every": 0, "weight_decay": 0.0}
    run = Run.resolve(card.name, "s1", "talr_ap", {**setting_values, **rest})
    assert run.base is not None
    assert run.base.settings.features == WHOLE
    assert run.base.settings.model == "linear"
    # the stored activations would be those of other layers than the ones that are trained
    for weights in ("none", f"sha256:{'0' * 64}"):
        with one_line(f"{LAST} takes activations of official weights.* or {WHOLE}$"):
            Run.resolve(card.name, "s1", "talr_ap", {**setting_values, **rest, "weights": weights, "head": "random"})
