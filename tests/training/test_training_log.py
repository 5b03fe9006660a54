"""What a run leaves to be followed by: metrics.jsonl, a picture, TensorBoard, a bar."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.training import log
from hashbench.learning.training.log import draw

Evaluate = Callable[[object], dict[str, float]]


def trained(
    folder: Path, *, progress: bool = False, evaluate: Evaluate | None = None, **changes: int | float | str
) -> list[dict[str, float]]:
    rng = np.random.default_rng(0)
    data = TrainingData(
        items=rng.integers(0, 17, (65, 8, 8, 1), np.uint8),
        labels=rng.integers(0, 3, 65),
        value_max=16.0,
        seed=1,
        folder=folder,
        execution=Execution("cpu", progress=progress, checkpoint_every_s=0.0, eval_every=2 if evaluate else 0),
        evaluate=evaluate,
    )
    setting_values = {"bits": 8, "epochs": 4, "batch_size": 16, **changes}
    METHODS.get("hashnet").fit(on_digits("hashnet", setting_values).settings, data)
    return [json.loads(line) for line in (folder / log.FILE).read_text().splitlines()]


def test_a_line_an_epoch(tmp_path: Path) -> None:
    lines = trained(tmp_path, lr=0.5, lr_decay=0.5, lr_decay_every=2)
    assert [set(line) for line in lines] == [{"epoch", "step", "loss", "lr", "alpha", "images_per_s", "seconds"}] * 4
    assert [line["epoch"] for line in lines] == [0, 1, 2, 3]
    assert [line["step"] for line in lines] == [3, 7, 11, 15]  # the one example left over makes no batch
    assert [line["lr"] for line in lines] == [0.5, 0.5, 0.25, 0.25]
    assert [line["alpha"] for line in lines] == pytest.approx([(1 + 0.005 * step) ** 0.5 for step in (3, 7, 11, 15)])
    assert all(line["images_per_s"] > 0 for line in lines)


@pytest.mark.parametrize("damage", [b"\xff\xff", b"[1]", b'{"a":1}', b'{"epoch":"x"}', b"null"])
def test_a_damaged_log_is_one_line_with_the_file(damage: bytes, tmp_path: Path) -> None:
    line = b'{"epoch": 0, "alpha": 1.0, "seconds": 0.1}\n'
    (tmp_path / log.FILE).write_bytes(line + damage)
    with one_line(r"metrics.jsonl:2: damaged, .*: remove it to go on"):
        log.read(tmp_path)
    (tmp_path / log.FILE).write_bytes(line + line[:20])  # a process was killed
    log.Log(tmp_path, 1)
    assert (tmp_path / log.FILE).read_bytes() == line


def test_what_is_evaluated_is_logged_drawn_and_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "draw", draw)
    values = iter([0.25, None, 0.5, 0.75])

    def evaluate(_: object) -> dict[str, float]:
        torch.rand(3)  # an epoch sets its own random numbers
        if (value := next(values)) is None:
            raise KeyboardInterrupt
        return {log.HELD_OUT_AP: value}

    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, evaluate=evaluate, epochs=5)
    lines = trained(tmp_path, evaluate=evaluate, epochs=5)  # from the checkpoint after the third epoch
    assert [line.get(log.HELD_OUT_AP) for line in lines] == [None, 0.25, None, 0.5, 0.75]
    plain = trained(tmp_path / "plain", epochs=5)
    assert [line["loss"] for line in plain] == [line["loss"] for line in lines]
    heights = [height_of(folder / log.PICTURE) for folder in (tmp_path / "plain", tmp_path)]
    assert heights[1] - heights[0] == pytest.approx(160, abs=2)  # a panel more


def height_of(picture: Path) -> int:
    return int.from_bytes(picture.read_bytes()[20:24], "big")


def test_activations_that_are_not_finite_end_no_training(tmp_path: Path) -> None:
    def evaluate(_: object) -> dict[str, float]:
        raise HashbenchError("activations: not finite")

    assert not any(log.HELD_OUT_AP in line for line in trained(tmp_path, evaluate=evaluate))
