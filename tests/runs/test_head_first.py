"""Fine-tuning that starts from a trained head: at its first step the network gives the head's codes."""

from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.stored_toy import bright_images

from hashbench.foundation import paths
from hashbench.foundation.config import Setting
from hashbench.foundation.execution import Execution
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.weights import BackboneFile
from hashbench.running.datasets.card import load_card
from hashbench.running.runs.command import train_command
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import base_hasher, load_hasher, row_of
from hashbench.running.runs.pretrain import classifier_run, pretrain
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

FINE_TUNED: dict[str, Setting] = {
    "bits": 8,
    "model": "resnet9",
    "width": 4 / 64,
    "head": "trained",
    "epochs": 2,
    "batch_size": 30,
    "lr": 0.1,
    "tanh_scale": 5.0,
    "base.epochs": 6,
    "base.lr": 0.5,
}


@pytest.fixture
def images(tmp_path: Path) -> np.ndarray:
    return bright_images(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the results and the weights of the pretraining, which the first test that needs them makes."""
    return tmp_path_factory.mktemp("pretrained")


@pytest.fixture
def weights(images: np.ndarray, trained: Path, tmp_path: Path) -> BackboneFile:
    folders = {trained / "results": tmp_path / "results", trained / "weights": paths.weights()}
    for kept, local in folders.items():
        if kept.exists():
            copytree(kept, local)
    spec = classifier_run(load_card("toy"), None, "resnet9", {"epochs": 4, "batch_size": 20, "width": 0.0625}, seed=0)
    result = pretrain(spec, Store(tmp_path / "results"), Execution(device="cpu")).weights
    assert result is not None
    for kept, local in folders.items():
        if not kept.exists():
            copytree(local, kept)
    return result


def fine_tuned(of: BackboneFile, **changes: Setting) -> Run:
    given = {**FINE_TUNED, "weights": f"sha256:{of.sha256}", **changes}
    return Run.resolve("toy", "s1", "talr_ap", given)


def test_the_base_is_a_linear_head_on_the_features_of_the_weights(weights: BackboneFile) -> None:
    spec = fine_tuned(weights)
    assert spec.base is not None
    settings = spec.base.settings.model_dump()
    expected = {
        "model": "linear",
        "features": f"resnet9_{weights.sha256[:12]}",
        "normalise": "unit_norm",
        "bits": 8,
        "tanh_scale": 5.0,  # as in the run itself
        "epochs": 6,
        "lr": 0.5,
        "head": "random",
        "weights": "official",
    }
    assert {key: settings[key] for key in expected} == expected
    assert spec.base.base is None
    assert {key: spec.name.identity[key] for key in ("head", "base.lr")} == {"head": "trained", "base.lr": 0.5}


def test_at_the_first_step_the_codes_are_the_heads(weights: BackboneFile, images: np.ndarray, tmp_path: Path) -> None:
    spec = fine_tuned(weights)
    store = Store(tmp_path / "results")
    execution = Execution(device="cpu")
    assert spec.base is not None
    head = base_hasher(spec.base, store, execution)
    assert isinstance(head, DeepHasher)
    data = open_data(spec, execution)
    network = DeepHasher(data.run.settings, (8, 8, 3), 255.0)  # type: ignore[arg-type]
    network.start(torch.from_numpy(images[30:]), None, head)
    local = network.encode(images)
    of_head = head.encode(open_data(spec.base, execution).items[:])
    np.testing.assert_allclose(local, of_head, rtol=1e-4, atol=1e-5)
    clear = np.abs(of_head) > 1e-4
    assert clear.mean() > 0.99
    np.testing.assert_array_equal((local > 0)[clear], (of_head > 0)[clear])
    assert len(np.unique(local > 0, axis=0)) > 1


def test_every_layer_is_trained_and_the_centre_stays(weights: BackboneFile, images: np.ndarray, tmp_path: Path) -> None:
    spec = fine_tuned(weights)
    store = Store(tmp_path / "results")
    row = row_of(spec, store, Execution(device="cpu"))
    assert row.status == "ok", row.reason
    assert spec.base is not None
    assert store.named(str(spec.base.name)).status == "ok"
    hasher = load_hasher(row, store, "cpu")
    head = base_hasher(spec.base, store, Execution(device="cpu"))
    assert isinstance(hasher, DeepHasher)
    assert isinstance(head, DeepHasher)
    state = hasher.encoder.state_dict()
    assert torch.equal(state["0.normalised.mean"], head.normalised.mean)
    assert not torch.equal(state["1.weight"], head.encoder[1].weight)
    assert hasher.encode(images[:3]).shape == (3, 8)
    assert str(Run.from_row(row).name) == row.run
    assert "--set head=trained" in train_command(row)
    again = row_of(spec, store, Execution(device="cpu"), again=True)
    assert again.artefacts["histogram"] == row.artefacts["histogram"]


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"weights": "official"}, "head 'trained' needs --weights NAME of hashbench pretrain"),
        ({"weights": "none"}, "head 'trained' needs --weights NAME of hashbench pretrain"),
        ({"head": "random"}, "base.epochs: this run starts from no base: --set head=trained"),
        ({"base.momentun": 0.5}, "unknown setting of talr_ap 'momentun'"),
    ],
)
def test_a_head_that_cannot_be_is_one_line(changes: dict[str, Setting], complaint: str, weights: BackboneFile) -> None:
    with one_line(text=complaint):
        fine_tuned(weights, **changes)
