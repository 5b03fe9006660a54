"""A step on a GPU that has no values: what is recorded as a graph reads none, and moves nothing to or from the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.fake_gpu import OnTheCpu, fake_gpu, move, moved
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.training import loop
from hashbench.learning.training.loop import Trainer
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.run import Run

DEEP = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, DeepSettings)]
READ = {"dsdh", "dtsh", "talr_ndcg"}  # objectives that read a value on the CPU
DRAW = {"hswd", "jmlh", "tbh"}  # that draw random numbers there


def trainer(method: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Trainer:
    setting_values = {"bits": 8, "epochs": 1, "batch_size": 20, "model": "linear", **changes}
    settings: Any = Run.resolve("cifar10", "s1", method, setting_values).settings
    items = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)
    data = TrainingData(items, np.arange(40) % 4, 255.0, seed=1, folder=folder, execution=Execution("cpu"))
    with monkeypatch.context() as patch:
        patch.setattr(loop, "train", lambda settings, objective, *_: objective)
        objective: Any = METHODS.get(method).fit(settings, data)
    return Trainer(settings, objective, data, method)


@pytest.mark.filterwarnings("ignore:User provided device_type")  # there is no GPU for autocast
@pytest.mark.parametrize(
    "changes",
    [
        {"model": "small_cnn", "augment": "crop_flip"},
        {"model": "nin", "width": 0.2, "augment": "crop_flip", "augment_per": "batch", "normalise": "pixel_mean"},
        {"model": "resnet9", "width": 0.1, "hash_norm": "batch", "augment": "flip"},
        {"model": "vggf", "weights": "none", "augment": "flip"},
        {"model": "mlp", "normalise": "unit_norm"},
    ],
)
def test_the_codes_of_a_batch_stay_on_the_gpu(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trainer("talr_ap", tmp_path, monkeypatch, **changes)
    batch = next(run.batches.epoch(0, run.sampler(0)))
    run.hasher.train()
    with fake_gpu():
        move(run.hasher)
        run.device = torch.device("cuda")
        there = moved(batch)
        with OnTheCpu() as watched:
            assert run._codes(there).device.type == "cuda"
    assert not watched.operations


@pytest.mark.parametrize("method", DEEP)
def test_which_objectives_use_the_cpu(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(method, tmp_path, monkeypatch)
    batch = next(run.batches.epoch(0, run.sampler(0)))
    with fake_gpu():
        move(run.objective)
        there = moved(batch)
        codes = torch.empty(len(batch.items), 8, device="cuda").requires_grad_()
        with OnTheCpu() as watched:
            try:
                run._loss(codes, there, torch.Generator())
                reads = False
            except (DataDependentOutputException, DynamicOutputShapeException):
                reads = True
    assert reads == (method in READ)
    assert bool(watched.operations) == (method in DRAW)
