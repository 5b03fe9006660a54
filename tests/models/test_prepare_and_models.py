import numpy as np
import pytest
import torch
from PIL import Image
from support import tiny_matconvnet as tiny
from support.one_line import one_line
from support.python import python

from hashbench.learning.models import MODELS, Input, encoder
from hashbench.learning.models._layers import Preprocessor, resize_matrix

RNG = np.random.default_rng(0)


def by_pillow(plane: np.ndarray, size: tuple[int, int], how: Image.Resampling) -> np.ndarray:
    return np.asarray(Image.fromarray(plane.astype(np.float32)).resize(size[::-1], how))


@pytest.mark.parametrize(
    "method, how", [("bicubic", Image.Resampling.BICUBIC), ("bilinear", Image.Resampling.BILINEAR)]
)
@pytest.mark.parametrize("n_in, n_out", [(32, 224), (8, 224), (96, 224), (32, 227), (224, 32), (100, 64)])
def test_resizing_is_pillows_inside_the_border(method: str, how: Image.Resampling, n_in: int, n_out: int) -> None:
    plane = RNG.uniform(0, 255, (n_in, n_in))
    weights = resize_matrix(n_in, n_out, method)
    margin = int(np.ceil(3 * max(1.0, n_out / n_in)))
    inside = slice(margin, n_out - margin)
    actual = weights @ plane @ weights.T
    expected = by_pillow(plane, (n_out, n_out), how)
    np.testing.assert_allclose(actual[inside, inside], expected[inside, inside], atol=2e-3)
    np.testing.assert_allclose(weights.sum(1), 1)


def test_the_border_is_continued_by_its_mirror_image() -> None:
    plane = RNG.uniform(0, 255, (32, 32))
    weights = resize_matrix(32, 224)
    mirrored = by_pillow(np.pad(plane, 8, "symmetric"), (336, 336), Image.Resampling.BICUBIC)
    np.testing.assert_allclose(weights @ plane @ weights.T, mirrored[56:-56, 56:-56], atol=2e-3)


def test_prepared_images_are_resized_scaled_and_centred() -> None:
    wanted = Input((14, 21), 1.0, mean=(0.1, 0.2, 0.3), std=(0.5, 1.0, 2.0))
    prepared = Preprocessor(wanted, (7, 7, 3), 255)
    items = RNG.integers(0, 256, (2, 7, 7, 3), np.uint8)
    actual = prepared(torch.from_numpy(items)).numpy()
    assert actual.shape == (2, *prepared.shape) == (2, 3, 14, 21)
    for channel in range(3):
        plane = resize_matrix(7, 14) @ (items[1, :, :, channel] / 255) @ resize_matrix(7, 21).T
        expected = (plane - wanted.mean[channel]) / wanted.std[channel]
        np.testing.assert_allclose(actual[1, channel], expected, atol=1e-5)


def test_a_cropped_input_is_the_central_window() -> None:
    wanted = Input((4, 3), 510.0, mean=(1.0, 2.0, 3.0), std=(1.0, 2.0, 4.0))
    prepared = Preprocessor(wanted, (9, 8, 3), 255, crop=True)
    items = torch.from_numpy(RNG.integers(0, 256, (2, 9, 8, 3), np.uint8))
    window = items[:, 2:6, 2:5].permute(0, 3, 1, 2).float()  # as Caffe: (9 - 4) / 2 and (8 - 3) / 2, rounded down
    mean = torch.tensor([1.0, 2.0, 3.0])[:, None, None]
    std = torch.tensor([1.0, 2.0, 4.0])[:, None, None]
    torch.testing.assert_close(prepared(items), (2 * window - mean) / std)
    torch.testing.assert_close(prepared(items[:, 2:6, 2:5]), prepared(items))  # a window that was cut already
    assert prepared.shape == (3, 4, 3)
    with one_line() as caught:
        Preprocessor(wanted, (9, 2, 3), 255, crop=True)
    assert str(caught.value) == (
        "input_images = 'cropped': the images are 9 x 2, but 4 x 3 is cut out of them: take 'resized'"
    )


