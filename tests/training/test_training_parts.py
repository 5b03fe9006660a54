"""Schedules, batches, augmentation, levels."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hashbench import experiment
from hashbench.errors import HashbenchError
from hashbench.training.augment import augment
from hashbench.training.loop import levels
from hashbench.training.sampler import epoch_batches
from hashbench.training.schedule import learning_rate, tanh_scale
from hashbench.training.settings import DeepSettings


def settings(**changes: object) -> DeepSettings:
    chosen = experiment.resolve("digits", "s1", "talr_ap", {"bits": 12}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen.model_copy(update=changes)


def test_learning_rate_steps_down() -> None:
    stairs = settings(lr=0.8, lr_decay=0.5, lr_decay_every=10)
    assert [learning_rate(stairs, epoch) for epoch in (0, 9, 10, 19, 20)] == [0.8, 0.8, 0.4, 0.4, 0.2]
    assert learning_rate(settings(lr=0.8, lr_decay=0.5, lr_decay_every=0), 1000) == 0.8


def test_tanh_scale_is_fixed_or_grows() -> None:
    assert tanh_scale(settings(tanh_scale=2.0, tanh_schedule="fixed"), 40, 4000) == 2.0
    hashnet = settings(tanh_scale=1.0, tanh_schedule="power", tanh_rate=0.005)
    assert tanh_scale(hashnet, 0, 0) == 1.0
    assert tanh_scale(hashnet, 0, 10_000) == pytest.approx(math.sqrt(51))  # about 7.1, as HashNet ends
    doubling = settings(tanh_scale=0.5, tanh_schedule="doubling", tanh_rate=10.0)
    assert [tanh_scale(doubling, epoch, 0) for epoch in (0, 9, 10, 20)] == [0.5, 0.5, 1.0, 2.0]
    assert math.isfinite(tanh_scale(doubling, 10**9, 0))


@given(st.integers(2, 200), st.integers(2, 64), st.integers(0, 5))
def test_an_epoch_uses_every_example_once(n: int, batch_size: int, epoch: int) -> None:
    batches = epoch_batches(n, batch_size, seed=7, epoch=epoch)
    used = sorted(int(i) for batch in batches for i in batch)
    left_over = 1 if n % batch_size == 1 else 0
    assert len(used) == len(set(used)) == n - left_over
    assert all(2 <= len(batch) <= batch_size for batch in batches)


def test_batches_depend_on_seed_and_epoch_alone() -> None:
    def drawn(seed: int, epoch: int) -> list[int]:
        return torch.cat(epoch_batches(100, 30, seed, epoch)).tolist()

    torch.manual_seed(5)
    first = drawn(1, 0)
    torch.manual_seed(6)
    assert drawn(1, 0) == first
    assert drawn(1, 1) != first
    assert drawn(2, 0) != first


def test_augmented_images_are_windows_of_the_padded_ones() -> None:
    images = torch.arange(1, 1 + 40 * 3 * 8 * 8).reshape(40, 3, 8, 8).float()
    moved = augment(images, "crop_flip", torch.Generator().manual_seed(0))
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


def test_flip_alone_keeps_the_place() -> None:
    images = torch.rand(64, 1, 4, 4)
    flipped = augment(images, "flip", torch.Generator().manual_seed(0))
    same = (flipped == images).flatten(1).all(1)
    mirrored = (flipped == images.flip(3)).flatten(1).all(1)
    assert (same ^ mirrored).all()
    assert 0 < int(same.sum()) < 64
    assert augment(images, "none", torch.Generator()) is images


def test_features_cannot_be_flipped() -> None:
    with pytest.raises(HashbenchError, match="augment = 'none'"):
        augment(torch.zeros(3, 5), "flip", torch.Generator())


def test_levels_of_class_ids_and_of_shared_labels() -> None:
    assert levels(torch.tensor([3, 1, 3])).tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    multi_hot = torch.tensor([[1, 1, 0], [0, 1, 1], [1, 1, 1], [0, 0, 0]])
    assert levels(multi_hot).tolist() == [[2, 1, 2, 0], [1, 2, 2, 0], [2, 2, 3, 0], [0, 0, 0, 0]]
