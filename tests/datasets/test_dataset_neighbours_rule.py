"""The rule ``neighbours``: the k nearest items of the database, and graded relevance among the training examples."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from support.all_distances import all_distances
from support.one_line import one_line

from hashbench.foundation import progress
from hashbench.learning.losses import DistanceSupervision
from hashbench.running.datasets import neighbours
from hashbench.running.datasets import relevance as module
from hashbench.running.datasets.protocol import Neighbours, Parts
from hashbench.running.datasets.relevance import relevance_of, relevance_of_training
from hashbench.running.datasets.split import Split, split
from hashbench.running.datasets.store import Dataset
from hashbench.running.runs.data import RunData

PARTS: dict[str, Any] = {"title": "", "draw": "parts", "query": [0, 10], "database": [10, 210], "train": [10, 110]}


def drawn(k: int, metric: Any, n_train: int = 100) -> tuple[Dataset, Split, Parts]:
    items = np.random.default_rng(0).standard_normal((210, 6)).astype(np.float32)
    data = Dataset("toy", items, np.zeros((210, 0), np.uint8), "")
    rule = Parts(**{**PARTS, "train": [10, 10 + n_train]}, relevance=Neighbours(kind="neighbours", k=k, metric=metric))
    return data, split(data.labels, rule, "toy", "own"), rule


def test_the_k_nearest_items_are_relevant() -> None:  # whichever the metric: test_neighbours.py
    data, chosen, rule = drawn(7, "l2")
    near = np.argsort(all_distances(data.items[:10], data.items[10:], "l2"), axis=1)[:, :7]
    expected = np.zeros((10, 200), int)
    np.put_along_axis(expected, near, 1, axis=1)
    np.testing.assert_array_equal(relevance_of(data, chosen, rule).block(slice(0, 10), slice(0, 200)), expected)


def test_a_run_shows_a_bar_while_it_computes_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    is_shown = []

    def noted(*arguments: Any, **named: Any) -> Any:
        is_shown.append(named["shown"])
        return progress.bar(*arguments, **named)

    monkeypatch.setattr(neighbours, "bar", noted)
    for k, of_run in ((7, False), (101, True)):
        data, chosen, rule = drawn(k, "l2")
        run: Any = SimpleNamespace(protocol=rule)
        assert RunData(run, data, chosen, data.items, 1.0, data, progress=of_run).relevance.shape == (10, 200)
    assert is_shown == [False, True]


@pytest.mark.parametrize("metric, sample", [("l2", 1000), ("l2", 20), ("cosine", 20), ("ip", 20)])
def test_training_examples_have_the_levels_of_their_nearest(
    metric: str, sample: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SAMPLE", sample)
    monkeypatch.setattr(module, "SAMPLE_ROWS", 7)
    data, chosen, rule = drawn(7, metric)
    relevance = relevance_of_training(data, chosen, rule)
    assert relevance is not None
    levels = relevance.levels[relevance.block(slice(0, 100), slice(0, 100))]
    distances = all_distances(data.items[10:110], data.items[10:110], metric)
    sampled = np.unique(np.linspace(0, 99, min(sample, 100)).astype(int))
    for row in range(100):
        others = np.sort(distances[row, sampled[sampled != row]])
        due = np.zeros(100, int)
        for percent, level in zip(module.NEAREST_PERCENT, module.NEAREST_LEVELS, strict=True):
            rank = max(1, round((len(sampled) - 1) * percent / 100))
            due[distances[row] <= others[rank - 1] + 1e-9] = level
        kept = np.arange(100) != row
        np.testing.assert_array_equal(levels[row, kept], due[kept])
    supervision = DistanceSupervision(relevance)
    of_batch = supervision.levels(torch.tensor([3, 50, 9]), torch.tensor([8, 50]))
    np.testing.assert_array_equal(of_batch, levels[[3, 50, 9]][:, [8, 50]])


def test_repeated_vectors_have_thresholds_of_0() -> None:
    data, chosen, rule = drawn(3, "l2")
    data.items[:] = 1
    relevance = relevance_of_training(data, chosen, rule)
    assert relevance is not None
    assert set(relevance.levels[relevance.block(slice(0, 100), slice(0, 100))].ravel()) == {5}


def test_more_neighbours_than_items_and_a_single_example_are_refused() -> None:
    with one_line("toy: k = 201"):
        relevance_of(*drawn(201, "l2"))
    with one_line("toy: 1 training example"):
        relevance_of_training(*drawn(3, "l2", n_train=1))


def test_a_rule_without_neighbours_is_digested_as_before() -> None:
    assert "relevance" not in Parts(**PARTS).deciding()
    rule = drawn(7, "ip")[2]
    assert rule.deciding()["relevance"] == {"kind": "neighbours", "k": 7, "metric": "ip"}
    assert rule.compared_features is None
    assert Parts(**PARTS).compared_features is None
