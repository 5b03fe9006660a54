"""Which training examples are alike by the distance of their features, as scoring has it."""

import numpy as np
import pytest
import torch
from support.one_line import one_line

from hashbench.learning.losses import DistanceSupervision, LabelSupervision
from hashbench.scoring.relevance import percentiles
from hashbench.scoring.relevance.distances import DistanceRelevance
from hashbench.scoring.relevance.labels import ClassRelevance


def of_training(features: np.ndarray) -> DistanceRelevance:
    return DistanceRelevance(features, features, percentiles.percentiles(features, [20, 10, 4, 1]), (1, 2, 5, 10))


def test_levels_by_distance_are_those_that_are_scored() -> None:
    features = np.random.default_rng(0).standard_normal((90, 7))
    relevance = of_training(features)
    expected = relevance.levels[relevance.block(slice(None), slice(None))]
    assert set(np.unique(expected)) == {0, 1, 2, 5, 10}
    supervision = DistanceSupervision(relevance)
    assert supervision.n_examples == 90
    every = torch.arange(90)
    np.testing.assert_array_equal(supervision.levels(every), expected)
    rows = torch.tensor([5, 80, 5])
    columns = torch.tensor([2, 5])
    np.testing.assert_array_equal(supervision.levels(rows), expected[rows])
    np.testing.assert_array_equal(supervision.levels(rows, columns), expected[rows][:, columns])


def test_a_distance_at_a_threshold_is_within_it() -> None:
    line = np.array([[0.0], [1.0], [3.0], [7.0]])
    near = DistanceSupervision(DistanceRelevance(line, line, (4.0, 1.0), (1, 2)))
    assert near.levels(torch.arange(4)).tolist() == [[2, 2, 1, 0], [2, 2, 1, 0], [1, 1, 2, 1], [0, 0, 1, 2]]


def test_labels_that_two_share() -> None:
    hot = LabelSupervision(torch.tensor([[1, 1, 0], [1, 1, 1], [0, 0, 0]]))
    assert hot.levels(torch.tensor([1, 2])).tolist() == [[2, 3, 0], [0, 0, 0]]
    assert hot.levels(torch.tensor([1]), torch.tensor([0])).tolist() == [[2]]
    ids = torch.tensor([0, -1, 0, -1, -2])  # a negative one is no class
    scored = ClassRelevance(ids.numpy(), ids.numpy()).block(slice(None), slice(None))
    assert LabelSupervision(ids).levels(torch.arange(5)).tolist() == scored.tolist()


@pytest.mark.parametrize("labels", [[0, 1, 2, -1, -1], [[1, 0], [0, 1], [0, 0]]])
def test_examples_of_which_no_two_are_relevant_are_refused(labels: list[object]) -> None:
    with one_line("no two training examples share a class or label"):
        LabelSupervision(torch.tensor(labels))


@pytest.mark.parametrize("labels", [[4, 4, 4], [[0, 1], [0, 1]]])
def test_examples_that_are_all_of_one_class_are_refused(labels: list[object]) -> None:
    with one_line("all training examples have the same class or labels"):
        LabelSupervision(torch.tensor(labels))
    LabelSupervision(torch.tensor([4, 4, -1]))  # one without a class is relevant to none
