"""The pairs of training examples that shallow methods learn from."""

from pathlib import Path

import numpy as np

from hashbench.learning.contract import TrainingData
from hashbench.learning.methods._pairs import RelevantColumns, relevant_pairs
from hashbench.scoring.relevance.distances import DistanceRelevance


def test_pairs_are_the_same_both_ways_where_each_example_has_its_own_threshold(tmp_path: Path) -> None:
    line = np.array([[0.0], [1.0], [3.0], [7.0]])
    near = DistanceRelevance(line, line, np.array([[1.0, 1.0, 4.0, 0.5]]))
    data = TrainingData(line, np.zeros((4, 0), np.uint8), 1.0, 0, tmp_path, relevance=near)
    due = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1]])
    np.testing.assert_array_equal(relevant_pairs(data), due)
    np.testing.assert_array_equal(RelevantColumns(data).of(np.array([3, 0])), due[:, [3, 0]])
