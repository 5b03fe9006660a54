"""The one histogram: the same counts from a plain loop, whatever the pieces."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from support import oracles
from support.one_line import one_line
from support.strategies import CodeSet, code_sets

from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import Histogram, count, without_itself
from hashbench.scoring.relevance.labels import ClassRelevance, from_labels


def counted(drawn: CodeSet, workers: int = 1) -> Histogram:
    return count(pack(drawn.query), pack(drawn.database), drawn.relevance, workers=workers)


def test_bits_and_rows_must_agree() -> None:
    four = pack(np.ones((2, 4), np.uint8))
    five = pack(np.ones((2, 5), np.uint8))
    labels = ClassRelevance(np.zeros(2, np.int64), np.zeros(2, np.int64))
    with one_line("4 bits, database codes 5"):
        count(four, five, labels)
    with one_line("rows must match"):
        count(four, four[:1], labels)


@given(code_sets())
def test_without_itself_an_item_is_counted_with_the_others_only(drawn: CodeSet) -> None:
    labels = drawn.relevance.database_labels
    same = from_labels(labels, labels)
    codes = pack(drawn.database)
    actual = without_itself(count(codes, codes, same, workers=1), same)
    n = len(drawn.database)
    for q in range(n):
        others = np.arange(n) != q
        level = same.block(slice(q, q + 1), slice(0, n))[:, others]
        alone = drawn.database[q : q + 1]
        rest = drawn.database[others]
        truth = oracles.loop_counts(alone, rest, lambda _, i, level=level: level[0, i], len(same.levels))
        assert np.array_equal(actual.counts[q], truth[0])


def test_only_a_set_against_itself_has_a_self() -> None:
    codes = pack(np.array([[0, 0], [0, 1], [1, 1]]))
    labels = np.array([0, 1, 1])
    same = ClassRelevance(labels, labels)
    turned = pack(codes.bits()[::-1])
    other = ClassRelevance(1 - labels, labels)
    wrong = [
        (count(codes[:2], codes, ClassRelevance(labels[:2], labels)), same),
        (count(codes, codes, same), ClassRelevance(labels, labels[:2])),
        (count(turned, codes, same), same),  # the first and the last are not at distance 0
        (count(codes, codes, other), same),  # not with that level
        (Histogram(count(codes, codes, same).counts, np.array([0, 2])), same),
        (Histogram(count(codes, codes, same).counts * 2, same.levels), same),
    ]
    for counted, relevance in wrong:
        with one_line("no set against itself"):
            without_itself(counted, relevance)


@pytest.mark.parametrize("shape, levels", [((1, 3, 2), [0, 1]), ((2, 2, 2), [0, 1]), ((2, 3, 2), [0, 2])])
def test_histograms_that_do_not_belong_together_are_not_added(shape: tuple[int, ...], levels: list[int]) -> None:
    one = Histogram(np.ones((2, 3, 2), np.int64), np.array([0, 1]))
    with one_line("must agree"):
        one + Histogram(np.ones(shape, np.int64), np.array(levels))


def test_a_saved_histogram_comes_back(tmp_path: Path) -> None:
    histogram = Histogram(np.arange(12).reshape(2, 3, 2), np.array([0, 5]))
    histogram.save(tmp_path / "deep" / "histogram.npz")
    loaded = Histogram.load(tmp_path / "deep" / "histogram.npz")
    assert np.array_equal(loaded.counts, histogram.counts)
    assert loaded.levels.tolist() == [0, 5]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["histogram.npz"]
