"""Small networks train on one thread, and features are computed a batch on each core: the results are the same."""

from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from support.one_line import one_line  # noqa: E402
from torch import nn  # noqa: E402

from hashbench.learning.training import device  # noqa: E402
from hashbench.running.features import FeatureModule, _extract  # noqa: E402


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    "encoder, batch_size, expected",
    [
        (nn.Linear(64, 32), 250, 1),
        (nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 32)), 100, 1),
        (nn.Linear(1 << 10, 1 << 10), 16, 1),  # exactly as large as small is
        (nn.Linear(1 << 10, 1 << 10), 17, 2),
        (nn.Conv2d(1, 1, 3), 1, 2),  # its weights are used at each place
    ],
)
def test_only_steps_without_much_work_use_one_thread(encoder: nn.Module, batch_size: int, expected: int) -> None:
    with device.threads_for(encoder, batch_size):
        assert torch.get_num_threads() == expected
    assert torch.get_num_threads() == 2


class Doubled(nn.Module):
    """Twice the items, as features; infinite where an item is 200."""

    def forward(self, items: torch.Tensor) -> torch.Tensor:
        assert torch.get_num_threads() == 1 and torch.is_inference_mode_enabled()
        return torch.where(items == 200, torch.inf, 2.0 * items.float())


@pytest.mark.parametrize("cores", [1, 2, 5])
@pytest.mark.parametrize("start", [0, 4, 10])
def test_features_come_in_the_order_of_the_items(cores: int, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extract, "available_cores", lambda: cores)
    items = np.arange(30, dtype=np.uint8).reshape(10, 3)
    actual = list(_extract._in_order(FeatureModule(Doubled(), 3, {}), items, start, 2, torch.device("cpu")))
    assert [len(batch) for batch in actual] == [2] * ((10 - start) // 2)
    assert np.array_equal(np.concatenate([*actual, items[:0]]), 2 * items[start:])


def test_features_that_are_not_finite_name_their_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extract, "available_cores", lambda: 2)
    items = np.zeros((10, 3), np.uint8)
    items[7, 1] = 200
    with one_line("features of items 6 to 7 are not all finite"):
        list(_extract._in_order(FeatureModule(Doubled(), 3, {}), items, 0, 2, torch.device("cpu")))


@pytest.mark.parametrize("why", ["Found no NVIDIA driver on your system. Please check", "Torch not compiled with CUDA"])
def test_a_missing_driver_is_one_line(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*_: object, **__: object) -> torch.Tensor:
        raise RuntimeError(why)

    monkeypatch.setattr(torch, "empty", empty)
    with one_line() as caught:
        device.pick_device("cuda")
    assert str(caught.value) == f"device 'cuda' is not here: {why.partition('.')[0]}: auto, cpu or cuda[:N]"
