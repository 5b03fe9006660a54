import numpy as np
import pytest

torch = pytest.importorskip("torch")

from support.one_line import one_line  # noqa: E402

from hashbench.learning.models import MODELS, encoder  # noqa: E402
from hashbench.learning.models.nin import BLOCKS, SLOPE, nin  # noqa: E402


def slow_pool(values, reduce):
    """TensorFlow's SAME pooling, 3 x 3 with stride 2: windows begin at the top left and take what there is."""
    height, width = values.shape[2:]
    return np.stack(
        [
            np.stack([reduce(values[:, :, y : y + 3, x : x + 3], axis=(2, 3)) for x in range(0, width, 2)], -1)
            for y in range(0, height, 2)
        ],
        -2,
    )


def slow_convolution(values, weight, bias):
    margin = weight.shape[2] // 2
    padded = np.pad(values, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight) + bias[:, None, None]


def slow_nin(network, values):
    """The layers of the paper's table, one after another."""
    weights = iter(p.detach().double().numpy() for p in network.parameters())
    reductions = iter((np.max, np.mean))
    last = len(BLOCKS) - 1
    for b, block in enumerate(BLOCKS):
        for c in range(len(block)):
            values = slow_convolution(values, next(weights), next(weights))
            if (b, c) != (last, len(block) - 1):
                values = np.where(values > 0, values, SLOPE * values)
        values = slow_pool(values, next(reductions)) if b < last else values
    return np.maximum(values.mean(axis=(2, 3)), 0)


@pytest.mark.parametrize("size", [8, 12])
def test_equals_the_layers_written_out(size):
    torch.manual_seed(1)
    network, width = nin((3, size, size), width=1 / 16)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    values = np.random.default_rng(2).normal(size=(2, 3, size, size))
    actual = network.double().eval()(torch.from_numpy(values)).detach().numpy()
    assert actual.shape == (2, width) == (2, 12)
    np.testing.assert_allclose(actual, slow_nin(network, values), rtol=1e-9, atol=1e-12)
    assert (actual > 0).any()


def test_the_full_network_is_the_papers():
    network, width = nin((3, 32, 32))
    # weights and biases of 5x5x192, 1x1x160, 1x1x96, 5x5x192, 1x1x192, 1x1x192, 3x3x192, 1x1x192
    by_hand = [75 * 192, 192 * 160, 160 * 96, 25 * 96 * 192, 192 * 192, 192 * 192, 9 * 192 * 192, 192 * 192]
    assert sum(p.numel() for p in network.parameters()) == sum(by_hand) + 192 + 160 + 96 + 5 * 192
    assert width == 192
    assert network.eval()(torch.zeros(1, 3, 32, 32)).shape == (1, 192)


@pytest.mark.parametrize("shape", [(64,), (3, 30, 32), (3, 0, 4)])
def test_items_that_it_cannot_take_are_refused(shape):
    with one_line("nin takes images whose sides are multiples of 4"):
        nin(shape)


def test_other_models_have_one_width():
    with one_line("width = 2: this model has one width only"):
        MODELS.get("mlp").build((3, 32, 32), 2.0)


def test_xavier_is_uniform_within_its_bound():
    torch.manual_seed(0)
    weight = encoder(MODELS.get("linear"), (300,), 200, 5.0, initial="xavier")[1].weight.detach()
    bound = (6 / 500) ** 0.5
    assert 0.99 * bound < weight.abs().max() < bound
    assert float(weight.square().mean()) == pytest.approx(bound**2 / 3, rel=0.02)
    assert float(weight.mean()) == pytest.approx(0, abs=0.001)


@pytest.mark.parametrize("hash_init, std", [(0.01, 0.01), (0.0, (2 / 300) ** 0.5)])
def test_a_truncated_normal_has_no_weight_beyond_two_standard_deviations(hash_init, std):
    torch.manual_seed(0)
    layer = encoder(MODELS.get("linear"), (300,), 200, hash_init, initial="truncated_normal")[1]
    weight = layer.weight.detach()
    assert 1.99 * std < weight.abs().max() <= 2 * std
    # the standard deviation of a standard normal between -2 and 2 is 0.8796
    assert float(weight.square().mean().sqrt()) == pytest.approx(0.8796 * std, rel=0.01)
    assert not layer.bias.any()
