"""A killed run, started again with the same command, ends with the same codes, bit for bit."""

import hashlib
import io
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData, TrainingFailed
from hashbench.learning.losses import as_row_objective, mihash, supervision_of
from hashbench.learning.methods import METHODS
from hashbench.learning.training import checkpoint, checkpoint_files, log, loop
from hashbench.learning.training.batch import Batch
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.execute import FITTED
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store


def small_training_data(folder: Path, method: str = "mihash", **changes: object) -> tuple[Run, TrainingData]:
    setting_values = {"bits": 8, "epochs": 3, "batch_size": 30, **changes}
    chosen = on_digits(method, setting_values)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    items = rng.integers(0, 17, (60, 8, 8, 1), np.uint8)
    return chosen, TrainingData(
        items, rng.integers(0, 3, 60), 16.0, seed=1, folder=folder, execution=Execution("cpu", checkpoint_every_s=0)
    )


class KilledError(Exception):
    pass


def killed(*_: object) -> None:
    raise KilledError


def stop_after(epochs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next training is killed once that many epochs are done and saved."""
    save = loop.Trainer.save_checkpoint_if_due

    def save_and_die(run: loop.Trainer) -> None:
        save(run)
        if run.epochs_done == epochs:
            raise KilledError

    monkeypatch.setattr(loop.Trainer, "save_checkpoint_if_due", save_and_die)


def interrupted(folder: Path, monkeypatch: pytest.MonkeyPatch, method: str = "mihash", **changes: object) -> None:
    """Leaves a run of five epochs with the checkpoint of three."""
    chosen, data = small_training_data(folder, method, epochs=5, **changes)
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        stop_after(3, patch)
        METHODS.get(method).fit(chosen.settings, data)


def weights(folder: Path, method: str = "mihash", **changes: object) -> dict[str, torch.Tensor]:
    """Those of the run of five epochs, begun or resumed in ``folder``."""
    folder.mkdir(exist_ok=True)
    chosen, data = small_training_data(folder, method, epochs=5, **changes)
    state: dict[str, torch.Tensor] = METHODS.get(method).fit(chosen.settings, data).state_dict()  # type: ignore[attr-defined]
    return state


def assert_same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    assert all(torch.equal(values, other[name]) for name, values in one.items())


@pytest.mark.parametrize(
    "method, changes",
    [
        ("dpsh", {"pairing": "memory"}),
        ("dtsh", {"pairing": "memory", "lr": 0.005}),
        ("dfh", {}),
        ("dsdh", {}),
        ("adsh", {"lr": 0.003}),
        ("hswd", {}),
        ("greedyhash_u", {}),
        ("bihalf_u", {"feature_dropout": 0.25}),
        ("cibhash", {}),
        ("ssdh", {"sampled": 50}),
        ("tbh", {"hidden": 20, "bottleneck": 10}),
        ("jmlh", {"objective_lr": 0.1}),
        ("ce", {}),
        ("csq", {"centres": "bernoulli"}),
        ("hbmp", {}),
        ("mds_centres", {}),
        ("greedyhash", {}),
        ("orthohash", {}),
        ("talr_ndcg", {}),
        ("hashnet", {"pairing": "streams", "momentum_form": "lr_inside", "lr_unit": "step", "lr_decay_every": 3}),
        ("talr_ap", {"augment": "crop_flip", "nesterov": True}),
        ("talr_ap", {"augment": "flip", "augment_per": "round", "classes_per_batch": 3, "steps_per_epoch": 4}),
        ("talr_ap", {"model": "kernel", "width": 0.1}),
    ],
)
def test_a_resumed_run_is_the_undisturbed_one(
    method: str, changes: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = weights(tmp_path / "undisturbed", method, **changes)
    (tmp_path / "killed").mkdir()
    interrupted(tmp_path / "killed", monkeypatch, method, **changes)
    assert_same(weights(tmp_path / "killed", method, **changes), expected)


def flipped(content: bytes) -> bytes:
    """With one bit of the middle wrong, as on a bad disk: no archive notices that by itself."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize("damage", [flipped, lambda content: content[:100], lambda _: b""])
def test_a_damaged_checkpoint_is_one_line(
    damage: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(tmp_path, monkeypatch)
    last = tmp_path / checkpoint.FILE
    last.write_bytes(damage(last.read_bytes()))
    with one_line(r"checkpoint.pt: a damaged checkpoint.*: remove it to start over"):
        weights(tmp_path)


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, "another", 2, {})
    chosen, data = small_training_data(tmp_path)
    with one_line("another configuration: remove it to start over"):
        METHODS.get("mihash").fit(chosen.settings, data)


def test_a_checkpoint_is_never_unpickled(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "owned"),)

    buffer = io.BytesIO()
    torch.save({"config": Evil()}, buffer)
    (tmp_path / checkpoint.FILE).write_bytes(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())
    with one_line("damaged checkpoint"):
        checkpoint.load(tmp_path, "config")
    assert not (tmp_path / "owned").exists()


