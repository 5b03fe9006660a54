"""Objectives with parameters and centres of their own, and batch normalisation after the hash layer, in training."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.on_digits import on_digits

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import RowObjective
from hashbench.learning.losses._classes import CentreObjective, HeadObjective
from hashbench.learning.methods import METHODS
from hashbench.learning.training import loop
from hashbench.learning.training.loop import Trainer
from hashbench.learning.training.settings import DeepSettings

ITEMS = np.random.default_rng(0).integers(0, 17, (60, 8, 8, 1), np.uint8)


def settings(method: str, **changes: Any) -> DeepSettings:
    chosen = on_digits(method, {"bits": 8, "epochs": 2, "batch_size": 29, **changes}).settings
    assert isinstance(chosen, DeepSettings)
    return chosen


def data(folder: Path, **changes: Any) -> TrainingData:
    return TrainingData(
        ITEMS, np.arange(60) % 3, 16.0, **{"seed": 1, "folder": folder, "execution": Execution("cpu"), **changes}
    )


def objective_of(method: str, training: TrainingData, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> RowObjective:
    """The objective that the method gives to the training loop."""
    with monkeypatch.context() as patch:
        patch.setattr(loop, "train", lambda settings, objective, *_: objective)
        objective: Any = METHODS.get(method).fit(settings(method, **changes), training)
    assert isinstance(objective, RowObjective)
    return objective


def trainer(method: str, training: TrainingData, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Trainer:
    objective = objective_of(method, training, monkeypatch, **changes)
    return Trainer(settings(method, **changes), objective, training, method)


@pytest.mark.parametrize("method", ["ce", "greedyhash", "bihalf", "jmlh"])
def test_a_classifier_is_trained_and_is_not_part_of_the_hasher(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trainer(method, data(tmp_path), monkeypatch)
    assert isinstance(first.objective, HeadObjective)
    before = {name: values.clone() for name, values in first.objective.named_parameters()}
    assert set(before) == ({"head.weight"} if method == "greedyhash" else {"head.weight", "head.bias"})
    next(first.steps(0))
    for name, values in first.objective.named_parameters():
        assert (values != before[name]).all(), name
    assert first.hasher.state_dict().keys() == {
        f"{part}.{name}" for part in ("normalised", "encoder") for name in getattr(first.hasher, part).state_dict()
    }
    assert not any("head" in name for name in first.hasher.state_dict())
    # the same at the start of each run of one seed, whatever the network's
    again = objective_of(method, data(tmp_path, seed=2), monkeypatch)
    assert all(torch.equal(values, before[name]) for name, values in again.named_parameters())
    other = objective_of(method, data(tmp_path, given_seed=1), monkeypatch)
    assert not any(torch.equal(values, before[name]) for name, values in other.named_parameters())


def test_its_rate_and_decay_follow_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for changes, rate, decay in (
        ({}, 1.0, 0.03),
        ({"objective_lr": 0.1}, 0.1, 0.03),
        ({"hash_weight_decay": 0.5}, 1.0, 0.5),
    ):
        first = trainer("ce", data(tmp_path), monkeypatch, weight_decay=0.03, **changes)
        groups = first.optimiser.param_groups
        head = [group for group in groups if any(values.shape[0] == 3 for values in group["params"])]
        assert [(group["lr_multiplier"], group["weight_decay"]) for group in head] == [(rate, decay)] * 2
        assert sum(len(group["params"]) for group in groups) == len(list(first.hasher.encoder.parameters())) + 2


@pytest.mark.parametrize("method", ["csq", "dpn", "hbmp", "orthohash", "mds_centres"])
def test_centres_are_those_of_the_seed_and_in_the_log(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, same, other = (
        objective_of(method, data(tmp_path, **changes), monkeypatch)
        for changes in ({}, {"seed": 2}, {"given_seed": 5})  # a run and its base differ in their derived seeds
    )
    for objective in (first, same, other):
        assert isinstance(objective, CentreObjective)
    assert torch.equal(first.centres, same.centres)
    assert not torch.equal(first.centres, other.centres)
    assert "centres" in first.state_dict()
    METHODS.get(method).fit(settings(method), data(tmp_path))
    line = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    apart = [int((first.centres[i] != first.centres[j]).sum()) for i in range(3) for j in range(i)]
    assert line["centre_distance_min"] == min(apart)
    assert line["centre_distance_mean"] == pytest.approx(sum(apart) / 3, abs=1e-3)
