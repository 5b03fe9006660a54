"""Training that starts from a network trained before, and what it is given: normalisation, width, the last layer."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.small_training import ROUNDS, Spread, embedding, examples, same

from hashbench.learning.contract import TrainingData
from hashbench.learning.training import checkpoint, loop
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.inputs import MeanSubtraction
from hashbench.learning.training.loop import Trainer
from hashbench.learning.training.settings import TrainingSettings

MLP: dict[str, Any] = {**ROUNDS, "model": "mlp", "optimiser": "adam", "momentum": 0.0, "lr": 0.003}
IMAGES = (16, 16, 3)


def started(chosen: TrainingSettings, data: TrainingData) -> DeepHasher:
    return Trainer(chosen, Spread(data), data, "test").hasher


def trained(chosen: TrainingSettings, data: TrainingData) -> DeepHasher:
    return loop.train(chosen, Spread(data), data, "test")


@pytest.mark.parametrize(
    "changes",
    [MLP, {**MLP, "normalise": "pixel_mean"}, {**MLP, "model": "small_cnn", "epochs": 1, "steps_per_epoch": 2}],
    ids=["mlp", "mean", "cnn"],
)
def test_backbone_and_normalisation_are_the_bases_and_the_last_layer_is_new(
    changes: dict[str, Any], tmp_path: Path
) -> None:
    shape = IMAGES if changes["model"] == "small_cnn" else (8, 8, 1)
    base = trained(embedding(d=9, **changes), examples(tmp_path / "base", shape))
    # other examples: their own mean is not what is subtracted
    others = np.random.default_rng(5).integers(0, 9, (61, *shape), np.uint8)
    data = examples(tmp_path / "hash", shape, items=others, base=base)
    hasher = started(embedding(d=4, **changes), data)
    assert same(hasher.backbone, base.backbone)
    assert same(hasher.normalised, base.normalised)
    alone = started(embedding(d=4, **changes), examples(tmp_path / "hash", shape, items=others))
    assert same(hasher.encoder[1], alone.encoder[1])
    assert not same(alone.normalised, base.normalised)
    features = [
        network.backbone(network.normalised(torch.from_numpy(others))) for network in (hasher.eval(), base.eval())
    ]
    assert torch.equal(*features)


def test_the_base_stays_as_it_was_and_a_loaded_one_is_as_good(tmp_path: Path) -> None:
    base = trained(embedding(d=9, **MLP), examples(tmp_path / "base"))
    before = {name: values.clone() for name, values in base.state_dict().items()}
    first = trained(embedding(**MLP), examples(tmp_path / "first", base=base))
    assert all(torch.equal(values, before[name]) for name, values in base.state_dict().items())
    loaded = DeepHasher.load(embedding(d=9, **MLP), tmp_path / "base", "cpu")
    assert loaded.checksum() == base.checksum() != first.checksum()
    assert same(trained(embedding(**MLP), examples(tmp_path / "second", base=loaded)), first)
    assert not same(trained(embedding(**MLP), examples(tmp_path / "alone")), first)


@pytest.mark.parametrize(
    "changes, data, complaint",
    [
        ({"model": "linear"}, {}, "base: its model is mlp, this run's linear: both must be the same"),
        ({"normalise": "pixel_mean"}, {}, "base: its normalise is channel, this run's pixel_mean"),
        ({}, {"shape": (4, 8, 1)}, r"base: its item shape is \(8, 8, 1\), this run's \(4, 8, 1\)"),
    ],
)
def test_a_base_that_does_not_fit_is_one_line(
    changes: dict[str, Any], data: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    base = started(embedding(d=9, **MLP), examples(tmp_path))
    with one_line(complaint):
        started(embedding(**{**MLP, **changes}), examples(tmp_path, base=base, **data))


def test_a_checkpoint_is_of_one_base(tmp_path: Path) -> None:
    base = started(embedding(d=9, **MLP), examples(tmp_path))
    run = Trainer(embedding(**MLP), Spread(examples(tmp_path)), examples(tmp_path, base=base), "test")
    run.epochs_done = 1
    run.save_checkpoint_if_due()
    Trainer(embedding(**MLP), Spread(examples(tmp_path)), examples(tmp_path, base=base), "test").resume()
    for other in (None, started(embedding(d=9, **MLP), examples(tmp_path, seed=2))):
        with one_line("a checkpoint of another configuration"):
            Trainer(embedding(**MLP), Spread(examples(tmp_path)), examples(tmp_path, base=other), "test").resume()
    (tmp_path / checkpoint.FILE).unlink()


@pytest.mark.parametrize("shape", [(4, 6, 3), (7,)])
def test_pixel_mean_is_subtracted_from_values_of_at_most_one(shape: tuple[int, ...], tmp_path: Path) -> None:
    chosen = embedding(model="linear", normalise="pixel_mean", augment="none")
    data = examples(tmp_path, shape, value_max=16.0)
    hasher = started(chosen, data)
    assert isinstance(hasher.normalised, MeanSubtraction)
    expected = data.items / 16.0 - (data.items / 16.0).mean(0)
    inputs = hasher.normalised(torch.from_numpy(data.items))
    assert inputs.dtype == torch.float32
    channels_first = expected.transpose(0, 3, 1, 2) if len(shape) == 3 else expected
    np.testing.assert_allclose(inputs.numpy(), channels_first, atol=1e-6)
    hasher.save(tmp_path)
    loaded = DeepHasher.load(chosen, tmp_path, "cpu")
    np.testing.assert_array_equal(loaded.encode(data.items), hasher.encode(data.items))
