"""The protocol of 22K LabelMe, and its features in a MATLAB file inside an archive."""

import zipfile

import numpy as np
import pytest
from scipy.io import savemat
from support.toy_root import write_card

from hashbench.running.datasets import store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.download import download
from hashbench.running.datasets.split import split

CARD = """
title = "Features"
citation = "none"
licence = "none"
homepage = "none"
kind = "features"
item_shape = [7]
n_items = 30
n_classes = 0
labels = "none"
reader = "matrix"

[[sources]]
manual = ["ask"]
file = "code.zip"
note = "made anew by each test"

[[sources.members]]
path = "code/LabelMe_gist.mat"
note = "made anew by each test"

[protocols.s1]
title = "as labelme"
citation = "none"
draw = "random"
queries = 4
train = 9
[protocols.s1.relevance]
kind = "percentiles"
percent = [5, 1]
levels = [1, 2]
"""
GIST = np.random.default_rng(0).random((30, 7))


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("HASHBENCH_ROOT", str(tmp_path / "root"))
    write_card(tmp_path / "root", "features", CARD)


def write_features(path):
    others = {"names": np.array(["a", "b"], object), "meta": {"year": 2008}, "DistLM": np.zeros((30, 30))}
    savemat(path, {**others, "gist": GIST})


def test_features_are_read_out_of_an_archive_and_nothing_else(tmp_path):
    write_features(tmp_path / "unpacked.mat")
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.write(tmp_path / "unpacked.mat", "code/LabelMe_gist.mat")
    download(load_card("features"), tmp_path)
    data = store.open_dataset(load_card("features"))
    assert np.array_equal(data.items, GIST.astype(np.float32))
    assert data.labels.shape == (30, 0)


def test_labels_of_none_are_no_columns(tmp_path):
    write_features(tmp_path / "LabelMe_gist.mat")
    download(load_card("features"), tmp_path, labels_only=True)
    labels = store.open_labels(load_card("features")).labels
    chosen = split(labels, load_card("features").protocol("s1"), "features", "s1")
    assert [len(ids) for ids in chosen.lists().values()] == [4, 26, 9]


def test_the_protocol_of_the_paper_needs_no_data(monkeypatch):
    monkeypatch.undo()
    card = load_card("labelme")
    rule = card.protocol("s1")
    chosen = split(np.zeros((card.n_items, 0), np.uint8), rule, "labelme", "s1")
    assert chosen.sha256 == rule.ids_sha256
    assert {role: len(ids) for role, ids in chosen.lists().items()} == {"query": 2000, "database": 20019, "train": 5000}
    assert len(np.setdiff1d(chosen.database_ids, chosen.train_ids)) == 15019
    assert rule.relevance.kind == "percentiles"
    assert rule.relevance.percent == [5, 1, 0.2, 0.1]
    assert rule.relevance.levels == [1, 2, 5, 10]


def test_the_released_relevance_has_the_same_items_and_levels(monkeypatch):
    monkeypatch.undo()
    card = load_card("labelme")
    rule = card.protocol("s1")
    released = card.protocol("s1_released")
    assert released.relevance.kind == "released"
    assert released.relevance.model_copy(update={"kind": "percentiles"}) == rule.relevance
    chosen = split(np.zeros((card.n_items, 0), np.uint8), released, "labelme", "s1_released")
    assert chosen.sha256 == released.ids_sha256 == rule.ids_sha256


@pytest.mark.parametrize("method", ["talr_ndcg", "dpsh", "mihash"])
def test_a_run_of_the_released_relevance_has_the_same_settings_and_another_name(monkeypatch, method):
    from hashbench.running.runs.run import Run

    monkeypatch.undo()
    settings = {"bits": 16, "model": "linear"}
    spec, released = (Run.resolve("labelme", protocol, method, settings) for protocol in ("s1", "s1_released"))
    assert released.settings == spec.settings
    assert released.name.config_hash != spec.name.config_hash
