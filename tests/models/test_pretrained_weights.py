import hashlib
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from support import tiny_matconvnet as tiny
from support.one_line import one_line
from torch import nn

from hashbench.foundation import paths
from hashbench.learning.models import MODELS, Pretrained, vggf
from hashbench.learning.models._layers import Preprocessor
from hashbench.learning.models._weights import fill

LAYERS = vggf.layers(tiny.WIDTHS)
OFFICIAL = vggf.MODEL.pretrained
assert OFFICIAL is not None
SMALL = replace(OFFICIAL, weights=replace(OFFICIAL.weights, read_mat=partial(tiny.read, LAYERS)))


def network() -> tuple[nn.Module, Preprocessor]:
    return tiny.network(LAYERS)[0].eval(), Preprocessor(SMALL.input, (32, 32, 3), 255)


def filled(path: Path, pretrained: Pretrained = SMALL) -> tuple[nn.Module, Preprocessor]:
    backbone, prepared = network()
    fill("vggf", pretrained, backbone, prepared, str(path))
    return backbone, prepared


@pytest.fixture
def mat(tmp_path: Path) -> Path:
    return tiny.save(tmp_path / "net.mat", tiny.layers(), tiny.average_image())


def test_an_imported_network_answers_as_the_slow_one(mat: Path) -> None:
    backbone, prepared = filled(mat)
    images = np.random.default_rng(3).integers(0, 256, (2, 224, 224, 3), np.uint8)
    native = Preprocessor(SMALL.input, (224, 224, 3), 255)
    native.set_mean(prepared.mean)
    with torch.inference_mode():
        actual = backbone(native(torch.from_numpy(images))).numpy()
    expected = [tiny.forward(tiny.layers(), image - tiny.average_image().astype(np.float64)) for image in images]
    assert np.count_nonzero(expected) >= 3
    np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=1e-3 * np.max(expected))


def test_three_means_are_taken_as_an_average_image(tmp_path: Path) -> None:
    means = np.array([120.0, 110.0, 100.0], np.float32).reshape(1, 1, 3)
    _, prepared = filled(tiny.save(tmp_path / "net.mat", tiny.layers(), means))
    assert prepared.mean.shape == (3, 224, 224)
    assert prepared.mean[:, 5, 7].tolist() == [120, 110, 100]


def changed(name: str, /, **values: object) -> list[dict]:
    return [{**layer, **(values if layer["name"] == name else {})} for layer in tiny.layers()]


ODD = tiny.cell([np.zeros((3, 3, 5, 9), np.float32), np.zeros((1, 9), np.float32)])
INFINITE = tiny.cell([np.full((11, 11, 3, 3), np.inf), np.ones(3)])


@pytest.mark.parametrize(
    "net, side, complaint",
    [
        (changed("conv3", name="other"), 224, "not a network of MatConvNet with these layers: 'conv3'"),
        (changed("fc7", weights=tiny.cell([np.zeros(3)])), 224, "not a network of MatConvNet with these layers"),
        (changed("conv4", weights=ODD), 224, "layer conv4.weight is 9 x 5 x 3 x 3, 4 x 5 x 3 x 3 is expected"),
        (changed("conv1", weights=INFINITE), 224, "not finite"),
        (tiny.layers(), 227, "an average image of shape (3, 227, 227)"),
    ],
)
def test_a_network_that_is_another_is_refused(tmp_path: Path, net: list[dict], side: int, complaint: str) -> None:
    path = tiny.save(tmp_path / "net.mat", net, np.zeros((side, side, 3), np.float32))
    with one_line(text=complaint):
        filled(path)


def test_the_official_file_is_compared_before_it_is_read(mat: Path) -> None:
    place = paths.data() / "weights" / "imagenet-vgg-f.mat"
    with one_line(f"get https://www.vlfeat.org.*put it at {place}"):
        fill("vggf", SMALL, *network(), None)
    place.parent.mkdir(parents=True)
    place.write_bytes(b"no matter what")
    with one_line("not the official file, whose checksum is f666c61d"):
        fill("vggf", SMALL, *network(), None)
    place.write_bytes(mat.read_bytes())
    md5 = hashlib.md5(mat.read_bytes()).hexdigest()
    known = replace(SMALL, weights=replace(SMALL.weights, md5=md5))
    done = fill("vggf", known, *network(), None)
    assert done.file == "imagenet-vgg-f.mat"
    assert done.official is True
    assert done.sha256 == hashlib.sha256(mat.read_bytes()).hexdigest()
    assert not fill("vggf", SMALL, *network(), str(mat)).official


