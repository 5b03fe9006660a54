"""Which device counts, and what is said where it cannot."""

from types import SimpleNamespace
from typing import Any

import pytest
from support.one_line import one_line

from hashbench.foundation.parallel import available_cores
from hashbench.scoring.histogram import device

MANY = 10**15  # pairs: minutes on any CPU


def no_question(*arguments: object) -> Any:
    pytest.fail("nobody should have asked")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Any:
    """torch as it is on a machine with two CUDA devices, as far as it is asked."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(device, "has_cuda_driver", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch, "empty", lambda *shape, device: None)
    return torch


@pytest.mark.parametrize(
    "name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:12345", "CPU", "mps", "cpu:0", "", "cuda\n"]
)
def test_names_of_no_device_are_refused(name: str) -> None:
    for choose in (device.usable, lambda name: device.for_pairs(name, 1, 1), device.for_arrays):
        with one_line("one of auto, cpu, cuda, cuda:N"):
            choose(name)


def test_a_count_that_is_short_asks_neither_the_driver_nor_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_cuda_driver", no_question)
    monkeypatch.setattr(device, "find_spec", no_question)
    assert device.for_pairs("auto", 10_000 * 100_000, 64) == "cpu"
    assert device.for_pairs("cpu", MANY, 64) == "cpu"


def test_the_bound_is_the_seconds_that_the_cpu_would_need(cuda: Any) -> None:
    pairs = round(device.CPU_SECONDS / device.PAIR_SECONDS * available_cores())
    assert device.for_pairs("auto", pairs + 10, 64) == "cuda:0"
    assert device.for_pairs("auto", pairs - 10, 64) == "cpu"
    assert device.for_pairs("auto", pairs // 2 + 10, 128) == "cuda:0"  # two words a code
    assert device.for_pairs("auto", pairs // 2 - 10, 65) == "cpu"


def test_without_torch_auto_is_the_cpu_and_cuda_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "has_cuda_driver", lambda: True)
    monkeypatch.setattr(device, "find_spec", lambda name: None)
    assert device.for_pairs("auto", MANY, 64) == "cpu"
    with one_line(
        r"device cuda:1: torch is not installed: make .*install, or pip install -e .*\[train\].*; or device cpu",
    ):
        device.usable("cuda:1")


def test_a_device_that_cannot_be_used_is_refused_and_auto_does_without_it(
    cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*shape: int, device: str) -> None:
        raise RuntimeError("CUDA error: all devices are busy\nCUDA kernel errors might be")

    assert [device.usable(name) for name in ("cuda", "cuda:0", "cuda:1")] == ["cuda:0", "cuda:0", "cuda:1"]
    with one_line("device cuda:2: 2 CUDA devices are here"):
        device.usable("cuda:2")
    monkeypatch.setattr(cuda, "empty", busy)
    with one_line("device cuda: it cannot be used: CUDA error: all devices are busy CUDA"):
        device.usable("cuda")
    assert device.for_pairs("auto", MANY, 64) == "cpu"


def tensor(name: str) -> SimpleNamespace:
    return SimpleNamespace(detach=None, is_cuda=name.startswith("cuda"), device=name)


def test_arrays_are_counted_where_the_first_tensor_on_a_gpu_is(cuda: Any) -> None:
    array = [[1]]
    host = tensor("cpu")
    first = tensor("cuda:0")
    second = tensor("cuda:1")
    assert device.for_arrays("auto", array, host) == "cpu"
    assert device.for_arrays("auto", first, second) == "cuda:0"
    assert device.for_arrays("auto", array, second) == "cuda:1"
    assert device.for_arrays("cpu", first, second) == "cpu"
    assert device.for_arrays("cuda:0", array, second) == "cuda:0"


@pytest.mark.gpu
def test_the_driver_and_torch_agree_that_a_device_is_here() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    assert device.has_cuda_driver()
    assert device.for_pairs("auto", MANY, 64) == "cuda:0"
    with one_line("CUDA devices are here"):
        device.usable("cuda:99")
