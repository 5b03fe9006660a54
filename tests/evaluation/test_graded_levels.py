"""``score`` with levels of relevance that are given for each query and item, or for each query and class."""

from typing import Any

import numpy as np
import pytest
from support import oracles
from support.one_line import one_line

import hashbench
from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation import arrays
from hashbench.scoring.evaluation.arrays import GRADED, NOT_MULTI_HOT
from hashbench.scoring.histogram import count

NAMES = "ap,ndcg,ndcg@3,precision@2,mrr,ap_worst"
POLICIES = ("expected", "best", "worst", "order")


def drawn(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Codes of 5 queries and 40 items, and the multi-hot labels of both."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 2, (n, 6), np.uint8) for n in (5, 40)]
    return (*codes, *(rng.integers(0, 2, (n, 4), np.uint8) for n in (5, 40)))


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize(
    "options", [{}, {"weights": [3, 1, 1, 2, 2, 1]}, {"exclude_self": np.array([4, -1, 0, 39, 7])}]
)
def test_levels_of_pairs_that_are_shared_labels_score_as_these(ties: Any, options: dict[str, Any]) -> None:
    query, database, *labels = drawn()
    level = labels[0].astype(np.int64) @ labels[1].T
    scores = hashbench.score(query, database, level, None, NAMES, ties, **options)
    assert scores.to_dict() == hashbench.score(query, database, *labels, NAMES, ties, **options).to_dict()


@pytest.mark.parametrize("ties", POLICIES)
def test_levels_of_classes_are_those_of_their_items(ties: Any) -> None:
    query, database, *_ = drawn()
    rng = np.random.default_rng(1)
    level = rng.integers(0, 4, (5, 3))
    classes = rng.integers(-2, 3, 40)
    pairs = np.where(classes < 0, 0, level[:, classes])
    scores = hashbench.score(query, database, level, classes, NAMES, ties)
    assert scores.to_dict() == hashbench.score(query, database, pairs, None, NAMES, ties).to_dict()
    one_hot = hashbench.score(query, database, np.eye(3)[[0, 1, 2, 1, 0]], classes, NAMES, ties)
    assert one_hot.to_dict() == hashbench.score(query, database, [0, 1, 2, 1, 0], classes, NAMES, ties).to_dict()


@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_every_kernel_counts_them(kernel: Any) -> None:
    query, database, *_ = drawn()
    level = np.array([[0, 2, 70]] * 5)
    classes = np.random.default_rng(1).integers(-1, 3, 40)
    counted = count(pack(query), pack(database), arrays.relevance(level, classes), kernel=kernel)
    assert counted.levels.tolist() == [0, 2, 70]
    truth = oracles.loop_counts(query, database, lambda _, n: max(0, int(classes[n])), 3)
    assert np.array_equal(counted.counts, truth)


@pytest.mark.parametrize(
    "labels, says",
    [
        ((np.full((5, 40), -1), None), f"query_labels: not levels from 0 to 65,535: {GRADED}"),
        ((np.full((5, 40), 1 << 16), None), "query_labels: not levels from 0 to 65,535"),
        ((np.arange(5), None), "query_labels: not levels from 0 to 65,535"),
        ((np.full((5, 40), 0.5), None), "query_labels: class ids [n] are whole numbers"),
        ((np.ones((5, 39)), None), "labels for 5 queries and 39 items, codes for 5 and 40"),
        ((np.ones((5, 3)), np.full(40, 3)), "database_labels: class 3: query_labels has the levels of classes 0 to 2"),
        ((np.ones((5, 3)), np.full(40, "cat")), "names of classes on one side, numbers on the other"),
        ((np.full((5, 3), 2), np.ones((40, 3))), f"query_labels: {NOT_MULTI_HOT}"),
        ((np.ones((5, 3)), np.full((40, 3), 2)), f"database_labels: {NOT_MULTI_HOT}"),
    ],
)  # fmt: skip
def test_levels_that_are_none_are_said_in_one_line(labels: Any, says: str) -> None:
    with one_line(text=says):
        hashbench.score(*drawn()[:2], *labels)
