"""Trackers get the values of each epoch where one is asked for, and nothing leaves the machine."""

import json
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.command_line import CommandLine
from support.stored_toy import small_images

from hashbench.foundation.extras import how_to_install
from hashbench.learning.training import trackers
from hashbench.learning.training.log import Log

LINES = [{"epoch": 0, "step": 3, "loss": 0.5, "lr": 0.1}, {"epoch": 1, "step": 7, "loss": 0.25, "lr": 0.1}]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Addresses beyond this machine that this process tries; each attempt fails."""
    tried: list[Any] = []
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "localhost", "::1"):
            tried.append(address)
            raise OSError(f"no network in tests: {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tried


def logged(folder: Path, track: str) -> None:
    pytest.importorskip(track, reason=f"needs the extra {track}")
    folder.mkdir()
    log = Log(folder, 0, track, {"method": "hashnet", "bits": 8})
    for line in LINES:
        log.write(line)
    log.close()


def test_tensorboard(tmp_path: Path) -> None:
    logged(tmp_path / "a-run", "tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "a-run" / "tensorboard")).Reload()
    assert events.Tags()["scalars"] == ["train/loss", "train/lr"]
    assert [(event.step, event.value) for event in events.Scalars("train/loss")] == [(0, 0.5), (1, 0.25)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_wandb_is_offline(tmp_path: Path, no_network: list[Any]) -> None:
    logged(tmp_path / "a-run", "wandb")
    (written,) = (tmp_path / "a-run" / "wandb").glob("offline-run-*/run-*.wandb")
    content = written.read_bytes()
    assert all(text in content for text in (b"a-run", b"hashnet", b"loss"))
    assert no_network == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_mlflow_writes_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_network: list[Any]) -> None:
    monkeypatch.chdir(tmp_path)
    logged(tmp_path / "a-run", "mlflow")
    import mlflow

    (run,) = mlflow.search_runs(experiment_names=[trackers.PROJECT], output_format="list")
    assert run.info.run_name == "a-run"
    assert run.info.status == "FINISHED"
    assert run.data.params == {"method": "hashnet", "bits": "8"}
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
    assert [(metric.step, metric.value) for metric in history] == [(0, 0.5), (1, 0.25)]
    assert no_network == []


TRAIN = ("train", "greedyhash", "toy", "--bits", 8, "--device", "cpu", "--model", "small_cnn")
QUICK = ("--set", "epochs=2", "--set", "batch_size=16", "--set", "lr=0.001")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ((*TRAIN, *QUICK, "--track", "wandbb"), "unknown tracker 'wandbb': did you mean wandb?"),
        (("train", "itq", "toy", "--bits", 8, "--track", "wandb"), "--track: itq trains no network"),
        ((*TRAIN, *QUICK, "--track", "wandb"), f"--track wandb: wandb is not installed: {how_to_install('wandb')}"),
    ],
)
def test_what_cannot_be_tracked_is_one_line_before_anything_is_trained(
    hashbench: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    complaint: str,
) -> None:
    small_images(tmp_path)
    monkeypatch.setattr(trackers, "find_spec", lambda name: None)
    assert complaint in hashbench.refused(*arguments)


def test_a_run_is_tracked_only_where_it_is_asked_for(
    hashbench: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_images(tmp_path)
    seen: list[tuple[str, dict[str, float], int]] = []
    ended: list[str] = []

    def start(folder: Path, config: dict[str, Any], epochs_done: int) -> trackers.Tracker:
        assert config["method"] == "greedyhash"
        assert config["bits"] == 8
        assert epochs_done == 0
        return trackers.Tracker(
            lambda values, epoch: seen.append((folder.name, dict(values), epoch)), lambda: ended.append(folder.name)
        )

    monkeypatch.setitem(trackers.TRACKERS, "wandb", start)
    monkeypatch.setattr(trackers, "find_spec", lambda name: object())
    hashbench.done(*TRAIN, *QUICK, "--seed 1")
    assert seen == []
    printed = hashbench.done(*TRAIN, *QUICK, "--track wandb --json").out
    run = json.loads(printed)["run"]
    assert [(name, epoch) for name, _, epoch in seen] == [(run, 0), (run, 1)]
    assert all(np.isfinite(values["loss"]) and "epoch" not in values for _, values, _ in seen)
    assert ended == [run]
