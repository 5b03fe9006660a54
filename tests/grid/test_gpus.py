"""Each worker of a grid sees GPUs of its own, as long as there are enough."""

import pytest

from hashbench.grid.gpus import VISIBLE, environments


@pytest.mark.parametrize(
    ("jobs", "device", "per_run", "visible"),
    [
        (2, "auto", 1, ["2", "GPU-7f"]),
        (3, "cuda", 1, ["2", "GPU-7f", "5"]),
        (5, "auto", 1, ["2", "GPU-7f", "5", "2", "GPU-7f"]),  # more runs than GPUs: some share one
        (2, "auto", 2, ["2,GPU-7f", "5,2"]),
        (2, "auto", 4, ["2,GPU-7f,5", "GPU-7f,5,2"]),
        (1, "auto", 1, [None]),  # it may use all
        (2, "cpu", 1, [None, None]),
        (2, "cuda:1", 1, [None, None]),  # the user chose
    ],
)
def test_gpus_are_given_in_turn(
    monkeypatch: pytest.MonkeyPatch, jobs: int, device: str, per_run: int, visible: list[str | None]
) -> None:
    monkeypatch.setenv(VISIBLE, "2, GPU-7f,5")
    assert [found.get(VISIBLE) for found in environments(jobs, device, per_run)] == visible


@pytest.mark.parametrize("none", ["", "-1"])
def test_without_gpus_nothing_is_set(monkeypatch: pytest.MonkeyPatch, none: str) -> None:
    monkeypatch.setenv(VISIBLE, none)
    assert environments(2, "auto", 1) == [{}, {}]


def test_without_the_variable_torch_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.delenv(VISIBLE, raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [found[VISIBLE] for found in environments(3, "auto", 1)] == ["0", "1", "0"]