def test_a_checkpoint_goes_once_the_hasher_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is killed between the two is not trained again."""
    chosen, _ = small_training_data(tmp_path)
    store = Store(tmp_path)
    execution = Execution(device="cpu", checkpoint_every_s=0)
    folder = store.run_folder(str(chosen.name))
    with monkeypatch.context() as patch, pytest.raises(KilledError):
        patch.setattr(checkpoint_files, "remove", killed)
        row_of(chosen, store, execution)
    assert (folder / FITTED).exists() and (folder / checkpoint.FILE).exists()
    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "epoch", killed)
        assert row_of(chosen, store, execution).status == "ok"
    assert not list(folder.glob("checkpoint*"))


def test_a_loss_that_is_not_finite_fails_the_run_and_leaves_a_row(tmp_path: Path) -> None:
    wild = on_digits("dpsh", {"bits": 8, "lr": 1e30})
    row = row_of(wild, Store(tmp_path))
    assert row.status == "failed"
    assert row.metrics == {}
    assert row.reason is not None
    assert re.fullmatch(r"dpsh: epoch 0, step \d: the loss is (nan|inf): a smaller lr may help", row.reason)
    assert Store(tmp_path).find("digits", "s1", row.run) == row
    with pytest.raises(TrainingFailed):
        METHODS.get("dpsh").fit(wild.settings, small_training_data(tmp_path)[1])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_value_that_is_not_finite_stops_with_step_and_method_and_keeps_the_good_checkpoint(
    bad: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = loop.Trainer.step

    def poisoned(run: loop.Trainer, batch: Batch, generator: torch.Generator) -> torch.Tensor:
        loss = step(run, batch, generator)
        return torch.full_like(loss, bad) if batch.step == 7 else loss  # 2 batches an epoch: the last of epoch 3

    chosen, data = small_training_data(tmp_path, epochs=5)
    with monkeypatch.context() as patch, pytest.raises(TrainingFailed) as caught:
        patch.setattr(loop.Trainer, "step", poisoned)
        METHODS.get("mihash").fit(chosen.settings, data)
    message = f"mihash: epoch 3, step 7: the loss is {bad}: a smaller lr may help; the last good checkpoint is kept"
    assert str(caught.value) == message
    assert [line["epoch"] for line in log.read(tmp_path)] == [0, 1, 2]
    kept = checkpoint.load(tmp_path, torch_config(chosen, data))
    assert kept is not None
    assert kept[0] == 3
    assert_same(weights(tmp_path), weights(tmp_path / "undisturbed"))


def torch_config(chosen: Run, data: TrainingData) -> str:
    settings = chosen.settings
    assert isinstance(settings, DeepSettings)
    return loop.Trainer(settings, as_row_objective(mihash.loss, supervision_of(data)), data, "mihash").config


def test_weights_that_are_not_finite_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = loop.Trainer.save_checkpoint_if_due

    def broken(run: loop.Trainer) -> None:
        if run.epochs_done == 2:
            next(run.hasher.parameters()).data.fill_(torch.nan)
        save(run)

    monkeypatch.setattr(loop.Trainer, "save_checkpoint_if_due", broken)
    chosen, data = small_training_data(tmp_path)
    with pytest.raises(TrainingFailed, match=r"epoch 2, step 4: the loss is nan.*checkpoint is kept"):
        METHODS.get("mihash").fit(chosen.settings, data)
    kept = checkpoint.load(tmp_path, torch_config(chosen, data))
    assert kept is not None
    assert kept[0] == 1
