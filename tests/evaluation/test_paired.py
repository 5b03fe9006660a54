"""The paired t-test: against SciPy, by properties, and by how often it is wrong."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.one_line import one_line

from hashbench.scoring.evaluation.paired import compare_paired, holm

Splits = list[np.ndarray]


def two_methods(
    n_splits: int = 5, n_queries: int = 200, shift: float = 0.02, seed: int = 0, of_splits: float = 0.004
) -> tuple[Splits, Splits]:
    """The AP of two methods; the deviation of a query's difference is .15, beside that ``of_splits``."""
    rng = np.random.default_rng(seed)
    b = [rng.uniform(0.3, 0.7, n_queries) for _ in range(n_splits)]
    a = [scores + shift + rng.normal(0, of_splits) + rng.normal(0, 0.15, n_queries) for scores in b]
    return a, b


@pytest.mark.parametrize("n_splits, n_queries", [(1, 20), (1, 5000), (2, 60), (5, 60)])
def test_it_is_scipys_paired_t_test_over_splits_or_over_the_queries_of_one(n_splits: int, n_queries: int) -> None:
    a, b = two_methods(n_splits, n_queries, seed=4)
    units = (a[0], b[0])
    if n_splits > 1:
        units = ([split.mean() for split in a], [split.mean() for split in b])
    expected = stats.ttest_rel(*units)
    paired = compare_paired(a, b)
    assert paired.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert (paired.low, paired.high) == pytest.approx(tuple(expected.confidence_interval()), rel=1e-9)
    assert paired.is_of_one_split == (n_splits == 1)
    assert paired.a - paired.b == pytest.approx(paired.difference)
    assert paired.n_queries == n_splits * n_queries


def test_splits_that_lie_close_together_do_not_hide_a_large_difference() -> None:
    """A bootstrap often draws the last two splits alone, and has p = .01 here."""
    means = [0.31, 0.37, 0.33, 0.381, 0.382]
    a = [np.array([mean - 0.1, mean + 0.1]) for mean in means]
    assert compare_paired(a, [np.zeros(2)] * 5).p < 0.0001


@given(st.integers(1, 6), st.integers(2, 40), st.integers(0, 9))
def test_the_other_way_round_it_turns_the_sign(n_splits: int, n_queries: int, seed: int) -> None:
    a, b = two_methods(n_splits, n_queries, seed=seed)
    one = compare_paired(a, b)
    other = compare_paired(b, a)
    assert other.a == one.b
    assert other.b == one.a
    assert other.difference == -one.difference
    assert other.p == one.p
    assert other.low == -one.high
    assert other.high == -one.low


@pytest.mark.parametrize("n_splits", [1, 5])
def test_the_order_of_queries_and_of_splits_does_not_matter(n_splits: int) -> None:
    a, b = two_methods(n_splits, 50)
    order = np.random.default_rng(1).permutation(50)
    moved = compare_paired([of[order] for of in a[::-1]], [of[order] for of in b[::-1]])
    assert vars(moved) == pytest.approx(vars(compare_paired(a, b)), abs=1e-12)


def test_a_query_without_a_value_in_one_is_left_out_of_both() -> None:
    a, b = two_methods(3, 50)
    kept = compare_paired([of[:48] for of in a], [of[:48] for of in b])
    for split in range(3):
        a[split][48], b[split][49] = np.nan, np.nan
    assert compare_paired(a, b) == kept and kept.n_queries == 3 * 48


@pytest.mark.parametrize("n_splits", [1, 5])
@pytest.mark.parametrize("rounding", [0.0, 1e-15])
def test_equal_scores_have_difference_0_and_p_1(n_splits: int, rounding: float) -> None:
    a, _ = two_methods(n_splits)
    found = compare_paired(a, [of + rounding for of in a])
    assert found.difference == 0.0
    assert found.low == 0.0
    assert found.high == 0.0
    assert found.p == 1.0


@given(st.integers(2, 6), st.floats(-0.02, 0.02), st.integers(0, 20))
def test_0_lies_outside_of_the_interval_where_p_is_below_the_level(n_splits: int, shift: float, seed: int) -> None:
    found = compare_paired(*two_methods(n_splits, 100, shift, seed))
    assert (found.low > 0 or found.high < 0) == (found.p < 0.05)


def share_covered(deviation_of_splits: float, deviation_of_queries: float, times: int) -> float:
    """The share of 95% intervals of five splits of 1,000 queries that hold the true difference, .01."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(times):
        of_splits = 0.01 + rng.normal(0, deviation_of_splits, 5)
        a = [rng.normal(mean, deviation_of_queries, 1000) for mean in of_splits]
        found = compare_paired(a, [np.zeros(1000)] * 5)
        covered += found.low <= 0.01 <= found.high
    return covered / times


@pytest.mark.parametrize("of_splits, of_queries", [(0.002, 0.1), (0.0, 0.12), (0.0037, 0.03)])
def test_the_interval_covers_the_true_difference_as_often_as_it_says(of_splits: float, of_queries: float) -> None:
    """Whether splits differ by their queries alone or beyond; a percentile interval covers .83 to .99 of them."""
    assert share_covered(of_splits, of_queries, 400) == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    "a, b, fault",
    [
        ([], [], "0 and 0 splits: the same splits of both methods are expected"),
        ([[0.1, 0.2]], [[0.1, 0.2], [0.1, 0.2]], "1 and 2 splits"),
        ([[0.1, 0.2, 0.3]], [[0.1, 0.2]], "3 and 2 queries of a split: the same ones are expected"),
        ([[0.1, np.nan]], [[0.1, 0.2]], "1 of 2 queries have a relevant item: two or more of each split are expected"),
    ],
)
def test_what_cannot_be_paired_is_refused(a: list[list[float]], b: list[list[float]], fault: str) -> None:
    with one_line(f"^{fault}"):
        compare_paired([np.array(of) for of in a], [np.array(of) for of in b])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holms_correction_is_that_of_closed_testing(p: list[float]) -> None:
    """The corrected p of a test is the largest that Bonferroni gives any set of the tests that it is in."""
    expected = [
        max(min(1.0, len(of) * min(p[each] for each in of)) for of in sets_with(test, len(p))) for test in range(len(p))
    ]
    assert holm(p) == pytest.approx(expected, abs=1e-15)


def sets_with(test: int, n: int) -> list[tuple[int, ...]]:
    return [of for size in range(1, n + 1) for of in combinations(range(n), size) if test in of]
