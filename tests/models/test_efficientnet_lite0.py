"""EfficientNet-Lite0: its features are those of the reference implementation, at every size in pixels."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
reference = pytest.importorskip("efficientnet_lite_pytorch", reason="efficientnet-lite-pytorch is not installed")

from support.one_line import one_line  # noqa: E402

from hashbench.learning.models import MODELS  # noqa: E402
from hashbench.learning.models._layers import Preprocessor, SamePadding  # noqa: E402
from hashbench.learning.models._weights import fill  # noqa: E402
from hashbench.running.features import _network, named  # noqa: E402

NAME = "efficientnet_lite0"


@pytest.fixture(scope="module")
def theirs() -> "torch.nn.Module":
    model = MODELS.get(NAME)
    assert model.pretrained is not None
    network = reference.EfficientNet.from_name(NAME.replace("_", "-"))
    network.load_state_dict(torch.load(model.pretrained.weights.path, weights_only=True))
    return network.eval()


@pytest.mark.parametrize("side", [64, 128, 224])
def test_features_are_those_of_the_reference(theirs: "torch.nn.Module", side: int) -> None:
    model = MODELS.get(f"{NAME}_{side}px")
    assert model.pretrained is not None
    items = np.random.default_rng(side).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    prepared = Preprocessor(model.pretrained.input, (32, 32, 3), 255.0)
    plain, _ = model.backbone(prepared.shape)
    assert fill(NAME, model.pretrained, plain, prepared, None).official
    built = named(f"{NAME}_{side}px")[1].build((32, 32, 3), 255.0)
    with torch.inference_mode():
        images = prepared(torch.from_numpy(items))
        expected = theirs.extract_features(images).mean((2, 3))
        assert expected.abs().mean() > 0.05
        torch.testing.assert_close(plain.eval()(images), expected, atol=1e-5, rtol=0)
        torch.testing.assert_close(built.module(torch.from_numpy(items)), expected, atol=1e-4, rtol=0)
    assert built.constants["weights_sha256"].startswith("57934424")
    assert built.constants["input"]["size"] == (side, side)


@pytest.mark.parametrize("side, kernel, stride", [(7, 3, 2), (8, 3, 2), (8, 5, 2), (5, 5, 1), (9, 5, 2), (1, 3, 2)])
def test_same_padding_is_tensorflows(side: int, kernel: int, stride: int) -> None:
    # TensorFlow: ceil(side / stride) windows, and what is odd is padded at the end
    n_windows = -(-side // stride)
    missing = max(0, (n_windows - 1) * stride + kernel - side)
    line = torch.arange(1.0, side + 1).expand(1, 1, side, side)
    padded = SamePadding(kernel, stride)(line)[0, 0]
    assert padded.shape == (side + missing, side + missing)
    assert (padded[:, : missing // 2] == 0).all()
    assert padded[missing // 2, missing // 2] == 1
    assert (padded.shape[0] - kernel) // stride + 1 == n_windows


def test_batch_normalisation_is_folded_only_where_it_follows_a_convolution() -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Conv2d(3, 4, 1), torch.nn.BatchNorm2d(4)).eval()
    for module in network[0], network[2]:
        module.running_mean.normal_()
        module.running_var.uniform_(0.5, 2)
    images = torch.randn(2, 3, 5, 5)
    with torch.inference_mode():
        expected = network(images)
        actual = _network.folded(network)
        torch.testing.assert_close(actual(images), expected, atol=1e-5, rtol=0)
    assert isinstance(actual[0], torch.nn.BatchNorm2d)
    assert isinstance(actual[2], torch.nn.Identity)


@pytest.mark.parametrize(
    "name, fault",
    [
        ("efficientnet_lite0_0px", "unknown model"),
        ("small_cnn_64px", "unknown model .*did you mean small_cnn"),
        ("no_such_net_64px", "unknown model 'no_such_net_64px'"),
    ],
)
def test_a_size_that_is_not_possible_is_one_line(name: str, fault: str) -> None:
    with one_line(fault):
        MODELS.get(name)
