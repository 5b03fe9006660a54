"""The loop on batches drawn by class, with outputs that are no bits, and what the objective may refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.one_line import one_line
from support.small_training import ROUNDS, Spread, embedding, examples, settings
from torch import Tensor

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import TrainingData, TrainingFailed
from hashbench.learning.losses import RowObjective
from hashbench.learning.training import log, loop
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.inputs import Augmentation
from hashbench.learning.training.sampler import ClassRounds
from hashbench.learning.training.settings import TrainingSettings

ADAM = {"optimiser": "adam", "momentum": 0.0, "lr": 0.003}
CHANGES: dict[str, Any] = {**ROUNDS, **ADAM, "augment": "crop_flip", "augment_per": "round"}


def trained(folder: Path, chosen: TrainingSettings, data: TrainingData | None = None) -> tuple[DeepHasher, Spread]:
    data = data or examples(folder)
    objective = Spread(data)
    return loop.train(chosen, objective, data, "spread"), objective


def test_the_objective_sees_the_batches_of_every_epoch_in_rounds(tmp_path: Path) -> None:
    data = examples(tmp_path)
    _, objective = trained(tmp_path, embedding(**CHANGES), data)
    rounds = ClassRounds.of(torch.from_numpy(data.labels), 4, 12, 6, data.seed)
    expected = [batch for epoch in range(3) for batch in rounds.epoch(epoch)]
    assert len(objective.seen) == len(expected) == 18
    assert all(torch.equal(rows, batch) for rows, batch in zip(objective.seen, expected, strict=True))
    lines = log.read(tmp_path)
    assert [line["step"] for line in lines] == [5, 11, 17]
    assert lines[-1]["loss"] < lines[0]["loss"]


def test_outputs_are_as_many_as_the_settings_say_and_not_squeezed(tmp_path: Path) -> None:
    hasher, _ = trained(tmp_path, embedding(d=3, **CHANGES))
    items = examples(tmp_path).items
    actual = hasher.encode(items)
    assert actual.shape == (61, 3)
    assert actual.dtype == np.float32
    loaded = DeepHasher.load(embedding(d=3, **CHANGES), tmp_path, "cpu")
    np.testing.assert_array_equal(loaded.encode(items), actual)
    with one_line("not a whole hasher of these settings"):
        DeepHasher.load(embedding(d=4, **CHANGES), tmp_path, "cpu")


@pytest.mark.parametrize("per, different", [("item", 12), ("round", 3), ("batch", 1)])
def test_who_shares_a_draw_of_the_augmentation(
    per: str, different: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared: list[list[tuple[int, ...]]] = []
    apply = Augmentation.apply

    def looked_at(moves: Any, images: Tensor) -> Tensor:
        shared.append([tuple(values.tolist()) for values in torch.vstack([moves.flip[None].long(), moves.offset]).T])
        return apply(moves, images)

    monkeypatch.setattr(Augmentation, "apply", looked_at)
    trained(tmp_path, embedding(**{**CHANGES, "augment_per": per, "model": "linear"}))
    assert len(shared) == 18
    assert max(len(set(moves)) for moves in shared) == different
    for moves in shared:  # neighbours, in rounds of four classes
        size = len(moves) // different
        assert all(len(set(moves[start : start + size])) == 1 for start in range(0, len(moves), size))
    assert len({tuple(moves) for moves in shared}) == 18


class Refuses(RowObjective):
    """Says of its ninth batch that it cannot go on."""

    step = 0

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        self.step += 1
        if self.step == 9:
            raise HashbenchError("class means: not finite (NaN or inf): finite activations are expected")
        return activations.square().mean()


def test_what_the_objective_refuses_fails_the_run_at_its_epoch_and_step(tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed) as caught:
        loop.train(embedding(**CHANGES), Refuses(), examples(tmp_path), "sparse_hash")
    assert str(caught.value) == (
        "sparse_hash: epoch 1, step 8: class means: not finite (NaN or inf): finite activations are expected; "
        "the last good checkpoint is kept"
    )
    assert [line["epoch"] for line in log.read(tmp_path)] == [0]


class Lifted(RowObjective):
    """Wants every output to be 90."""

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        return (activations.double() - 90).square().mean()


def test_outputs_of_one_sign_are_equal_codes_and_different_embeddings(tmp_path: Path) -> None:
    setting_values = {
        "relaxation": "identity",
        "model": "linear",
        "lr": 0.003,
        "momentum": 0.0,
        "epochs": 30,
        "optimiser": "sgd",
    }
    with pytest.raises(TrainingFailed, match="all codes are equal after the last epoch"):
        loop.train(settings(**setting_values), Lifted(), examples(tmp_path / "codes"), "lifted")
    hasher = loop.train(embedding(**setting_values), Lifted(), examples(tmp_path / "embeddings"), "lifted")
    assert (hasher.encode(examples(tmp_path).items) > 0).all()


def test_embeddings_that_are_all_equal_fail_the_run(tmp_path: Path) -> None:
    data = examples(tmp_path, items=np.full((61, 8, 8, 1), 3, np.uint8))
    with pytest.raises(TrainingFailed, match=r"^spread: all outputs are equal after the last epoch"):
        trained(tmp_path, embedding(**ROUNDS, lr=0.001), data)
