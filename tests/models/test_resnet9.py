"""The residual network: its features, its widths, and batch normalisation that does not look at the batch."""

import pytest
import torch
from support.one_line import one_line

from hashbench.learning.models import MODELS

RESNET9 = MODELS.get("resnet9")


@pytest.mark.parametrize("channels, features", [(32, 256), (4, 32), (64, 512)])
def test_features_are_eight_times_the_channels_of_the_first_layer(channels: int, features: int) -> None:
    assert RESNET9.channels == 64
    network, width = RESNET9.build((3, 32, 32), channels / RESNET9.channels)
    assert width == features
    first = next(layer for layer in network.modules() if isinstance(layer, torch.nn.Conv2d))
    assert first.out_channels == channels
    assert first.bias is None
    with torch.inference_mode():
        assert network.eval()(torch.rand(2, 3, 32, 32)).shape == (2, features)


def test_it_has_eight_convolutions_and_two_residual_blocks() -> None:
    torch.manual_seed(0)
    network, _ = RESNET9.build((3, 32, 32), 4 / 64)
    sizes = [layer.out_channels for layer in network.modules() if isinstance(layer, torch.nn.Conv2d)]
    assert sizes == [4, 8, 8, 8, 16, 32, 32, 32]
    images = torch.rand(5, 8, 6, 6)
    block = network.eval()[2]
    plain = torch.nn.Sequential(*block)
    before = images.clone()
    with torch.inference_mode():
        torch.testing.assert_close(block(images), before + plain(before))
    assert torch.equal(images, before)


@pytest.mark.parametrize("shape", [(3, 7, 32), (512,)])
def test_items_that_it_does_not_take_are_one_line(shape: tuple[int, ...]) -> None:
    with one_line("resnet9 takes images of 8 x 8 pixels or more"):
        RESNET9.build(shape)
