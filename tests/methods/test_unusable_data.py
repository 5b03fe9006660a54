"""What no shallow method can learn from ends in one line, for every method: never in a traceback or in a NaN."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import BitSettings, TrainingData, TrainingFailed
from hashbench.learning.methods import METHODS, ShallowSettings

SHALLOW = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, ShallowSettings)]
SUPERVISED = [name for name in SHALLOW if METHODS.get(name).supervision != "none"]
LEARNS_NOTHING = {"random_ranking"}  # it gives all items one code, whatever the features are


def data(folder: Path, features: NDArray[np.floating], labels: NDArray[np.int64]) -> TrainingData:
    return TrainingData(features, labels, 1.0, 3, folder, execution=Execution("cpu"))


def settings_of(method: str, bits: int, **changes: Setting) -> BitSettings:
    values: dict[str, Setting] = {"bits": bits}
    if "n_anchors" in METHODS.get(method).settings.model_fields:
        # not more than there are examples here; t-SNE of many anchors takes long
        values["n_anchors"] = 40 if method == "imh" else 300
    settings = on_digits(method, {**values, **changes}).settings
    assert isinstance(settings, BitSettings)
    return settings


def fitted(method: str, training: TrainingData, bits: int = 4) -> NDArray[np.float32]:
    settings = settings_of(method, bits)
    hasher = METHODS.get(method).fit(settings, training)
    return hasher.encode(training.items)  # type: ignore[attr-defined]


def features(n: int = 400, d: int = 8) -> NDArray[np.float64]:
    return np.random.default_rng(0).standard_normal((n, d))


def classes(n: int = 400) -> NDArray[np.int64]:
    return np.arange(n) % 3


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("method", SHALLOW)
def test_features_that_are_nan_or_too_large(method: str, value: float, tmp_path: Path) -> None:
    broken = features()
    broken[7, 2] = value
    with one_line("example 7"):
        fitted(method, data(tmp_path, broken, classes()))


@pytest.mark.parametrize("method", [name for name in SHALLOW if name not in LEARNS_NOTHING])
def test_equal_features(method: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="have equal features"):
        fitted(method, data(tmp_path, np.ones((400, 8)), classes()))


@pytest.mark.parametrize("method", SHALLOW)
def test_one_feature_that_is_constant_is_no_fault(method: str, tmp_path: Path) -> None:
    usual = features()
    usual[:, 3] = 0.5
    assert np.isfinite(fitted(method, data(tmp_path, usual, classes()))).all()


@pytest.mark.parametrize("method", [name for name in SHALLOW if METHODS.get(name).require is not None])
def test_more_bits_than_features_where_a_feature_gives_at_most_one(method: str, tmp_path: Path) -> None:
    with one_line(r"^9 bits from 8 features: at most 8 bits$"):
        fitted(method, data(tmp_path, features(), classes()), bits=9)


@pytest.mark.parametrize("method", [name for name in SHALLOW if "n_anchors" in METHODS.get(name).settings.model_fields])
def test_more_anchors_than_examples(method: str, tmp_path: Path) -> None:
    kernel: dict[str, Setting] = {}
    if "hash_functions" in METHODS.get(method).settings.model_fields:
        kernel["hash_functions"] = "kernel"
    settings = settings_of(method, 4, n_anchors=401, **kernel)
    with one_line(r"^401 (anchors from|centres of) 400 training examples"):
        METHODS.get(method).fit(settings, data(tmp_path, features(), classes()))


@pytest.mark.parametrize("method", SUPERVISED)
def test_one_class_only(method: str, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match=r"two classes|one class|relevant to each other"):
        fitted(method, data(tmp_path, features(), np.zeros(400, np.int64)))


@pytest.mark.parametrize("method", SHALLOW)
def test_fewer_examples_than_bits_fit_or_say_what_is_needed(method: str, tmp_path: Path) -> None:
    few = data(tmp_path, features(10, 40), classes(10))
    try:
        activations = fitted(method, few, bits=24)
    except HashbenchError as refused:
        assert any(character.isdigit() for character in str(refused)), "it says how many"
    else:
        assert activations.shape == (10, 24)
        assert np.isfinite(activations).all()


REFUSED: list[tuple[str, dict[str, Setting], str]] = [
    ("agh", {"bits": 29, "n_anchors": 15}, "29 bits from 28 bits, two of each eigenvector of the anchor graph"),
    ("agh", {"nearest": 301}, "nearest = 301: there are 300 anchors"),
    ("bilinear", {"bits": 7}, "7 bits are no product of at most 2 and at most 4: the 8 features"),
    ("classifier_codes", {"bits": 1}, "1 bits for 3 classes: at least 2 bits"),
    ("cosdish", {"bits": 400}, "400 bits from 399 sampled columns"),
    ("density_sensitive", {"bits": 8, "groups_per_bit": 0.5, "nearest": 1}, "8 bits from 3 planes between 4 groups"),
    ("harmonious", {"bits": 9}, "9 bits from 8 directions along which the graph varies"),
    ("hc_sdh", {"bits": 2}, "3 classes are rows of a Hadamard matrix of order 2"),
    ("hc_sdh", {"bits": 6}, "3 classes are rows of a Hadamard matrix of order 6"),
    ("imh", {"bits": 20, "n_anchors": 20, "embedding": "laplacian"}, "20 bits from 19 eigenvectors of the graph"),
    ("imh", {"n_anchors": 20, "perplexity": 20.0}, "perplexity = 20: it must be below the 20 anchors"),
    ("lfh", {"bits": 400}, "400 bits from 399 sampled columns"),
    ("mdsh", {"bits": 40, "t": 50.0}, "eigenfunctions at t = 50: at most"),
    ("sklsh", {"neighbours": 400}, "neighbours = 400: a training example has 399 others"),
    ("sth", {"bits": 400}, "400 bits from 399 eigenvectors: at most 399 bits"),
]


@pytest.mark.parametrize("method, changes, complaint", REFUSED)
def test_what_a_method_cannot_give_is_refused(
    method: str, changes: dict[str, Setting], complaint: str, tmp_path: Path
) -> None:
    settings = settings_of(method, **{"bits": 4, **changes})
    with one_line(re.escape(complaint)):
        METHODS.get(method).fit(settings, data(tmp_path, features(), classes()))
