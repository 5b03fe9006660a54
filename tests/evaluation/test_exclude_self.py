"""A query that is an item of the database is no neighbour of itself: as if each query had its own, smaller database."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

import hashbench

NAMES = ["ap", "ap@3", "ap(norm=retrieved)@3", "ndcg", "ndcg@2", "precision@2", "precision@r", "recall@2", "auc", "mrr"]
NAMES += ["f1@3", "structhash_ndcg@4", "ap_worst", "ap_best"]
AT_RADII = ["precision@r1", "recall@r2", "f1@r1"]
POLICIES = ["expected", "order", "best", "worst"]


def score(codes: CodeSet, names: list[str], ties: Any, **more: Any) -> hashbench.Scores:
    labels = codes.relevance.query_labels, codes.relevance.database_labels
    return hashbench.score(codes.query, codes.database, *labels, names, ties, **more)


def alone(codes: CodeSet, q: int, row: int, names: list[str], ties: Any, weights: Any) -> dict[str, tuple[float, Any]]:
    """The value and the range of one query against the database without ``row``; nothing if that is empty."""
    kept = np.arange(len(codes.database)) != row
    labels = codes.relevance.query_labels[q : q + 1], codes.relevance.database_labels[kept]
    if not kept.any():
        return dict.fromkeys(names, (np.nan, None))
    scores = hashbench.score(codes.query[q : q + 1], codes.database[kept], *labels, names, ties, weights=weights)
    return {name: (float(scores.per_query(name)[0]), scores.interval(name)) for name in names}


@settings(max_examples=40)
@given(code_sets(), st.sampled_from(POLICIES), st.booleans(), st.data())
def test_each_query_is_scored_as_against_a_database_without_itself(
    codes: CodeSet, ties: str, weighted: bool, data: st.DataObject
) -> None:
    n_queries = len(codes.query)
    n_items = len(codes.database)
    n_bits = codes.query.shape[1]
    own_rows = np.array(data.draw(st.lists(st.integers(-1, n_items - 1), min_size=n_queries, max_size=n_queries)))
    weights = np.random.default_rng(n_bits).integers(0, 4, n_bits) if weighted else None
    names = NAMES if weighted else [*NAMES, *AT_RADII]
    scores = score(codes, names, ties, weights=weights, exclude_self=own_rows)
    truth = [alone(codes, q, int(row), names, ties, weights) for q, row in enumerate(own_rows)]
    for name in names:
        np.testing.assert_allclose(scores.per_query(name), [one[name][0] for one in truth], atol=1e-13, err_msg=name)
        ends = [one[name][1] for one in truth if one[name][1] is not None]
        if ends:
            assert scores.interval(name) == pytest.approx(tuple(np.mean(ends, axis=0)), abs=1e-12), name


def itself(n_bits: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    return rng.integers(0, 2, (12, n_bits)), rng.integers(0, 3, 12)


@pytest.mark.parametrize("ties", POLICIES)
def test_true_is_row_by_row(ties: Any) -> None:
    codes, labels = itself()
    for other in (codes, codes.copy()):
        result = hashbench.score(codes, other, labels, labels, NAMES, ties, exclude_self=True)
        assert str(result) == str(
            hashbench.score(codes, other, labels, labels, NAMES, ties, exclude_self=np.arange(12))
        )
    included = hashbench.score(codes, codes, labels, labels, "mrr", exclude_self=False)["mrr"]
    left_out = hashbench.score(codes, codes, labels, labels, "mrr", exclude_self=True)["mrr"]
    assert included is not None and left_out is not None and included > left_out


def test_the_same_array_for_both_is_warned_of_unless_one_decides() -> None:
    codes, labels = itself()
    with pytest.warns(UserWarning, match="query_codes is database_codes: each item counts as its own nearest"):
        hashbench.score(codes, codes, labels, labels)
    # filterwarnings = error: these warn of nothing
    for decided in (True, False):
        hashbench.score(codes, codes, labels, labels, exclude_self=decided)
    hashbench.score(codes[:3], codes, labels[:3], labels)


@pytest.mark.parametrize(
    "given, says",
    [
        (True, "exclude_self=True: query and database are not the same items in the same order: give the database row"),
        ([0, 1, 2], "exclude_self: int64 of shape (3,): the database row of each of the 2 queries is expected"),
        ([0.0, 1.0], "exclude_self: float64 of shape (2,)"),
        ([0, 4], "exclude_self: there is no row 4: the database has rows 0 to 3"),
        ([-2, 1], "there is no row -2"),
        ("yes", "exclude_self: <U3 is not numeric"),
    ],
)
def test_what_is_no_row_is_said_in_one_line(given: Any, says: str) -> None:
    with one_line(text=says):
        hashbench.score(np.eye(2, 4), np.eye(4), [0, 1], np.arange(4), exclude_self=given)
