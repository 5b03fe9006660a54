"""The paired bootstrap and the sign-flip test, held against scipy's and against enumeration."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hashbench.evaluation import compare
from hashbench.evaluation.compare import Difference, differences, holm


def difference(a: np.ndarray, b: np.ndarray, samples: int = 2000, seed: int = 0, interval: float = 0.95) -> Difference:
    return differences({"ap": a}, {"ap": b}, samples=samples, seed=seed, interval=interval)["ap"]


def values(n: int, seed: int = 0, shift: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    a = random.random(n)
    return np.clip(a + random.normal(shift, 0.1, n), 0, 1), a


@pytest.mark.parametrize("interval", [0.5, 0.95])
@pytest.mark.parametrize("n", [5, 300])
def test_the_interval_is_scipys_for_the_same_random_numbers(n: int, interval: float) -> None:
    a, b = values(n)
    theirs = stats.bootstrap(
        (a, b),
        lambda a, b, axis=-1: (a - b).mean(axis=axis),
        paired=True,
        method="percentile",
        n_resamples=2000,
        confidence_level=interval,
        rng=np.random.default_rng(7),
    ).confidence_interval
    found = difference(a, b, seed=7, interval=interval)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_the_blocks_do_not_change_the_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = values(40)
    whole = difference(a, b)
    monkeypatch.setattr(compare, "BLOCK", 1000)
    assert difference(a, b).low == whole.low and difference(a, b).high == whole.high


@pytest.mark.parametrize("n", [2, 4, 10])
def test_few_queries_have_the_exact_p_of_scipy(n: int) -> None:
    a, b = values(n, seed=n)
    theirs = stats.permutation_test((a, b), lambda a, b: (a - b).mean(), permutation_type="samples", n_resamples=np.inf)
    found = difference(a, b)
    assert found.is_exact and found.p == pytest.approx(theirs.pvalue)
    assert found.difference == pytest.approx(theirs.statistic)


def test_many_queries_have_scipys_p_up_to_the_samples() -> None:
    a, b = values(200, shift=0.02)
    theirs = stats.permutation_test(
        (a, b),
        lambda a, b, axis: (a - b).mean(axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        vectorized=True,
        rng=np.random.default_rng(3),
    )
    found = difference(a, b, samples=20_000)
    assert not found.is_exact and 0.01 < theirs.pvalue < 0.6
    assert found.p == pytest.approx(theirs.pvalue, abs=4 * np.sqrt(0.25 / 20_000))


def test_the_sampled_p_counts_the_observed_value() -> None:
    a = np.linspace(0.5, 1.0, 100)
    assert difference(a, np.zeros(100), samples=999).p == 1 / 1000


@given(st.lists(st.sampled_from([-0.5, -0.25, 0.0, 0.25, 1.0]), min_size=1, max_size=8))
def test_equal_sums_count_as_large_as_the_observed_one(of: list[float]) -> None:
    sums = [abs(sum(s * d for s, d in zip(signs, of, strict=True))) for signs in product((1, -1), repeat=len(of))]
    p = np.mean([total >= abs(sum(of)) for total in sums])
    found = difference(np.array(of), np.zeros(len(of)), samples=300)
    assert found.is_exact and found.p == pytest.approx(p)


@pytest.mark.parametrize("times", [1, 20])
def test_a_sum_of_0_up_to_rounding_is_no_larger_than_others(times: int) -> None:
    of = np.array([0.1, 0.2, -0.3] * times)  # 0.1 + 0.2 > 0.3 in binary
    found = difference(of, np.zeros(len(of)), samples=1000)
    assert found.p == 1.0 and found.is_exact == (times == 1)


@given(st.integers(1, 60), st.integers(0, 5))
def test_comparing_the_other_way_round_turns_the_sign(n: int, seed: int) -> None:
    a, b = values(n, seed)
    one, other = difference(a, b, 500, seed), difference(b, a, 500, seed)
    assert other.difference == -one.difference and other.p == one.p
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), abs=1e-12)


@pytest.mark.parametrize("rounding", [0.0, 1e-15])
def test_equal_values_have_difference_0_and_p_1(rounding: float) -> None:
    a, _ = values(500)
    found = difference(a, a + rounding)
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_metric_does_not_depend_on_the_others_beside_it() -> None:
    a, b = values(120)
    c, d = values(120, seed=9)
    both = differences({"x": c, "ap": a}, {"ap": b, "x": d}, samples=500, seed=1, interval=0.9)
    assert list(both) == ["x", "ap"]
    assert both["ap"] == difference(a, b, 500, 1, 0.9) and both["x"] == difference(c, d, 500, 1, 0.9)


def test_another_seed_gives_other_samples_and_the_same_difference() -> None:
    a, b = values(120)
    one, other = difference(a, b, seed=0), difference(a, b, seed=1)
    assert one.difference == other.difference and one.low != other.low


def test_the_interval_covers_the_true_difference_as_often_as_it_says() -> None:
    random = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        found = difference(random.normal(0.1, 1, 60), np.zeros(60), samples=200, interval=0.9)
        covered += found.low <= 0.1 <= found.high
    assert 165 <= covered <= 195  # 180 are expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_holms_correction_is_that_of_closed_testing(p: list[float]) -> None:
    """The corrected p of a test is the largest that Bonferroni gives any set of the tests that it is in."""
    expected = [
        max(min(1.0, len(of) * min(p[each] for each in of)) for of in sets_with(test, len(p))) for test in range(len(p))
    ]
    assert holm(p) == pytest.approx(expected, abs=1e-15)


def sets_with(test: int, n: int) -> list[tuple[int, ...]]:
    return [of for size in range(1, n + 1) for of in combinations(range(n), size) if test in of]
