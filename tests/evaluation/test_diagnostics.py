"""What is odd about codes, on codes made odd."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.scoring.codes import pack
from hashbench.scoring.codes.distinct import Distinct
from hashbench.scoring.evaluation import diagnostics
from hashbench.scoring.evaluation.diagnostics import diagnose_queries
from hashbench.scoring.histogram import count
from hashbench.scoring.relevance.labels import from_labels


def random_bits(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8)


@given(
    seed=st.integers(0, 1000),
    n_bits=st.sampled_from([1, 9, 64, 130]),
    n=st.integers(1, 300),
    block=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 300), max_size=5),
)
def test_pieces_and_blocks_do_not_show(seed: int, n_bits: int, n: int, block: int, cuts: list[int]) -> None:
    """Against the columns as they stand."""
    rng = np.random.default_rng(seed)
    bits = random_bits(n, n_bits, seed)
    bits[:, rng.random(n_bits) < 0.3] = 1
    bits[-1, rng.random(n_bits) < 0.1] ^= 1  # the very last code may show that a bit lives
    tally = diagnostics.Tally(n_bits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diagnostics, "BLOCK", block)
        patch.setattr("hashbench.scoring.codes.distinct.DISTINCT_BLOCK", block)
        for start, stop in pairwise([0, *sorted(min(cut, n) for cut in cuts), n]):
            tally.add(pack(bits[start:stop]))
        result = tally.diagnostics()
    dead = [bit for bit in range(n_bits) if len(set(bits[:, bit])) == 1]
    assert result.dead == tuple(dead)
    assert result.n_distinct == len(set(map(bytes, bits)))
    assert result.n_items == n
    assert result.n_bits == n_bits
    np.testing.assert_array_equal(result.ones, bits.mean(axis=0))


@given(st.permutations(range(11)), st.integers(1, 11), st.integers(1, 11), st.sampled_from([1, 2]))
def test_beyond_the_limit_nothing_is_counted_whatever_the_pieces(
    order: list[int], size: int, block: int, n_words: int
) -> None:
    """Ten different codes, one of them twice, and one more."""
    codes = np.array([*range(10), 3], np.uint64)[order]
    words = np.repeat(codes[:, None], n_words, axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hashbench.scoring.codes.distinct.DISTINCT_BLOCK", block)
        for limit, expected in ((10 * n_words, 10), (10 * n_words - 1, None)):
            distinct = Distinct(limit)
            for start in range(0, 11, size):
                distinct.add(words[start : start + size])
            assert distinct.count() == distinct.count() == expected


def test_queries_that_meet_nothing_are_counted() -> None:
    query = pack(np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], np.uint8))
    database = pack(np.array([[0, 0, 0, 0], [0, 0, 0, 1]], np.uint8))
    counted = count(query, database, from_labels(np.array([1, 9, 2]), np.array([1, 2])))
    met = diagnose_queries(counted)
    assert met.without_relevant == 1
    assert met.empty_balls == 1
    assert met.twins == 1
    assert diagnose_queries(counted, radius=3).empty_balls == 0
