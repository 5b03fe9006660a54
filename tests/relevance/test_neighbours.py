"""Neighbours as relevance: counted by every kernel as the matrix of levels; recall@m is recall@k after rescoring."""

from fractions import Fraction
from itertools import chain, permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracles
from support.one_line import one_line
from support.strategies import CodeSet, code_sets
from support.torch_on_cpu import count_with_torch

import hashbench
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import count, count_blocks, counts, ranking
from hashbench.scoring.metrics import Metrics, evaluate_with_extremes
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

POLICIES = ("expected", "best", "worst", "order")


def neighbours(codes: CodeSet, k: int, seed: int) -> np.ndarray:
    """Ids of 0 to ``k`` different items for each query, then -1."""
    rng = np.random.default_rng(seed)
    n_items = len(codes.database)
    ids = np.full((len(codes.query), k), -1)
    for row in ids:
        n = rng.integers(0, min(k, n_items) + 1)
        row[:n] = rng.permutation(n_items)[:n]
    return ids


def levels(ids: np.ndarray, n_items: int) -> np.ndarray:
    return np.array([[int(item in row) for item in range(n_items)] for row in ids])


@settings(max_examples=60)
@given(code_sets(), st.integers(1, 5), st.integers(0, 99), st.integers(1, 12))
def test_every_kernel_counts_what_a_loop_counts_in_pieces_too(codes: CodeSet, k: int, seed: int, piece: int) -> None:
    ids = neighbours(codes, k, seed)
    n_items = len(codes.database)
    near = NeighbourRelevance(ids, n_items)
    level = levels(ids, n_items)
    truth = oracles.loop_counts(codes.query, codes.database, lambda q, n: level[q, n], 2)
    query = pack(codes.query)
    database = pack(codes.database)
    parts = [slice(start, start + piece) for start in range(0, n_items, piece)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts, "MOVED", 3)
        histograms = [count(query, database, near, kernel=kernel) for kernel in ("numpy", "numba")]
        histograms.append(count_with_torch(query, database, near))
        histograms.append(count_blocks(query, ((database[part], near.part(part)) for part in parts)))
    for histogram in histograms:
        np.testing.assert_array_equal(histogram.counts, truth)
        np.testing.assert_array_equal(histogram.levels, [0, 1])


@pytest.mark.parametrize("ties", POLICIES)
@pytest.mark.parametrize(
    "options", [{}, {"weights": [3, 1, 1, 2, 2, 1]}, {"exclude_self": np.array([4, -1, 0, 39, 7])}]
)
def test_all_rankings_and_ties_score_neighbours_as_levels(ties: Any, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    query = rng.integers(0, 2, (5, 6))
    database = rng.integers(0, 2, (40, 6))
    ids = np.argsort(rng.random((5, 40)), axis=1)[:, :7]
    ids[0, 0], ids[3, 4:] = 4 if 4 not in ids[0] else ids[0, 0], -1
    by_levels = hashbench.score(query, database, levels(ids, 40), None, "ap,ndcg@3,recall@7", ties, **options)
    scores = hashbench.score(query, database, neighbours=ids, metrics="ap,ndcg@3,recall@7", ties=ties, **options)
    for name in scores:
        assert scores.row(name) == pytest.approx(by_levels.row(name), abs=1e-14)


def rescored(order: tuple[int, ...], nearest: list[int], m: int) -> Fraction:
    """Recall@k of a search that takes the first ``m`` items of ``order`` and keeps the k nearest by floats of them.

    ``nearest`` are all items, the nearest first; the truth is its first k, here 2.
    """
    kept = sorted(order[:m], key=nearest.index)[:2]
    return Fraction(len(set(kept) & set(nearest[:2])), 2)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=7), st.integers(2, 7), st.randoms(use_true_random=False))
def test_recall_at_m_is_recall_at_k_after_rescoring_m_candidates(distances: list[int], m: int, draw: Any) -> None:
    n = len(distances)
    m = min(m, len(distances))
    nearest = list(range(n))
    draw.shuffle(nearest)
    groups = [[i for i in range(n) if distances[i] == d] for d in sorted(set(distances))]
    orders = [tuple(chain.from_iterable(order)) for order in product(*map(permutations, groups))]
    recalls = [rescored(order, nearest, m) for order in orders]
    codes = np.array([[i < distance for i in range(3)] for distance in distances], np.uint8)
    scores = hashbench.score(np.zeros((1, 3)), codes, neighbours=[nearest[:2]], metrics=f"recall@{m}")
    assert scores[f"recall@{m}"] == pytest.approx(float(sum(recalls) / len(recalls)), abs=1e-15)
    assert scores.interval(f"recall@{m}") == (float(min(recalls)), float(max(recalls)))


@pytest.mark.parametrize(
    "ids, phrase",
    [
        ([[0, 1], [2, 6]], "there is no row 6: the database has rows 0 to 5"),
        ([[0, 1], [2, -2]], "there is no row -2"),
        ([[0, 1], [3, 3]], "query 1 has the neighbour 3 more than once"),
        ([[0, 1], [-1, 3]], "query 1 has a neighbour after -1"),
        ([[0, 1]], "ids of 1 queries, codes of 2"),
        ([[0, 1, 2, 3, 4, 5, -1]] * 2, "7 neighbours of each query, 6 items"),
        ([[0.0, 1.0], [2.0, 3.0]], "float64 of shape (2, 2)"),
        ([0, 1], "of shape (2,)"),
        (np.zeros((2, 0), int), "of shape (2, 0)"),
    ],
)
def test_ids_that_are_no_lists_of_neighbours_are_refused(ids: Any, phrase: str) -> None:
    codes = np.eye(6)
    with one_line(text=phrase):
        hashbench.score(codes[:2], codes, neighbours=ids)


@pytest.mark.parametrize("more", [{"query_labels": [1, 2]}, {"database_labels": [1] * 6}])
def test_neighbours_and_labels_exclude_each_other(more: dict[str, Any]) -> None:
    with one_line("neighbours and labels"):
        hashbench.score(np.eye(6)[:2], np.eye(6), neighbours=[[0], [1]], **more)


def test_missing_labels_name_neighbours() -> None:
    with one_line("neighbours=ids"):
        hashbench.score(np.eye(2), np.eye(2), exclude_self=False)


@given(code_sets(), st.integers(1, 5), st.integers(0, 99))
def test_tie_groups_around_neighbours_have_the_metrics_of_all_groups(codes: CodeSet, k: int, seed: int) -> None:
    ids = neighbours(codes, k, seed)
    distances = ranking.hamming(pack(codes.query), pack(codes.database))(slice(0, len(ids))) / 3
    whole = ranking.grouped(distances, levels(ids, len(codes.database)).astype(np.uint16), np.array([0, 1]))
    names = Metrics.parse("ap,ndcg,auc,mrr,f1@3,ap_worst,ap_best,precision@2,recall@4,pr_area_by_rank")
    measured = evaluate_with_extremes([ranking.around_neighbours(distances, ids)], names)
    for name, due in evaluate_with_extremes([whole], names).items():
        for end in ("values", "worst", "best"):
            one = getattr(measured[name], end)
            other = getattr(due, end)
            if one is None or other is None:
                assert one is other
            else:
                np.testing.assert_allclose(one, other, atol=1e-13)
