"""The scaling of shallow methods is that of networks, and a saved hasher keeps it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hashbench.learning.contract import SavedHasher, TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.methods._shallow import as_features, scaling_of
from hashbench.learning.training.inputs import ChannelUnitNormalisation, UnitNormalisation

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.integers(0, 256, (20, 4, 5, 3), dtype=np.uint8)
FEATURES = (RANDOM.standard_normal((20, 6)) * np.logspace(-2, 3, 6)).astype(np.float32)


@pytest.mark.parametrize("items, value_max", [(IMAGES, 255.0), (FEATURES, 1.0)])
@pytest.mark.parametrize("normalise", ["unit_norm", "channel_unit_norm"])
def test_it_is_that_of_networks(normalise: str, items: np.ndarray, value_max: float) -> None:
    shape = items.shape[1:]
    module = ChannelUnitNormalisation(shape[-1]) if "channel" in normalise else UnitNormalisation(shape, value_max)
    module.fit(torch.from_numpy(items))
    expected = module(torch.from_numpy(items)).numpy()
    expected = expected.transpose(0, 2, 3, 1) if items.ndim == 4 else expected
    scaling = scaling_of(normalise, items, value_max)
    assert scaling is not None
    actual = scaling.apply(as_features(items, value_max))
    np.testing.assert_allclose(actual, expected.reshape(len(items), -1), atol=1e-6)


def test_a_feature_that_is_the_same_for_all_training_items_decides_nothing() -> None:
    training = np.append(FEATURES, np.full((20, 1), 5, np.float32), axis=1)
    query = np.zeros((2, 7), np.float32)
    query[:, :6] = FEATURES[0]
    query[1, 6] = 900
    module = ChannelUnitNormalisation(7)
    module.fit(torch.from_numpy(training))
    scaling = scaling_of("channel_unit_norm", training, 1.0)
    assert scaling is not None
    for one, other in (module(torch.from_numpy(query)).numpy(), scaling.apply(as_features(query, 1.0))):
        assert np.isfinite(one).all() and one[6] == 0
        np.testing.assert_array_equal(one, other)


KSH = {"n_anchors": 9, "iterations": 5, "tolerance": 0.1, "hash_functions": "kernel"}


@pytest.mark.parametrize("method", ["itq", "ksh", "pq"])
def test_a_saved_hasher_scales_as_it_was_trained(method: str, tmp_path: Path) -> None:
    entry = METHODS.get(method)
    more = {
        "itq": {"iterations": 3},
        "ksh": KSH,
        "pq": {"kmeans_iterations": 2},
    }
    values = {"bits": 8, "features": "pixels", "normalise": "channel_unit_norm", **more[method]}
    settings = entry.settings.model_validate({"query": "float", **values} if method == "pq" else values)
    items = RANDOM.standard_normal((300, 12)).astype(np.float32) * np.arange(1, 13, dtype=np.float32)
    data = TrainingData(items=items, labels=np.arange(300) % 3, value_max=1.0, seed=0, folder=tmp_path)
    fitted = entry.fit(settings, data)
    fitted.save(tmp_path)
    loaded = entry.load(settings, SavedHasher(tmp_path))
    for fitted_block, kept in zip(fitted.blocks(items), loaded.blocks(items), strict=True):
        np.testing.assert_array_equal(fitted_block, kept)
        np.testing.assert_allclose(np.linalg.norm(fitted_block, axis=1), 1)
