"""What is odd about codes, on codes made odd."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench import diagnostics
from hashbench.affinity import from_labels
from hashbench.codes import pack
from hashbench.diagnostics import count_distinct, diagnose, retrieval
from hashbench.histogram import count


def random_bits(n: int, n_bits: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2, (n, n_bits), np.uint8)


def test_dead_and_duplicate_bits_are_found_by_number() -> None:
    bits = random_bits(100, 70)
    bits[:, 3], bits[:, 66] = 0, 1
    bits[:, 40] = bits[:, 2]
    bits[:, 69] = 1 - bits[:, 2]
    found = diagnose(pack(bits))
    assert found.dead == (3, 66)
    assert found.duplicates == ((40, 2), (69, 2))
    np.testing.assert_allclose(found.ones, bits.mean(axis=0))


def test_random_bits_are_neither_dead_nor_duplicate() -> None:
    found = diagnose(pack(random_bits(200, 64)))
    assert (found.dead, found.duplicates, found.n_distinct) == ((), (), 200)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    bits = random_bits(1003, 9)
    bits[:, 8] = 1 - bits[:, 0]
    bits[1002, 8] ^= 1  # the very last code tells the two bits apart
    whole = diagnose(pack(bits))
    monkeypatch.setattr(diagnostics, "BLOCK", 64)
    pieces = diagnose(pack(bits))
    assert pieces.duplicates == whole.duplicates == ()
    np.testing.assert_array_equal(pieces.ones, whole.ones)


@given(st.integers(0, 1000), st.sampled_from([1, 3, 64, 65, 130]), st.integers(1, 40))
def test_distinct_codes_are_those_of_a_set(seed: int, n_bits: int, n: int) -> None:
    patterns = random_bits(4, n_bits, seed)
    bits = patterns[np.random.default_rng(seed).integers(0, 4, n)]
    assert count_distinct(pack(bits)) == len(set(map(bytes, bits)))


def test_too_many_codes_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnostics, "DISTINCT_LIMIT", 10)
    assert count_distinct(pack(random_bits(10, 8))) is not None
    assert count_distinct(pack(random_bits(11, 8))) is None
    assert diagnose(pack(random_bits(11, 8))).n_distinct is None


def test_one_code_has_only_dead_bits() -> None:
    found = diagnose(pack(np.array([[0, 1]], np.uint8)))
    assert (found.n_distinct, found.dead, found.duplicates) == (1, (0, 1), ())


def test_queries_that_meet_nothing_are_counted() -> None:
    query = pack(np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], np.uint8))
    database = pack(np.array([[0, 0, 0, 0], [0, 0, 0, 1]], np.uint8))
    counted = count(query, database, from_labels(np.array([1, 9, 2]), np.array([1, 2])))
    met = retrieval(counted)
    assert (met.without_relevant, met.empty_balls, met.twins) == (1, 1, 1)
    assert retrieval(counted, radius=3).empty_balls == 0
