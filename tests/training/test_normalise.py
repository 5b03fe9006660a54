"""Normalisations in blocks: the same figures as from all values at once, in bounded memory."""

import numpy as np
import pytest
import torch
from support.watched_tensors import Watched
from torch import Tensor

from hashbench.learning.training import inputs
from hashbench.learning.training.inputs import ChannelNormalisation


def at_once(items: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation as the first edition computed them, from a copy of all items in float64."""
    values = items.to(torch.float64).reshape(-1, items.shape[-1])
    deviation = values.std(dim=0, correction=0)
    return values.mean(dim=0).float(), deviation.where(values.amax(dim=0) > values.amin(dim=0), torch.inf).float()


def digits() -> Tensor:
    from sklearn.datasets import load_digits

    return torch.from_numpy(load_digits().images.astype(np.uint8)[..., None])


def features() -> Tensor:
    drawn = torch.randn(3001, 70, generator=torch.Generator().manual_seed(0)) + torch.arange(70)
    drawn[:, 3] = 0.5  # a constant
    return drawn


@pytest.mark.parametrize("items", [digits(), features()], ids=["digits", "features"])
@pytest.mark.parametrize("values", [1, 1000, 1 << 22])
def test_blocks_give_the_same_bits_as_all_at_once(items: Tensor, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_VALUES", values)
    fitted = ChannelNormalisation(items.shape[-1])
    fitted.fit(items)
    mean, std = at_once(items)
    assert torch.equal(fitted.mean, mean)
    assert torch.equal(fitted.std, std)


@pytest.mark.parametrize("shape", [(600, 16, 16, 3), (5000, 90)])
def test_no_more_than_a_block_is_ever_in_float64(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_VALUES", 10_000)
    items = torch.randint(0, 256, shape, dtype=torch.uint8)
    with Watched() as watched:
        ChannelNormalisation(shape[-1]).fit(items)
    assert 5_000 < watched.largest <= 10_000
