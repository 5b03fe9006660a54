"""Schedules, augmentation, levels."""

import math

import pytest
import torch
from support.on_digits import on_digits

from hashbench.learning.training import inputs
from hashbench.learning.training.optimiser import learning_rate, tanh_scale
from hashbench.learning.training.settings import DeepSettings, PulseSettings


def settings(**changes: object) -> DeepSettings:
    chosen = on_digits("talr_ap", {"bits": 12}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen.model_copy(update=changes)


def test_learning_rate_steps_down() -> None:
    stairs = settings(lr=0.8, lr_decay=0.5, lr_decay_every=10)
    assert [learning_rate(stairs, epoch) for epoch in (0, 9, 10, 19, 20)] == [0.8, 0.8, 0.4, 0.4, 0.2]
    assert learning_rate(settings(lr=0.8, lr_decay=0.5, lr_decay_every=0), 1000) == 0.8
    by_step = settings(lr=0.8, lr_decay=0.5, lr_decay_every=2000, lr_unit="step")
    assert [learning_rate(by_step, 7, step) for step in (1999, 2000, 4000)] == [0.8, 0.4, 0.2]


@pytest.mark.parametrize("n_steps", [3, 10, 47])
def test_one_cycle_is_torchs(n_steps: int) -> None:
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    torchs = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=0.4, total_steps=n_steps, cycle_momentum=False)
    expected = []
    for _ in range(n_steps):
        expected.append(torchs.get_last_lr()[0])
        optimiser.step()
        if len(expected) < n_steps:
            torchs.step()
    cycle = settings(lr=0.4, lr_schedule="one_cycle")
    assert [learning_rate(cycle, 0, step, n_steps) for step in range(n_steps)] == pytest.approx(expected, rel=1e-9)
    if n_steps == 10:
        assert expected[2] == pytest.approx(0.4)  # 30 % of the steps
        assert expected[9] == pytest.approx(0.4 / 250_000)


def test_bins_are_given_or_follow_the_bits() -> None:
    def bins(**changes: object) -> int:
        chosen = on_digits("talr_ap", {"bits": 12}).settings.model_copy(update=changes)
        assert isinstance(chosen, PulseSettings)
        return chosen.bins

    assert bins(n_bins=7, bits=48, bin_rule="released") == 7
    assert [bins(n_bins=0, bits=bits) for bits in (12, 32, 48)] == [12, 32, 48]
    assert [bins(n_bins=0, bits=bits, bin_rule="released") for bits in (12, 24, 32, 48)] == [12, 24, 16, 24]


def test_tanh_scale_is_fixed_or_grows() -> None:
    assert tanh_scale(settings(tanh_scale=2.0, tanh_schedule="fixed"), 40, 4000) == 2.0
    hashnet = settings(tanh_scale=1.0, tanh_schedule="power", tanh_rate=0.005)
    assert tanh_scale(hashnet, 0, 0) == 1.0
    assert tanh_scale(hashnet, 0, 10_000) == pytest.approx(math.sqrt(51))  # about 7.1, as HashNet ends
    refreshed = settings(tanh_scale=1.0, tanh_schedule="power", tanh_rate=0.005, tanh_every=200)
    assert [tanh_scale(refreshed, 0, step) for step in (0, 199, 200, 399)] == pytest.approx([1, 1, 2**0.5, 2**0.5])
    doubling = settings(tanh_scale=0.5, tanh_schedule="doubling", tanh_rate=10.0)
    assert [tanh_scale(doubling, epoch, 0) for epoch in (0, 9, 10, 20)] == [0.5, 0.5, 1.0, 2.0]
    assert math.isfinite(tanh_scale(doubling, 10**9, 0))


def test_augmented_images_are_windows_of_the_padded_ones() -> None:
    images = torch.arange(1, 1 + 40 * 3 * 8 * 8).reshape(40, 3, 8, 8).float()
    moves = inputs.draw_augmentation(40, "crop_flip", torch.Generator().manual_seed(0))
    moved = moves.apply(images)
    assert torch.equal(moves.changed(lambda drawn: drawn[..., :7]).apply(images[:7]), moved[:7])
    padded = torch.nn.functional.pad(images, (4, 4, 4, 4))
    offsets = set()
    for i, picture in enumerate(moved):
        windows = {
            (y, x, flip): (padded[i].flip(2) if flip else padded[i])[:, y : y + 8, x : x + 8]
            for y in range(9)
            for x in range(9)
            for flip in (False, True)
        }
        matching = [key for key, window in windows.items() if torch.equal(window, picture)]
        assert matching, f"image {i} is no window"
        offsets.update(matching)
    assert len({offset[:2] for offset in offsets}) > 10
    assert {flip for *_, flip in offsets} == {False, True}


def test_a_crop_of_a_larger_image_is_a_window_of_it_anywhere() -> None:
    items = torch.arange(400 * 7 * 6 * 2).reshape(400, 7, 6, 2)
    moves = inputs.draw_augmentation(400, "crop_flip", torch.Generator().manual_seed(0), spare=(3, 2))
    cut = moves.cut(items)
    assert cut.shape == (400, 4, 4, 2)
    first = cut[:, 0, 0, 0] - items[:, 0, 0, 0]
    y = first // 12
    x = first % 12 // 2
    assert {(int(a), int(b)) for a, b in zip(y, x, strict=True)} == {(a, b) for a in range(4) for b in range(3)}
    for image, window, a, b in zip(items, cut, y, x, strict=True):
        assert torch.equal(window, image[a : a + 4, b : b + 4])
    images = cut.permute(0, 3, 1, 2).float()
    actual = moves.apply(images)
    both = torch.stack([images, images.flip(3)])
    same = (both == actual).flatten(2).all(2)
    assert (same[0] ^ same[1]).all()  # it is flipped or not, and not shifted again
    assert 100 < int(same[1].sum()) < 300
    resting = inputs.draw_augmentation(400, "flip", torch.Generator().manual_seed(0), spare=(3, 2))
    assert resting.cut(items) is items  # the window at the centre is the preprocessing's
    assert inputs.draw_augmentation(400, "none", torch.Generator()).apply(images) is images