def test_other_files_carry_the_same_tensors(tmp_path: Path, mat: Path) -> None:
    tensors = tiny.read(LAYERS, mat)
    safetensors.torch.save_file(tensors, tmp_path / "net.safetensors")
    torch.save(tensors, tmp_path / "net.pth")
    reference, prepared = filled(mat)
    for name in ("net.safetensors", "net.pth"):
        backbone, other = filled(tmp_path / name)
        assert torch.equal(other.mean, prepared.mean)
        for one, two in zip(reference.parameters(), backbone.parameters(), strict=True):
            assert torch.equal(one, two)
    del tensors["average_image"]
    torch.save(tensors, tmp_path / "bare.pth")
    with one_line("average_image is missing"):
        filled(tmp_path / "bare.pth")


class Evil:
    def __reduce__(self):
        return print, ("executed",)


def test_a_pickle_is_refused_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"conv1.weight": Evil()}, tmp_path / "evil.pth")
    (tmp_path / "plain.pth").write_bytes(pickle.dumps({"conv1.weight": Evil()}))
    (tmp_path / "cut.pth").write_bytes((tmp_path / "evil.pth").read_bytes()[:200])
    for name in ("evil.pth", "plain.pth", "cut.pth"):
        with one_line("never opened here"):
            filled(tmp_path / name)
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "name, content, complaint",
    [
        ("net.safetensors", b"\x08\0\0\0\0\0\0\0nonsense", "not a readable .safetensors"),
        ("net.mat", b"nonsense", "not a readable .mat"),
        ("net.onnx", b"", "weights of this network are read from .mat, .safetensors, .pth"),
    ],
)
def test_a_file_of_no_weights_is_refused(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with one_line(complaint):
        filled(tmp_path / name)


def test_a_layer_above_the_backbone_is_left_out(tmp_path: Path) -> None:
    model = MODELS.get("squeezenet1_1")
    assert model.pretrained is not None
    backbone, _ = model.backbone((3, 224, 224))
    tensors = {name: torch.full_like(value, 0.5) for name, value in backbone.state_dict().items()}
    torch.save({**tensors, "classifier.1.weight": torch.zeros(1000, 512, 1, 1)}, tmp_path / "net.pth")
    fill(
        "squeezenet1_1",
        model.pretrained,
        backbone,
        Preprocessor(model.pretrained.input, (8, 8, 1), 16),
        f"{tmp_path}/net.pth",
    )
    assert all((value == 0.5).all() for value in backbone.parameters())


def test_caffes_alexnet_reads_groups(tmp_path: Path) -> None:
    layers = (
        tiny.Conv("conv1", 4, 11, stride=4),
        tiny.Conv("conv2", 6, 5, pad=2, groups=2),
    )
    filters = np.random.default_rng(0).normal(size=(5, 5, 2, 6)).astype(np.float32)
    weights = tiny.cell([filters, np.zeros((1, 6), np.float32)])
    net = [tiny.layers(widths=(4, *tiny.WIDTHS[1:]))[0], {"name": "relu1", "type": "relu"}]
    net += [{"name": "conv2", "type": "conv", "weights": weights}, {"name": "relu2", "type": "relu"}]
    tensors = tiny.read(layers, tiny.save(tmp_path / "net.mat", net, tiny.average_image()))
    module, _ = tiny.network(layers)
    module.load_state_dict({name: value for name, value in tensors.items() if name != "average_image"})
    x = np.random.default_rng(1).normal(size=(6, 6, 4))
    halves = [
        tiny.convolved(x[:, :, h : h + 2], filters[..., h + h // 2 : h + h // 2 + 3], np.zeros(3), 1, 2) for h in (0, 2)
    ]
    actual = module.get_submodule("conv2")(torch.from_numpy(x).float().permute(2, 0, 1)[None])[0].permute(1, 2, 0)
    np.testing.assert_allclose(actual.detach(), np.concatenate(halves, 2), atol=1e-4)
