"""Features of networks with weights that ``hashbench pretrain`` made, and heads that are trained on them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from support.command_line import CommandLine
from support.one_line import one_line
from support.small_training import embedding
from support.stored_toy import bright_images, parts, store_toy
from torchvision import models

from hashbench.foundation import paths
from hashbench.foundation.files import file_sha256
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.weights import BackboneFile, content, read, store
from hashbench.running.datasets.card import load_card
from hashbench.running.features import check_name, extract, features_of_items, open_features

TINY = {"model": "resnet9", "width": 4 / 64}


@pytest.fixture
def images(tmp_path: Path) -> np.ndarray:
    return bright_images(tmp_path)


def network(seed: int, shape: tuple[int, ...] = (8, 8, 3)) -> DeepHasher:
    torch.manual_seed(seed)
    hasher = DeepHasher(embedding(**TINY), shape, 255.0)
    hasher.normalised.mean.fill_(100.0 + seed)
    hasher.normalised.std.fill_(50.0)
    return hasher


def stored(seed: int, shape: tuple[int, ...] = (8, 8, 3)) -> BackboneFile:
    pretrained = network(seed, shape)
    made_content = content(pretrained.layout, pretrained.backbone, pretrained.normalised)
    return read(store(made_content, f"resnet9-w4-toy-s{seed}"))


def test_features_are_what_the_last_layer_sees_and_name_the_weights(images: np.ndarray) -> None:
    one = stored(1)
    two = stored(2)
    done = [extract(load_card("toy"), "resnet9", weights) for weights in (one.path.stem, str(two.path))]
    assert [result.shape for result in done] == [(150, 32)] * 2
    for file, seed in ((one, 1), (two, 2)):
        name = f"resnet9_{file.sha256[:12]}"
        stored_features = open_features(load_card("toy"), name)
        assert stored_features.path == paths.data() / "toy" / "features" / f"{name}.h5"
        assert stored_features.provenance["constants"]["weights_sha256"] == file.sha256
        pretrained = network(seed).eval()
        with torch.inference_mode():
            expected = pretrained.backbone(pretrained.normalised(torch.from_numpy(images)))
        np.testing.assert_allclose(stored_features.array, expected.numpy(), rtol=1e-4, atol=1e-5)
    assert extract(load_card("toy"), f"resnet9-{one.sha256[:12]}").n_made == 0


def test_a_name_without_its_weights_names_a_run_and_nothing_more(images: np.ndarray) -> None:
    assert check_name("ResNet9-0123456789ab") == "resnet9_0123456789ab"
    with one_line("--weights sha256:0123456789ab: no such weights"):
        extract(load_card("toy"), "resnet9_0123456789ab")


@pytest.mark.parametrize(
    "name, weights, complaint",
    [
        ("resnet9", None, "resnet9 is trained from scratch and has no features: .*: --model resnet9 --weights NAME"),
        ("resnet9", "none", "--weights none: no such weights"),
        (
            "resnet9_0123456789ab",
            "mine",
            "already says which weights it has: it cannot be combined with --weights",
        ),
        ("resnet9_0123", None, "unknown features 'resnet9_0123'"),
        ("small_cnn", "resnet9-w4-toy-s1", "its model is resnet9, this run's small_cnn"),
    ],
)
def test_what_cannot_be_extracted_is_one_line(
    name: str, weights: str | None, complaint: str, images: np.ndarray
) -> None:
    stored(1)
    with one_line(complaint):
        extract(load_card("toy"), name, weights)


SQUEEZED = "squeezenet1_1"


def foreign(path: Path, seed: int, *, wrapped: bool = False) -> str:
    """Writes weights of a network of torchvision with ten classes, as its user trained it; returns their checksum."""
    torch.manual_seed(seed)
    tensors = models.get_model(SQUEEZED, weights=None, num_classes=10).state_dict()
    checkpoint = {"epoch": 3, "state_dict": {f"module.{name}": tensor for name, tensor in tensors.items()}}
    torch.save(checkpoint if wrapped else tensors, path)
    return file_sha256(path)[:12]


def test_features_of_ones_own_weights_are_named_by_their_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashbench: CommandLine
) -> None:
    """Two files stand side by side, a checkpoint is what it holds, and runs find the weights after the file is gone."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(30) % 3
    items = (np.random.default_rng(0).integers(0, 60, (30, 8, 8, 3)) + labels[:, None, None, None] * 90).astype(
        np.uint8
    )
    store_toy(tmp_path, items, labels, parts(6, 24, 30))
    files = {f"{SQUEEZED}_{foreign(Path(f'own{seed}.pth'), seed)}": f"own{seed}.pth" for seed in (1, 2)}
    files[f"{SQUEEZED}_{foreign(Path('checkpoint.pth'), 2, wrapped=True)}"] = "checkpoint.pth"
    for name, file in files.items():
        code, out, err = hashbench("features toy --model", SQUEEZED, "--weights", file)
        assert code == 0
        assert out.splitlines()[1] == f"30 items x 512, float32: --set features={name}"
        assert err == ""
        Path(file).unlink()
    one, two, three = (open_features(load_card("toy"), name).array for name in files)
    assert np.array_equal(two, three)
    assert not np.allclose(one, two)
    name = next(iter(files))
    for method in (("itq",), ("talr_ap", "--model", "linear", "--set", "epochs=1", "--set", "batch_size=9")):
        code, out, err = hashbench("train", method[0], "toy --bits 4 --set", f"features={name}", *method[1:])
        assert (code, "4b-s0-" in out) == (0, True), err
    np.testing.assert_allclose(features_of_items(items[:3], name, 255.0), one[:3], rtol=1e-4, atol=1e-5)
    (kept,) = paths.weights().glob(f"{SQUEEZED}-{name[-12:]}.*")
    kept.write_bytes(b"other")
    with one_line("damaged: its checksum is another"):
        features_of_items(items[:3], name, 255.0)
    kept.unlink()
    with one_line(f"hashbench features DATASET --model {SQUEEZED} --weights FILE keeps"):
        features_of_items(items[:3], name, 255.0)
