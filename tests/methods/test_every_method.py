"""Every method fits and encodes on a small real set, twice the same under one seed, and its TOML is strict."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import BitSettings, SavedHasher, TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.models import MODELS
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.split import split
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.run import Run
from hashbench.running.runs.settings import method_file
from hashbench.scoring.codes import binarize

FAST = {"epochs": 3, "n_trees": 20}
FEWER_ANCHORS = {"n_anchors": 40}  # there are 250 training examples, or 125
ANY_LENGTH = {"centres": "bernoulli"}  # there is no Hadamard matrix of order 6
ROWS = 12  # bits of hc_sdh: a row of a Hadamard matrix for each of ten classes
# these draw no random numbers
SEEDLESS = {"classifier_codes", "mdsh", "pca_sign", "random_ranking", "sign", "spectral_hashing"}
# the others start from another method's hasher: test_sparse_methods.py
OF_BITS = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, BitSettings)]


def training_data(folder: Path, seed: int = 3, every: int = 2) -> TrainingData:
    digits = open_dataset(load_card("digits"))
    ids = split(digits.labels, load_card("digits").protocol("s1"), "digits", "s1")
    train = ids.train_ids[::every]
    return TrainingData(digits.items[train], digits.labels[train], 16.0, seed, folder, execution=Execution("cpu"))


def resolved(method: str, **changes: int | str) -> Run:
    setting_values: dict[str, int | str] = {
        key: value for key, value in {**FAST, **FEWER_ANCHORS}.items() if key in hyperparameters_of(method)
    }
    setting_values |= ANY_LENGTH if method == "csq" else {}
    return on_digits(method, {"bits": 12, **setting_values, **changes})


def hyperparameters_of(method: str) -> set[str]:
    return set(METHODS.get(method).settings.model_fields)


@pytest.mark.parametrize("method", OF_BITS)
def test_fit_encode_save_load(method: str, tmp_path: Path) -> None:
    bits = ROWS if method == "hc_sdh" else 6
    chosen = resolved(method, bits=bits).settings
    items = open_dataset(load_card("digits")).items[:100]
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()
    entry = METHODS.get(method)
    every = 2 if entry.needs_torch else 4
    hasher = entry.fit(chosen, training_data(folders[0], every=every))
    first = hasher.encode(items)
    again = entry.fit(chosen, training_data(folders[1], every=every)).encode(items)
    other = entry.fit(chosen, training_data(folders[2], seed=4, every=every)).encode(items)
    assert first.shape == (100, bits)
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first, other) == (method in SEEDLESS)
    hasher.save(folders[0])
    np.testing.assert_array_equal(entry.load(chosen, SavedHasher(folders[0], "cpu")).encode(items), first)
    # a bit depends on its item alone, not on what is encoded with it
    np.testing.assert_array_equal(binarize(hasher.encode(items[:7])).words, binarize(first[:7]).words)
    with one_line("the hasher takes"):
        hasher.encode(np.zeros((2, 9, 8, 1), np.uint8))


@pytest.mark.parametrize("method", METHODS.names)
def test_its_file_gives_every_setting_without_a_default_and_nothing_else(method: str) -> None:
    file = method_file(method)
    settings = METHODS.get(method).settings
    declared = set(settings.model_fields) - {"bits", "classes"}  # of the code, and of the data set
    needed = {name for name in declared if settings.model_fields[name].is_required()}
    of_recipes = {"model"} if issubclass(settings, DeepSettings) else set()  # tests/runs/test_settings.py
    assert needed - of_recipes <= set(file.parameters) <= declared
    for variant in file.variants:
        assert set(variant.parameters) <= declared
    assert set(METHODS.get(method).identity) <= declared | {"bits", "classes"}


@pytest.mark.parametrize("method", [name for name in OF_BITS if METHODS.get(name).needs_torch])
def test_training_lowers_the_loss(method: str, tmp_path: Path) -> None:
    import json

    METHODS.get(method).fit(resolved(method, epochs=12).settings, training_data(tmp_path))
    losses = [json.loads(line)["loss"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert len(losses) == 12
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("model", [name for name in MODELS.names if MODELS.get(name).pretrained is None])
def test_every_model_trains(model: str, tmp_path: Path) -> None:
    hasher = METHODS.get("talr_ap").fit(
        resolved("talr_ap", model=model, epochs=1).settings, training_data(tmp_path, every=1)
    )
    assert hasher.encode(open_dataset(load_card("digits")).items[:5]).shape == (5, 12)


def test_itq_without_iterations_rotates_the_components_at_random(tmp_path: Path) -> None:
    data = training_data(tmp_path)
    plain = METHODS.get("pca_sign").fit(resolved("pca_sign").settings, data).function  # type: ignore[attr-defined]
    turned = METHODS.get("itq").fit(resolved("itq", iterations=0).settings, data).function  # type: ignore[attr-defined]
    rotation = plain.projection.T @ turned.projection
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(12), atol=1e-10)
    np.testing.assert_allclose(plain.projection @ rotation, turned.projection, atol=1e-10)
    assert np.abs(np.abs(rotation).max(axis=0) - 1).min() > 0.01  # no component alone


def test_lsh_of_the_range_has_the_codes_of_values_scaled_to_1(tmp_path: Path) -> None:
    stored = training_data(tmp_path)
    scaled = replace(stored, items=stored.items / 8 - 1, value_max=1.0)
    by_range, raw = (resolved("lsh", bits=64, centre=centre).settings for centre in ("range", False))
    fit = METHODS.get("lsh").fit
    expected = fit(raw, scaled).encode(scaled.items)
    np.testing.assert_allclose(2 * fit(by_range, stored).encode(stored.items), expected, rtol=1e-5, atol=1e-5)
    # values that already lie in [-1, 1] are hashed as they are
    np.testing.assert_array_equal(fit(by_range, scaled).encode(scaled.items), expected)
