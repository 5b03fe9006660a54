"""The settings of DTSH and HashNet against those of the released code, which are written out here once more."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashbench.contract import TrainingData
from hashbench.datasets.card import load_card
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.methods import METHODS
from hashbench.relevance.distances import DistanceRelevance
from hashbench.runs.run import Run


def settings_of(method: str, dataset: str, protocol: str, **given: Setting) -> dict[str, Any]:
    return Run.resolve(dataset, protocol, method, {"bits": 48, **given}).settings.model_dump()


@pytest.mark.parametrize("dataset", ["cifar10", "nuswide21"])
@pytest.mark.parametrize("protocol", ["s1", "s2"])
def test_dtsh_takes_the_released_steps(dataset: str, protocol: str) -> None:
    # update.m: W + lr (step / (128 n) - decay W), the step being a sum over the triplets of each query;
    # ours: W - our lr (g + our decay W), g = -step / (2 x 128 x triplets)
    n_train = load_card(dataset).protocol(protocol).n_train or {"s1": 5000, "s2": 50_000}[protocol]
    actual = settings_of("dtsh", dataset, protocol, model="vggf")
    triplets = 50 * 450
    assert actual["lr"] / (2 * triplets) == pytest.approx(5e-4 / n_train, rel=1e-3)
    assert actual["lr"] * actual["weight_decay"] == pytest.approx(5e-4 * 5e-4, rel=1e-2)
    assert actual["eta"] * triplets == pytest.approx(100, rel=2e-2)
    assert (actual["batch_size"], actual["pairing"], actual["margin_per_bit"]) == (128, "memory", 0.5)
    assert (actual["epochs"], actual["lr_decay"], actual["lr_decay_every"]) == (100, pytest.approx(2 / 3), 20)


# train_val.prototxt and solver.prototxt: base_lr, class_num
HASHNET = {
    "imagenet100": (2e-4, 100.0),
    "imagenet100_256": (2e-4, 100.0),
    "nuswide81": (5e-5, 5.0),
    "coco": (5e-5, 1.0),
}


@pytest.mark.parametrize("dataset", HASHNET)
def test_hashnet_has_the_values_of_its_prototxt(dataset: str) -> None:
    actual = settings_of("hashnet", dataset, "hashnet", model="alexnet")
    base_lr, class_num = HASHNET[dataset]
    # the released gradient is twice ours, and the hash layer has lr_mult 10
    assert actual["lr"] == pytest.approx(base_lr * 10 * 2)
    assert actual["weight_decay"] == pytest.approx(5e-4 / 2)
    assert actual["backbone_lr"] * 10 == pytest.approx(1)
    steps_per_epoch = -(-(load_card(dataset).protocol("hashnet").n_train or 0) // actual["batch_size"])
    assert 0 <= actual["epochs"] * steps_per_epoch - 10_000 < steps_per_epoch  # max_iter
    expected = {
        "class_num": class_num,
        "continuous_similarity": True,
        "partly_scaled": True,
        "pairing": "streams",
        "batch_size": 2 * 256,
        "similarity_scale": 10.0,
        "linear_above": 15.0,
        "lr_decay": 0.5,
        "lr_decay_every": 2000,
        "lr_unit": "step",
        "momentum": 0.9,
        "momentum_form": "lr_inside",
        "decay_biases": False,
        "bias_lr": 2.0,
        "hash_bias_lr": 2.0,
        "hash_init": 0.01,
        "tanh_scale": 1.0,
        "tanh_rate": 0.005,
        "tanh_every": 200,
    }
    assert {key: actual[key] for key in expected} == expected


def test_continuous_similarity_needs_labels() -> None:
    chosen = Run.resolve(
        "labelme", "s1", "hashnet", {"bits": 8, "model": "linear", "continuous_similarity": True}
    ).settings
    items = np.arange(8, dtype=np.float32)[:, None].repeat(512, 1)
    near = DistanceRelevance(items, items, (30.0,), (1,))
    data = TrainingData(items, np.zeros((8, 0), np.uint8), 1.0, 0, Path("nowhere"), relevance=near)
    with pytest.raises(HashbenchError, match=r"^hashnet weighs pairs by the labels they share, .* = false$"):
        METHODS.get("hashnet").fit(chosen, data)
