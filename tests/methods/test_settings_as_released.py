"""The settings of DTSH and HashNet against those of the released code, which are written out here once more."""

from typing import Any

import pytest

from hashbench.config import Setting
from hashbench.datasets.card import load_card
from hashbench.runs.spec import resolve


def settings_of(method: str, dataset: str, protocol: str, **given: Setting) -> dict[str, Any]:
    return resolve(dataset, protocol, method, {"bits": 48, **given}).settings.model_dump()


@pytest.mark.parametrize("dataset", ["cifar10", "nuswide21"])
@pytest.mark.parametrize("protocol", ["s1", "s2"])
def test_dtsh_takes_the_released_steps(dataset: str, protocol: str) -> None:
    # update.m: W + lr (step / (128 n) - decay W), the step being a sum over the triplets of each query;
    # ours: W - our lr (g + our decay W), g = -step / (2 x 128 x triplets)
    n_train = load_card(dataset).protocol(protocol).n_train or {"s1": 5000, "s2": 50_000}[protocol]
    found, triplets = settings_of("dtsh", dataset, protocol, model="vggf"), 50 * 450
    assert found["lr"] / (2 * triplets) == pytest.approx(5e-4 / n_train, rel=1e-3)
    assert found["lr"] * found["weight_decay"] == pytest.approx(5e-4 * 5e-4, rel=1e-2)
    assert found["eta"] * triplets == pytest.approx(100, rel=2e-2)
    assert (found["batch_size"], found["pairing"], found["margin_per_bit"]) == (128, "memory", 0.5)
    assert (found["epochs"], found["lr_decay"], found["lr_decay_every"]) == (100, pytest.approx(2 / 3), 20)
