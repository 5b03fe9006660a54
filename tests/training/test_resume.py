"""A killed run, started again with the same command, ends with the same codes, bit for bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from hashbench import experiment, measure
from hashbench.errors import HashbenchError
from hashbench.hasher import Fit
from hashbench.methods import METHODS
from hashbench.results import Store
from hashbench.training import checkpoint
from hashbench.training.failure import TrainingFailed

EPOCHS = 150  # long enough to be met in the middle
COMMAND = [
    *(sys.executable, "-m", "hashbench", "train", "talr-ap", "digits", "--protocol", "s1", "--bits", "16"),
    *("--set", f"epochs={EPOCHS}", "--checkpoint-every", "0", "--device", "cpu", "--json"),
]


def run(results: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HASHBENCH_RESULTS": str(results), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(COMMAND, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def finish(results: Path) -> dict[str, object]:
    out, _ = run(results).communicate(timeout=200)
    row: dict[str, object] = json.loads(out)
    return row


def kill_at(results: Path, epoch: int, how: signal.Signals) -> int:
    """Starts the command and sends the signal once ``epoch`` epochs are logged; returns the exit status."""
    process = run(results)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        logs = list(results.glob("runs/*/train.jsonl"))
        if logs and logs[0].read_bytes().count(b"\n") >= epoch:
            process.send_signal(how)
            break
        time.sleep(0.01)
    process.communicate(timeout=60)
    return process.returncode


def same_codes(one: Path, other: Path) -> None:
    first, second = (next(folder.glob("runs/*/codes.npz")) for folder in (one, other))
    with np.load(first) as a, np.load(second) as b:
        assert sorted(a.files) == sorted(b.files)
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("undisturbed")
    finish(results)
    return results


def test_kill_9_in_mid_training(tmp_path: Path, undisturbed: Path) -> None:
    assert kill_at(tmp_path, EPOCHS // 4, signal.SIGKILL) == -signal.SIGKILL
    assert list(tmp_path.glob("runs/*/checkpoint.pt"))
    assert not list(tmp_path.glob("rows/*/*.json"))
    row = finish(tmp_path)
    assert row["status"] == "ok"
    same_codes(tmp_path, undisturbed)
    # the log shows that epochs before the checkpoint were not trained twice
    epochs = [json.loads(line)["epoch"] for line in next(tmp_path.glob("runs/*/train.jsonl")).read_text().splitlines()]
    assert len(epochs) < EPOCHS + EPOCHS // 4


def test_sigterm_leaves_a_resumable_state(tmp_path: Path, undisturbed: Path) -> None:
    assert kill_at(tmp_path, EPOCHS // 2, signal.SIGTERM) == 130
    finish(tmp_path)
    same_codes(tmp_path, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(20))
def test_kill_9_at_seeded_moments(tmp_path: Path, undisturbed: Path, moment: int) -> None:
    for epoch in sorted(random.Random(moment).sample(range(1, EPOCHS - 5), 2)):
        kill_at(tmp_path, epoch, signal.SIGKILL)
    finish(tmp_path)
    same_codes(tmp_path, undisturbed)


def small_fit(folder: Path, **changes: object) -> tuple[experiment.Experiment, Fit]:
    chosen = experiment.resolve("digits", "s1", "mihash", {"bits": 8, "epochs": 3, **changes})  # type: ignore[dict-item]
    rng = np.random.default_rng(0)
    items = rng.integers(0, 17, (60, 8, 8, 1), np.uint8)
    return chosen, Fit(items, rng.integers(0, 3, 60), 16.0, seed=1, folder=folder, device="cpu", checkpoint_every_s=0)


def test_a_damaged_checkpoint_is_one_line(tmp_path: Path) -> None:
    chosen, data = small_fit(tmp_path)
    (tmp_path / checkpoint.FILE).write_bytes(b"not a checkpoint")
    with pytest.raises(HashbenchError, match="damaged checkpoint") as caught:
        METHODS.get("mihash").fit(chosen.settings, data)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "another", 2, {})
    chosen, data = small_fit(tmp_path)
    with pytest.raises(HashbenchError, match="another configuration"):
        METHODS.get("mihash").fit(chosen.settings, data)


def test_a_checkpoint_is_never_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "owned"),)

    torch.save({"config": Evil()}, tmp_path / checkpoint.FILE)
    with pytest.raises(HashbenchError, match="damaged checkpoint"):
        checkpoint.load(tmp_path, "config")
    assert not (tmp_path / "owned").exists()


def test_a_finished_run_keeps_no_checkpoint(tmp_path: Path) -> None:
    chosen, data = small_fit(tmp_path)
    METHODS.get("mihash").fit(chosen.settings, data)
    assert not (tmp_path / checkpoint.FILE).exists()
    assert (tmp_path / "hasher.safetensors").exists()


def test_a_loss_that_is_not_finite_fails_the_run_and_leaves_a_row(tmp_path: Path) -> None:
    wild = experiment.resolve("digits", "s1", "dpsh", {"bits": 8, "lr": 1e30})
    row = measure.run(wild, Store(tmp_path))
    assert (row.status, row.metrics) == ("failed", {})
    assert row.reason is not None
    assert "smaller lr" in row.reason
    assert Store(tmp_path).find("digits", "s1", row.run) == row
    with pytest.raises(TrainingFailed):
        METHODS.get("dpsh").fit(wild.settings, small_fit(tmp_path)[1])
