"""Training that starts from weights that ``hashbench pretrain`` made."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save
from support.command_line import CommandLine
from support.one_line import one_line
from support.small_training import embedding, examples

from hashbench.foundation import paths
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.weights import BackboneFile, content, find, read, store
from hashbench.running.runs.store import Store

TINY = {"model": "resnet9", "width": 4 / 64}
SHAPE = (8, 8, 3)


def network(seed: int = 0, **changes: object) -> DeepHasher:
    torch.manual_seed(seed)
    return DeepHasher(embedding(**{**TINY, **changes}), SHAPE, 16.0)


@pytest.fixture
def weights() -> BackboneFile:
    """Weights in the data folder, and a normalisation that no other data has."""
    trained = network(seed=7)
    trained.normalised.mean.fill_(3.5)
    made_content = content(trained.layout, trained.backbone, trained.normalised)
    assert made_content == content(trained.layout, trained.backbone, trained.normalised)
    return read(store(made_content, "resnet9-w4-toy-s0"))


def test_a_network_starts_from_its_weights_and_their_normalisation(weights: BackboneFile, tmp_path: Path) -> None:
    data = examples(tmp_path, SHAPE)
    for name in (None, str(weights.path)):
        hasher = network(weights=f"sha256:{weights.sha256}")
        hasher.start(torch.from_numpy(data.items), name)
        tensors = load_file(weights.path)
        for key, values in hasher.backbone.state_dict().items():
            assert torch.equal(values, tensors[f"backbone.{key}"]), key
        assert hasher.normalised.mean.tolist() == [3.5, 3.5, 3.5]
    plain = network()
    plain.start(torch.from_numpy(data.items))
    assert plain.normalised.mean.tolist() != [3.5, 3.5, 3.5]


def test_weights_are_found_by_name_by_checksum_or_by_path(weights: BackboneFile, tmp_path: Path) -> None:
    elsewhere = shutil.copy(weights.path, tmp_path / "mine.safetensors")
    names = (weights.path.stem, "resnet9-w4", f"sha256:{weights.sha256}", str(elsewhere))
    assert {find(name).sha256 for name in names} == {weights.sha256}
    other = network(seed=8)
    second = read(store(content(other.layout, other.backbone, other.normalised), "resnet9-w4-toy-s1"))
    with one_line(r"--weights resnet9-w4: 2 weights files begin .* in .*-s0-.*-s1-"):
        find("resnet9-w4")
    assert find("resnet9-w4-toy-s1").sha256 == second.sha256


@pytest.mark.parametrize(
    "changes, complaint",
    [
        ({"width": 8 / 64}, "its width is 0.0625, this run's 0.125"),
        ({"model": "small_cnn", "width": 1.0}, "its model is resnet9, this run's small_cnn"),
    ],
)
def test_weights_of_another_network_are_one_line(
    changes: dict[str, object], complaint: str, weights: BackboneFile, tmp_path: Path
) -> None:
    hasher = network(weights=f"sha256:{weights.sha256}", **changes)
    with one_line(complaint):
        hasher.start(torch.from_numpy(examples(tmp_path, SHAPE).items))


def test_another_checksum_than_the_cells_is_one_line(weights: BackboneFile, tmp_path: Path) -> None:
    items = torch.from_numpy(examples(tmp_path, SHAPE).items)
    hasher = network(weights=f"sha256:{'0' * 64}")
    with one_line(f"its checksum is sha256:{weights.sha256}, but this run starts from weights = sha256:0"):
        hasher.start(items, str(weights.path))
    with one_line(r"--weights sha256:000.*: no such weights in .*pretrain makes weights"):
        hasher.start(items)


def damaged(weights: BackboneFile, how: str) -> bytes:
    whole = weights.path.read_bytes()
    if how == "cut":
        return whole[: len(whole) // 2]
    if how == "no layout":
        return save(load_file(weights.path))  # type: ignore[no-any-return]
    if how == "not finite":
        trained = network()
        trained.normalised.mean.fill_(torch.nan)
        return content(trained.layout, trained.backbone, trained.normalised)
    return b"nonsense"


@pytest.mark.parametrize(
    "how, complaint",
    [
        ("cut", "not a readable .safetensors file"),
        ("no layout", "hashbench pretrain did not make this file"),
        ("not finite", "normalised.mean holds values that are not finite"),
        ("nonsense", "hashbench pretrain did not make this file"),
    ],
)
def test_damage_is_one_line(how: str, complaint: str, weights: BackboneFile, tmp_path: Path) -> None:
    path = tmp_path / "mine.safetensors"
    path.write_bytes(damaged(weights, how))
    hasher = network()
    with one_line(complaint):
        read(path).fill(hasher.layout, hasher.backbone, hasher.normalised)


def test_stored_weights_that_changed_are_noticed(weights: BackboneFile) -> None:
    content = bytearray(weights.path.read_bytes())
    content[-1] ^= 1
    sha256 = weights.sha256
    weights.path.write_bytes(content)
    with one_line("damaged: its checksum is"):
        find(f"sha256:{sha256}")


TRAIN = ["train", "talr-ap", "digits", "--bits", "8", "--model", "small_cnn", "--set", "epochs=1"]


def test_the_cell_names_the_checksum(hashbench: CommandLine) -> None:
    trained = [*TRAIN[:1], "classifier", "digits", "--model", "small_cnn", "--set", "classes=10", "--set", "epochs=1"]
    hashbench.done("pretrain digits --model small_cnn --set epochs=1 --precision float32")
    hashbench.done(*trained)  # the same run: stored
    weights_file = find("small_cnn-digits-s0")
    hashbench.done(*TRAIN, "--weights small_cnn-digits-s0")
    row = Store.default().named("digits-s1-talr_ap-8b-s0")
    assert row.settings["weights"] == f"sha256:{weights_file.sha256}"
    assert f"--weights sha256:{weights_file.sha256}" in hashbench.done("show", row.run).out
    again = hashbench(*TRAIN, "--weights", f"sha256:{weights_file.sha256}")
    assert again[0] == 0
    assert again[1].splitlines()[0] == f"run  {row.run}"


@pytest.mark.parametrize(
    "name, complaint",
    [
        ("none", "small_cnn has no pretrained weights: without --weights it starts from random ones"),
        ("nothing", "--weights nothing: no such weights in "),
        ("gone/x.safetensors", "gone/x.safetensors: weights file not found; create it with hashbench pretrain"),
    ],
)
def test_weights_that_cannot_be_are_one_line(name: str, complaint: str, hashbench: CommandLine) -> None:
    err = hashbench.refused(*TRAIN, "--weights", name)
    assert complaint in err
    assert not (paths.results() / "runs").exists()
