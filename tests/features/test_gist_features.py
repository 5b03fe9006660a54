import numpy as np
import pytest
import torch
from support import slow_gist
from support.one_line import one_line

from hashbench.running.features.gist import EXTRACTOR

RNG = np.random.default_rng(5)


def smooth(side: int, n: int = 3) -> np.ndarray:
    """Images with energy at every scale, as pictures have."""
    waves = sum(
        RNG.normal(0, 1 / scale, (n, side // scale + 1, side // scale + 1, 3))
        .repeat(scale, 1)
        .repeat(scale, 2)[:, :side, :side]
        for scale in (1, 2, 4, 8)
    )
    return np.clip(128 + 60 * waves, 0, 255).astype(np.uint8)


def gist(images: np.ndarray) -> np.ndarray:
    built = EXTRACTOR.build(images.shape[1:], 255.0)
    with torch.inference_mode():
        descriptors = built.module(torch.from_numpy(images)).numpy()
    assert descriptors.shape == (len(images), built.width) == (len(images), 512)
    return descriptors


@pytest.mark.parametrize("side", [8, 15, 32, 33, 50])
def test_it_is_what_the_published_algorithm_gives(side: int) -> None:
    images = smooth(side)
    expected = np.stack([slow_gist.descriptor(image) for image in images])
    assert expected.std(1).min() > 0.005
    np.testing.assert_allclose(gist(images), expected, rtol=1e-4, atol=1e-5)


def test_an_image_of_one_colour_is_all_zero() -> None:
    np.testing.assert_allclose(gist(np.full((1, 16, 16, 3), 77, np.uint8)), 0, atol=1e-6)


def test_the_middle_of_a_wide_image_is_taken() -> None:
    image = smooth(32)
    wide = np.concatenate([image[:, :, :4] * 0, image, image[:, :, :4] * 0 + 255], axis=2)
    expected = gist(image)
    np.testing.assert_allclose(gist(wide), expected, atol=1e-5)


def test_a_large_image_is_made_smaller_first() -> None:
    built = EXTRACTOR.build((160, 200, 3), 255.0)
    assert built.constants["image_size"] == 128
    assert built.module(torch.from_numpy(smooth(200, 1)[:, :160])).shape == (1, 512)


@pytest.mark.parametrize("shape", [(3, 8, 1), (512,)])
def test_what_is_no_image_is_refused(shape: tuple[int, ...]) -> None:
    with one_line("gist takes images of 4 x 4"):
        EXTRACTOR.build(shape, None)
