"""Shallow methods that learn from labels: separate classes, seeds, and labels that they refuse, all in one line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fits import data_of
from support.on_digits import on_digits

from hashbench import score
from hashbench.foundation.config import Setting
from hashbench.learning.contract import TrainingData, TrainingFailed
from hashbench.learning.methods import METHODS
from hashbench.learning.methods._members import labelled_examples
from hashbench.scoring.codes import binarize

OF_CLASSES = ["fsdh", "hc_sdh", "itq_cca", "knnh", "sdh"]
# each method that learns from labels or pairs, with each kind of hash functions and each loss that it has
SEPARATING: list[tuple[str, dict[str, Setting]]] = [
    *((method, {}) for method in (*OF_CLASSES, "cosdish", "lfh", "bre", "classifier_codes")),
    *((method, {"hash_functions": kind}) for method in ("ksh", "machash", "cgh") for kind in ("linear", "kernel")),
    *(("structhash", {"hash_functions": kind}) for kind in ("linear", "kernel", "trees")),
    *(("structhash", {"hash_functions": "linear", "loss": "auc"}), ("fasthash", {}), ("fasthash", {"loss": "hinge"})),
]
LABELS = np.arange(300) % 6
CENTRES = np.random.default_rng(1).standard_normal((6, 10)) * 4


def features(seed: int = 0) -> np.ndarray:
    return CENTRES[LABELS] + np.random.default_rng(seed).standard_normal((300, 10))


def fitted(method: str, labels: np.ndarray, **changes: Setting) -> Any:
    small = {"n_anchors": 100, "n_trees": 20, "n_relevant": 20, "n_irrelevant": 20}
    fields = METHODS.get(method).settings.model_fields
    sizes = {name: size for name, size in small.items() if name in fields}
    settings = on_digits(method, {"bits": 16, **sizes, **changes}).settings
    return METHODS.get(method).fit(settings, TrainingData(features(), labels, 1.0, 0, Path()))


@pytest.mark.parametrize("method, changes", SEPARATING, ids=str)
def test_separate_classes_are_ranked_first(method: str, changes: dict[str, Setting]) -> None:
    hasher = fitted(method, LABELS, **changes)
    query, database = (binarize(hasher.encode(features(seed))) for seed in (1, 2))
    assert score(query, database, LABELS, LABELS, metrics=["ap"]).value("ap").mean > 0.97  # type: ignore[operator]


@pytest.mark.parametrize("method", OF_CLASSES)
def test_examples_without_a_class_do_not_count(method: str) -> None:
    class_ids = np.where(np.arange(300) % 5 == 0, -1, LABELS)
    kept = class_ids >= 0
    training = data_of(features(), class_ids)
    actual, members = labelled_examples(method, features(), training, several=True)
    np.testing.assert_array_equal(actual, features()[kept])
    np.testing.assert_array_equal(members, np.eye(6)[LABELS[kept]])
    assert np.isfinite(fitted(method, class_ids).encode(features())).all()


@pytest.mark.parametrize("method", OF_CLASSES)
@pytest.mark.parametrize("labels", [np.full(300, -1), np.zeros((300, 0), np.uint8), np.zeros((300, 3), np.uint8)])
def test_missing_labels(method: str, labels: np.ndarray) -> None:
    with pytest.raises(TrainingFailed, match=f"^{method} needs training examples of two classes or more; there are 0$"):
        fitted(method, labels)


def test_labels_without_an_example_are_left_out() -> None:
    multi_hot = np.eye(9, dtype=np.uint8)[LABELS + 2]
    training = data_of(features(), multi_hot)
    np.testing.assert_array_equal(labelled_examples("sdh", features(), training, several=True)[1], np.eye(6)[LABELS])
