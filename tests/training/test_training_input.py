"""Training sets and outcomes that cannot be: each is one line."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData, TrainingFailed
from hashbench.learning.methods import METHODS
from hashbench.learning.training.settings import DeepSettings

DEEP = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, DeepSettings)]
RELEVANCE = [name for name in DEEP if METHODS.get(name).supervision == "relevance"]
SUPERVISED = [name for name in DEEP if METHODS.get(name).supervision != "none"]


def fit(folder: Path, method: str, labels: NDArray[Any], items: NDArray[Any] | None = None, **changes: Any) -> Any:
    if items is None:
        items = np.random.default_rng(0).integers(0, 17, (len(labels), 8, 8, 1), np.uint8)
    data = TrainingData(items, labels, 16.0, seed=1, folder=folder, execution=Execution("cpu"))
    setting_values = {"bits": 8, "epochs": 2, "batch_size": 5, **changes}
    return METHODS.get(method).fit(on_digits(method, setting_values).settings, data)


def complaint(folder: Path, method: str, labels: NDArray[Any], **changes: Any) -> str:
    with one_line() as caught:
        fit(folder, method, labels, **changes)
    return str(caught.value)


@pytest.mark.parametrize("method", DEEP)
def test_one_example_cannot_be_ranked(method: str, tmp_path: Path) -> None:
    assert re.search("1 training example|no two training examples", complaint(tmp_path, method, np.zeros(1, np.int64)))


@pytest.mark.parametrize("method", SUPERVISED)
def test_a_training_set_of_one_class_is_refused(method: str, tmp_path: Path) -> None:
    assert re.search("have 1 class|the same class or labels", complaint(tmp_path, method, np.full(20, 3)))


@pytest.mark.parametrize("method", SUPERVISED)
def test_a_training_set_without_a_relevant_pair_is_refused(method: str, tmp_path: Path) -> None:
    assert "no two training examples share" in complaint(tmp_path, method, np.arange(20))
    assert "no two training examples share" in complaint(tmp_path, method, np.eye(20, dtype=np.int64))


@pytest.mark.parametrize("method", DEEP)
def test_batches_without_a_relevant_pair_do_no_harm(method: str, tmp_path: Path) -> None:
    labels = np.arange(40) // 2 * 2  # twenty classes of two: most batches of five hold no pair
    activations = fit(tmp_path, method, labels).encode(np.zeros((3, 8, 8, 1), np.uint8))
    assert np.isfinite(activations).all()


@pytest.mark.parametrize("method", DEEP)
def test_features_that_nothing_can_be_learnt_from_are_refused(method: str, tmp_path: Path) -> None:
    features = np.random.default_rng(0).standard_normal((20, 64)).astype(np.float32)
    settings = on_digits(method, {"bits": 8, "model": "linear"}).settings

    def refusal(items: NDArray[Any]) -> str:
        with one_line() as caught:
            METHODS.get(method).fit(settings, TrainingData(items, np.arange(20) % 2, 1.0, seed=1, folder=tmp_path))
        return str(caught.value)

    assert "the 20 training examples have equal features" in refusal(np.ones_like(features))
    features[7, 2] = np.nan
    assert "the first is example 7" in refusal(features)


@pytest.mark.parametrize("method", RELEVANCE)
def test_codes_that_are_all_equal_fail_the_run(method: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match=f"{method}: all codes are equal"):
        fit(tmp_path, method, np.arange(20) % 2, items=np.full((20, 8, 8, 1), 3, np.uint8))


@pytest.mark.parametrize("method", RELEVANCE)
def test_a_batch_of_one_and_more_bits_than_features_are_refused(method: str, tmp_path: Path) -> None:
    text = complaint(tmp_path, method, np.arange(20) % 2, batch_size=1)
    assert "batch_size: Input should be greater than or equal to 2, got 1" in text
    text = complaint(tmp_path, method, np.arange(20) % 2, model="linear", bits=65)
    assert text == "65 bits from the 64 features of linear: at most 64"
