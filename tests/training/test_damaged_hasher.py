"""The files of a saved deep hasher that were damaged: one line, and no memory that a damaged shape asks for."""

import json
from pathlib import Path

import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.learning.training.hasher import SHAPE, DeepHasher
from hashbench.learning.training.settings import TrainingSettings


@pytest.fixture
def settings() -> TrainingSettings:
    chosen = on_digits("mihash", {"bits": 8}).settings
    assert isinstance(chosen, TrainingSettings)
    return chosen


@pytest.mark.parametrize(
    "content, complaint",
    [
        (json.dumps({"item_shape": [10**9, 10**9, 3]}), ""),
        (json.dumps({"item_shape": [8, -8, 1]}), ""),
        ('{"item_shape": ' + "[" * 100_000, "nested too deep"),
        ("[]", "an object was expected"),
    ],
)
def test_a_damaged_shape_is_one_line(tmp_path: Path, settings: TrainingSettings, content: str, complaint: str) -> None:
    DeepHasher(settings, (8, 8, 1), 16.0).save(tmp_path)
    (tmp_path / SHAPE).write_text(content)
    with one_line() as caught:
        DeepHasher.load(settings, tmp_path, "cpu")
    assert str(caught.value).startswith(f"{tmp_path}: not a whole hasher of these settings: {complaint}")
