"""Steps that are recorded once and replayed: here on the CPU, by a recorder that executes again what it recorded."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from support import small_fits
from support.recorder import FakeRecorder, Work
from torch import Tensor

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.sparse.objectives import HashObjective
from hashbench.learning.training import graphs, loop
from hashbench.running.runs.run import Run

ALL = 3  # parts of a step


def fit(folder: Path, method: str = "talr_ap", changes: dict[str, Any] | None = None) -> dict[str, Tensor]:
    """The weights after three epochs of three batches, of which the last one is smaller."""
    return small_fits.fit(method, changes or {}, folder)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(values, other[name]) for name, values in one.items())


def with_recorder(monkeypatch: pytest.MonkeyPatch, recorder: FakeRecorder) -> FakeRecorder:
    monkeypatch.setattr(graphs, "recorder_for", lambda device: recorder)
    monkeypatch.setattr(graphs, "LEAST_STEPS", 0)
    return recorder


@pytest.mark.parametrize("method, changes, n_recorded", small_fits.RECORDED)
def test_recorded_steps_end_with_the_weights_of_plain_ones(
    method: str, changes: dict[str, Any], n_recorded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = fit(tmp_path / "plain", method, changes)
    recorder = with_recorder(monkeypatch, FakeRecorder())
    assert same(fit(tmp_path / "recorded", method, changes), plain)
    # steps of an epoch: large, large, small; the first is plain, the second is recorded, the fourth is compared
    assert recorder.asked == ["warm up", "waits", *["record"] * n_recorded, *["replay"] * (n_recorded * 4)]


@pytest.mark.parametrize("fails", ["warm up", "waits", "record", "replay"])
def test_what_cannot_be_recorded_is_computed_plainly_and_said(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = fit(tmp_path / "plain", changes=small_fits.DROPOUT)
    recorder = with_recorder(monkeypatch, FakeRecorder(fails))
    assert same(fit(tmp_path / "recorded", changes=small_fits.DROPOUT), plain)
    assert recorder.asked.count(fails) == 1
    (line,) = [text for text in capsys.readouterr().err.splitlines() if text.startswith("note: ")]
    assert line == (
        "note: the steps are not replayed as CUDA graphs, and so take longer: "
        "operation not permitted when stream is capturing"
    )


def with_noise(work: Work) -> Work:
    """A replay after which a random number more was drawn, as if the graph did not know the generator."""

    def replay() -> None:
        torch.rand(1)
        work()

    return replay


def frozen(work: Work) -> Work:
    """A replay that computes nothing: the results stay those of the batch that was recorded."""
    return lambda: None


@pytest.mark.parametrize("wrong", [with_noise, frozen])
def test_a_recording_that_does_not_agree_with_a_plain_step_is_not_used(
    wrong: Callable[[Work], Work], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = fit(tmp_path / "plain", changes=small_fits.DROPOUT)
    recorder = with_recorder(monkeypatch, FakeRecorder(change=wrong))
    assert same(fit(tmp_path / "recorded", changes=small_fits.DROPOUT), plain)
    assert recorder.asked.count("replay") == ALL
    assert "from that of a plain step" in capsys.readouterr().err


@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_a_flow_is_solved_between_the_replays(
    base: Literal["triplet", "npairs"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trained(folder: Path) -> str:
        labels = np.arange(24) % 4
        setting_values = {"base": base, "d": 8, "width": 0.1, "epochs": 2, "steps_per_epoch": 3, "batch_size": 6}
        settings: Any = Run.resolve(
            "cifar100", "sparse_hash", "sparse_hash", {**setting_values, "classes_per_batch": 3}
        ).settings
        items = np.random.default_rng(0).integers(0, 256, (24, 8, 8, 3), np.uint8)
        folder.mkdir()
        objective = HashObjective(
            torch.from_numpy(labels), base, k=1, lam=0.5, variant="released", margin=1.0, l2=0.003
        )
        data = TrainingData(items, labels, 255.0, seed=1, folder=folder, execution=Execution("cpu"))
        return loop.train(settings, objective, data, "sparse_hash").checksum()

    plain = trained(tmp_path / "plain")
    recorder = with_recorder(monkeypatch, FakeRecorder())
    assert trained(tmp_path / "recorded") == plain
    assert recorder.asked == ["warm up", "waits", *["record"] * 2, *["replay"] * (2 * 4)]
