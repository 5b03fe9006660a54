"""Networks of ImageNet in training: their input, their weights, and where they come from."""

import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from support import tiny_matconvnet as tiny
from support.on_digits import on_digits
from support.one_line import one_line
from support.stored_toy import small_images
from typer.testing import CliRunner

from hashbench.cli._app import app
from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.learning import models
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import as_row_objective, supervision_of
from hashbench.learning.models import Model, vggf
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.loop import Trainer
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.store import Store

LAYERS = vggf.layers(tiny.WIDTHS)
OFFICIAL = vggf.MODEL.pretrained
assert OFFICIAL is not None


@pytest.fixture
def mat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """VGG-F is a narrow one in this test, and this file its official weights."""
    path = tiny.save(tmp_path / "tiny.mat", tiny.layers(), tiny.average_image())
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    weights = replace(OFFICIAL.weights, md5=md5, read_mat=partial(tiny.read, LAYERS))
    small = Model("narrow", tiny.backbone_of("vggf", LAYERS, vggf.SIZE), replace(OFFICIAL, weights=weights))
    get = models.Models.get
    monkeypatch.setattr(models.Models, "get", lambda self, name: small if name == "vggf" else get(self, name))
    return path


def settings(**changes: int | float | str) -> DeepSettings:
    chosen = on_digits("talr_ap", {"bits": 8, "model": "vggf", "epochs": 2, "batch_size": 20, **changes}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen


def examples(folder: Path, weights: str | None = None) -> TrainingData:
    items = np.random.default_rng(0).integers(0, 17, (40, 8, 8, 1), np.uint8)
    return TrainingData(
        items, np.arange(40) % 3, 16.0, seed=1, folder=folder, execution=Execution("cpu", weights=weights)
    )


def official(mat: Path) -> None:
    path = paths.weights() / OFFICIAL.weights.file
    path.parent.mkdir(parents=True)
    path.write_bytes(mat.read_bytes())


def start(changes: DeepSettings, data: TrainingData) -> DeepHasher:
    objective = as_row_objective(lambda relaxed, _: relaxed.square().mean(), supervision_of(data))
    return Trainer(changes, objective, data, "test").hasher


def test_training_starts_from_the_weights_and_subtracts_their_average_image(mat: Path, tmp_path: Path) -> None:
    official(mat)
    data = examples(tmp_path)
    hasher = start(settings(), data)
    filters = next(layer for layer in tiny.layers() if layer["name"] == "conv1")["weights"][0, 0]
    weights = dict(hasher.encoder.named_parameters())
    first = next(values for name, values in weights.items() if name.endswith("conv1.weight"))
    np.testing.assert_array_equal(first.detach().numpy(), filters.transpose(3, 2, 0, 1))
    # a constant image stays constant when it is resized, and 16 means 255; grey is all three channels
    inputs = hasher.normalised(torch.full((1, 8, 8, 1), 16, dtype=torch.uint8))
    expected = 255 - tiny.average_image().transpose(2, 0, 1)
    np.testing.assert_allclose(inputs[0].numpy(), expected, atol=1e-3)


def test_the_official_file_may_lie_anywhere_and_another_is_named_by_its_checksum(mat: Path, tmp_path: Path) -> None:
    start(settings(), examples(tmp_path, str(mat)))
    other = tiny.save(tmp_path / "other.mat", tiny.layers(seed=9), tiny.average_image())
    sha256 = hashlib.sha256(other.read_bytes()).hexdigest()
    mine = settings(weights=f"sha256:{sha256}")
    start(mine, examples(tmp_path, str(other)))
    for chosen, file, complaint in (
        (settings(), other, "this run starts from weights = official"),
        (mine, mat, f"this run starts from weights = sha256:{sha256}"),
        (mine, None, "name their file with --weights FILE"),
    ):
        with one_line(complaint):
            start(chosen, examples(tmp_path, file and str(file)))


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["talr-ap", "--model", "small_cnn", "--weights", "none"], "small_cnn has no pretrained weights"),
        (["talr-ap", "--model", "mlp", "--set", "weights=none"], "mlp has no pretrained weights"),
        (["lsh", "--weights", "none"], "--weights cannot be used with lsh, which has no network"),
        (["talr-ap", "--model", "vggf", "--weights", "nowhere.mat"], "nowhere.mat: weights of vggf not found"),
        (["talr-ap", "--model", "vggf", "--set", "weights=random"], "weights: String should match pattern"),
        (["talr-ap", "--precision", "half"], "precision 'half': one of auto, float32, bfloat16"),
        (["talr-ap", "--set", "precision=float32"], "precision: Input should be 'auto'"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], complaint: str) -> None:
    method, *more = arguments
    result = CliRunner().invoke(app, ["train", method, "digits", "--protocol", "s1", "--bits", "8", *more])
    assert isinstance(result.exception, HashbenchError)
    assert complaint in str(result.exception)


def test_a_cell_with_a_pretrained_network_from_the_command_line(mat: Path, tmp_path: Path) -> None:
    small_images(tmp_path / "root")
    arguments = ["train", "talr-ap", "toy", "--protocol", "s1", "--bits", "8", "--model", "vggf", "--device", "cpu"]
    small = ["--set", "epochs=1", "--set", "lr=0.001", "--set", "batch_size=20"]
    other = tiny.save(tmp_path / "other.mat", tiny.layers(seed=9), tiny.average_image())
    result = CliRunner().invoke(app, [*arguments, *small, "--weights", str(other), "--json"])
    assert result.exception is None, result.exception
    (row,) = Store.default().rows()
    assert row.settings["weights"] == f"sha256:{hashlib.sha256(other.read_bytes()).hexdigest()}"
    hasher = load_hasher(row, Store.default(), "cpu")
    assert hasher.encode(np.zeros((2, 8, 8, 1), np.uint8)).shape == (2, 8)
