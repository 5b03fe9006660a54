"""Relevance levels, block by block."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.scoring.relevance.labels import ClassRelevance, SharedLabelRelevance, from_labels


def test_classes_agree_or_do_not_and_a_negative_id_is_no_class() -> None:
    relevance = from_labels(np.array([3, -1]), np.array([3, 4, -1]))
    assert isinstance(relevance, ClassRelevance)
    assert relevance.levels.tolist() == [0, 1]
    assert relevance.shape == (2, 3)
    assert relevance.block(slice(0, 2), slice(0, 3)).tolist() == [[1, 0, 0], [0, 0, 0]]


def test_multi_hot_rows_share_a_number_of_labels() -> None:
    relevance = from_labels(np.array([[1, 1, 0], [0, 0, 0]], np.uint8), np.array([[1, 1, 1], [0, 1, 0]], np.uint8))
    assert isinstance(relevance, SharedLabelRelevance)
    assert relevance.levels.tolist() == [0, 1, 2]
    assert relevance.block(slice(0, 2), slice(0, 2)).tolist() == [[2, 1], [0, 0]]


def test_levels_begin_with_not_relevant_and_relevant_even_where_nothing_is_shared() -> None:
    nothing = np.zeros((2, 3), np.uint8)
    assert from_labels(nothing, nothing).levels.tolist() == [0, 1]


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_every_block_is_the_part_of_the_whole_that_a_loop_finds(n_labels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, database = (rng.integers(0, 2, (n, n_labels), np.uint8) for n in (5, 7))
    relevance = SharedLabelRelevance(query, database)
    block = relevance.block(slice(1, 4), slice(2, 7))
    assert block.dtype == np.uint16
    assert relevance.levels[block].tolist() == [
        [sum(a & b for a, b in zip(q, d, strict=True)) for d in database[2:7]] for q in query[1:4]
    ]


@pytest.mark.parametrize("query, database", [((2,), (2, 3)), ((2, 3), (2, 4)), ((2, 3, 1), (2, 3, 1))])
def test_labels_of_other_shapes_are_refused(query: tuple[int, ...], database: tuple[int, ...]) -> None:
    with one_line("do not match"):
        from_labels(np.zeros(query, np.int64), np.zeros(database, np.int64))