def test_caffenet_pools_before_it_normalises_and_drops_half_in_training() -> None:
    backbone = MODELS.get("caffenet").backbone((3, 227, 227))[0]
    names = [name for name, _ in backbone.named_children()]
    assert names == [
        *("conv1", "relu1", "pool1", "norm1", "conv2", "relu2", "pool2", "norm2", "conv3", "relu3", "conv4", "relu4"),
        *("conv5", "relu5", "pool5", "fc6", "relu6", "drop6", "fc7", "relu7", "drop7"),
    ]
    ones = torch.ones(1, 10_000)
    assert set(backbone.get_submodule("drop7").train()(ones).unique().tolist()) == {0.0, 2.0}
    assert torch.equal(backbone.get_submodule("drop7").eval()(ones), ones)
    assert backbone.state_dict().keys() == MODELS.get("alexnet_caffe").backbone((3, 227, 227))[0].state_dict().keys()


@pytest.mark.parametrize("channels", [3, 64])
def test_response_norm_is_torchs_with_alpha_times_the_window(channels: int) -> None:
    x = torch.randn(2, channels, 5, 4, dtype=torch.float64) * 20
    ours = tiny.module(tiny.Norm("norm1", 5, 2.0, 1e-4), channels).double()
    theirs = torch.nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name, side", [("vggf", 224), ("alexnet", 224), ("alexnet_caffe", 227), ("caffenet", 227)])
def test_fc7_of_4096(name: str, side: int) -> None:
    model = MODELS.get(name)
    assert model.pretrained is not None
    assert model.pretrained.input.size == (side, side)
    backbone, width = model.backbone((3, side, side))
    with torch.inference_mode():
        actual = backbone.eval()(torch.zeros(1, 3, side, side))
    assert actual.shape == (1, width) == (1, 4096)
    assert (actual >= 0).all()
    assert encoder(model, (3, side, side), 12, 0)[1].weight.shape == (12, 4096)
    with one_line(r"does not take|takes images"), torch.device("meta"):
        model.backbone((3, 8, 8))


@pytest.mark.parametrize("name", ["resnet18", "squeezenet1_1", "vit_b_32", "swin_t", "mobilenet_v3_small"])
def test_the_last_layer_of_torchvisions_networks_is_found(name: str) -> None:
    model = MODELS.get(f"torchvision:{name}")
    assert model.pretrained is not None
    size = model.pretrained.input.size
    with torch.device("meta"):  # of tensors without values nothing is computed but shapes
        network, width = model.backbone((3, *size))
        assert network.eval()(torch.empty(1, 3, *size)).shape == (1, width)
    assert model.pretrained.weights.sha256 is not None


def test_torchvisions_penultimate_layer_is_its_own() -> None:
    from torchvision import models

    torch.manual_seed(0)
    whole = models.resnet18(weights=None).eval()
    backbone, width = MODELS.get("resnet18").backbone((3, 64, 64))
    backbone.load_state_dict({key: value for key, value in whole.state_dict().items() if not key.startswith("fc.")})
    x = torch.randn(2, 3, 64, 64)
    with torch.inference_mode():
        torch.testing.assert_close(whole.fc(backbone.eval()(x)), whole(x))
    assert width == 512


@pytest.mark.parametrize(
    "name, near",
    [("resnt18", "resnet18"), ("vgf", "vggf"), ("torchvision:nothing", "one of|did"), ("vggf_0px", "vggf")],
)
def test_an_unknown_name_is_answered_with_near_ones(name: str, near: str) -> None:
    assert name not in MODELS
    with one_line(near):
        MODELS.get(name)


def test_a_network_that_cannot_take_the_images_says_so() -> None:
    for name, shape in [("vit_b_32", (3, 64, 64)), ("alexnet", (3, 32, 32)), ("resnet18", (1, 32, 32))]:
        with one_line("does not take images of shape"), torch.device("meta"):
            MODELS.get(name).backbone(shape)


def test_listing_models_imports_no_torch() -> None:
    code = "import sys; from hashbench.learning.models import MODELS; [MODELS.get(name) for name in MODELS.names];"
    code += "print('torch' in sys.modules)"
    assert python(code).strip() == "False"
