"""Two measured values are told apart by the p of Welch's t-test, or of the pairs of splits; SciPy is the oracle."""

from math import isnan
from statistics import fmean, stdev

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from hashbench.tables.difference import LEVEL, p_value, students_p
from hashbench.tables.table import Measured

MEANS = st.lists(st.floats(0, 1).map(lambda mean: round(mean, 4)), min_size=2, max_size=6)


def measured(means: list[float], of_splits: dict[int | None, float] | None = None) -> Measured:
    std = stdev(means) if len(means) > 1 else None
    return Measured(fmean(means), std, len(means), of_splits=of_splits or {})


@given(MEANS, MEANS)
def test_it_is_welchs_p(one: list[float], other: list[float]) -> None:
    assume(stdev(one) + stdev(other) > 1e-3)
    of_both = (value for means in (one, other) for value in (fmean(means), stdev(means), len(means)))
    expected = stats.ttest_ind_from_stats(*of_both, equal_var=False).pvalue
    assert p_value(measured(one), measured(other)) == pytest.approx(expected, abs=5e-5)
    assert p_value(measured(other), measured(one)) == pytest.approx(expected, abs=5e-5)


@given(st.floats(0, 60), st.floats(1, 40))
def test_it_is_students_p(t: float, df: float) -> None:
    assert students_p(t, df) == pytest.approx(2 * stats.t.sf(t, df), abs=5e-5)


def test_splits_that_both_have_are_pairs() -> None:
    """The third split is hard for both, which Welch's test would take for chance."""
    easy: dict[int | None, float] = {None: 0.80, 1: 0.81, 2: 0.40}
    better: dict[int | None, float] = {None: 0.82, 1: 0.83, 2: 0.43}
    one, other = (measured([*of.values()] * 2, of) for of in (easy, better))
    expected = stats.ttest_rel([*easy.values()], [*better.values()]).pvalue
    assert p_value(one, other) == pytest.approx(expected, abs=5e-5) and expected < LEVEL
    on_others = measured([*better.values()] * 2, {None: 0.82, 1: 0.83, 3: 0.43})
    assert p_value(one, on_others) > LEVEL


@pytest.mark.parametrize(("one", "other", "p"), [([0.5, 0.5], [0.5, 0.5, 0.5], 1), ([0.5, 0.5], [0.6, 0.6], 0)])
def test_without_any_spread_equal_means_are_equal_and_others_are_not(
    one: list[float], other: list[float], p: float
) -> None:
    assert p_value(measured(one), measured(other)) == p


@pytest.mark.parametrize(("one", "other"), [([0.5], [0.9, 0.91]), ([0.9, 0.91], [0.5]), ([0.1], [0.9])])
def test_of_one_run_there_is_no_p(one: list[float], other: list[float]) -> None:
    assert isnan(p_value(measured(one), measured(other)))
