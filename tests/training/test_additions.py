"""What can be added to any objective, or to a trained encoder: HSWD's transport, thresholds at medians."""

from pathlib import Path

import numpy as np
import pytest
from support.on_digits import on_digits
from support.small_training import examples, same

from hashbench.learning.methods import METHODS
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.settings import DeepSettings

SMALL = {"bits": 6, "epochs": 2, "batch_size": 20, "lr": 0.01}


def settings(method: str, **changes: object) -> DeepSettings:
    chosen = on_digits(method, {**SMALL, **changes}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen


def fitted(folder: Path, method: str, chosen: DeepSettings) -> DeepHasher:
    hasher = METHODS.get(method).fit(chosen, examples(folder))
    assert isinstance(hasher, DeepHasher)
    return hasher


def test_hashnet_with_transport_is_hswd(tmp_path: Path) -> None:
    plain = settings("hashnet")
    added = plain.model_copy(update={"transport": 0.3})
    hswd = METHODS.get("hswd").settings(**plain.model_dump(), alpha=0.3)
    assert isinstance(hswd, DeepSettings)
    assert hswd.relaxation == "tanh"
    expected = fitted(tmp_path / "hswd", "hswd", hswd)
    assert same(fitted(tmp_path / "added", "hashnet", added), expected)
    assert not same(fitted(tmp_path / "plain", "hashnet", plain), expected)


@pytest.mark.parametrize("method", ["bihalf", "bihalf_u"])
@pytest.mark.parametrize("norm", ["none", "batch"])
def test_a_threshold_at_the_median_halves_each_bit(method: str, norm: str, tmp_path: Path) -> None:
    items = examples(tmp_path).items
    before, after = (
        fitted(tmp_path / at, method, settings(method, threshold=at, hash_norm=norm)).encode(items)
        for at in ("zero", "median")
    )
    assert not np.array_equal(before > 0, after > 0)
    np.testing.assert_allclose(after, before - np.median(before, axis=0), atol=1e-5)
    # half of the 61 examples, but for the one at the median
    assert (np.abs((after > 0).sum(axis=0) - 30.5) < 1).all()
