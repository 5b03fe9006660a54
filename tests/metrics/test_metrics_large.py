"""Large counts: the closed forms against sums over the ranks themselves, and against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics, evaluate_with_extremes

# The parts of the closed forms: they are exact to the last place, which a metric, a mean of their sums, does not show.
from hashbench.scoring.metrics._formula import Groups
from hashbench.scoring.metrics._prefix import STEP, TABLE, discount, harmonic
from hashbench.scoring.metrics.ap import half_width, mass

MILLION = 1_000_000


def direct_group_sum(n0: int, p0: int, n: int, p: int, m: int) -> float:
    """G by its definition, term by term, summed without loss."""
    r = (p - 1) / (n - 1) if n > 1 else 0.0
    return p / n * math.fsum((p0 + 1 + (j - 1) * r) / (n0 + j) for j in range(1, m + 1))


@pytest.mark.parametrize(
    "n0, p0, n, p, m",
    [
        (0, 0, MILLION, 100, MILLION),
        (0, 0, MILLION, MILLION, MILLION),
        (500_000, 0, 500_000, 250_000, 500_000),
        (999_000, 3, 1000, 1000, 1000),
        (999_998, 0, 2, 2, 2),
        (999_999, 10, 1, 1, 1),
        (400_000, 399_999, 200_000, 17, 123_456),
        (10, 10, 900_000, 5, 1),
    ],
)
def test_the_closed_form_of_a_group_is_its_direct_sum(n0: int, p0: int, n: int, p: int, m: int) -> None:
    counts = np.array([[[n0 - p0, p0], [n - p, p]]])
    groups = Groups.of(Histogram(counts, np.array([0, 1])))
    closed = groups.expected_precision(groups.inside(np.array([n0 + m])))[0, 1]
    truth = direct_group_sum(n0, p0, n, p, m)
    assert abs(closed - truth) <= 1e-12 * max(p, 1)  # what an AP feels: it is divided by N^+ >= p
    assert abs(closed - truth) / max(p, 1) <= 2e-15


@pytest.mark.parametrize(
    "n0, n, p, k",
    [
        (0, MILLION, 1, MILLION),
        (3, MILLION, 2, 500_000),
        (0, MILLION, 400_000, MILLION),
        (7, 1000, 1, 65),  # one place after a whole number of steps
        (7, 1000, 1000, 1000),
    ],
)
def test_the_reciprocal_rank_in_a_large_tie_is_the_sum_over_its_places(n0: int, n: int, p: int, k: int) -> None:
    histogram = Histogram(np.array([[[n0, 0], [n - p, p]]]), np.array([0, 1]))
    chance = p / n
    terms = []
    for j in range(1, min(k - n0, n - p + 1) + 1):
        terms.append(chance / (n0 + j))
        chance *= (n - p - j + 1) / max(n - j, 1)
    assert metrics.evaluate(histogram, Metrics.parse([f"mrr@{k}"]))["mrr" + f"@{k}"][0] == pytest.approx(
        math.fsum(terms), rel=1e-9
    )


@pytest.mark.parametrize("sums", [harmonic, discount])
@pytest.mark.parametrize(
    "start, stop",
    [
        (TABLE - 1, TABLE + 1),
        (TABLE, TABLE + 1),
        (TABLE, TABLE + STEP),
        (TABLE + 5, TABLE + STEP - 1),
        (TABLE + 5, TABLE + STEP + 1),
        (TABLE - 7, TABLE + 5 * STEP),
        (TABLE + STEP - 1, TABLE + 3 * STEP + 2),
        (0, 3 * MILLION),
        (99_999_998, 10**8),
        (99_000_000, 10**8),
        (10**8, 10**8),
    ],
)
def test_sums_far_down_the_ranking_are_those_of_their_terms(sums: object, start: int, stop: int) -> None:
    prefix = sums(10**8)  # type: ignore[operator]
    assert prefix.far.high.nbytes < 1 << 20
    truth = math.fsum(prefix.term(np.arange(start + 1.0, stop + 1.0)))
    assert prefix.between(np.array([start]), np.array([stop])) == pytest.approx(truth, rel=2e-15, abs=0)


@pytest.mark.parametrize(
    "n, p, m", [(1, 1, 1), (5, 0, 3), (5, 5, 5), (50, 20, 1), (60, 30, 30), (2000, 1000, 700), (4000, 3, 2000)]
)
def test_the_hypergeometric_mass_is_exact(n: int, p: int, m: int) -> None:
    arguments = [np.array([value]) for value in (n, p, m)]
    x, probability = mass(*arguments, int(half_width(*arguments)[0]))
    assert probability.sum() == pytest.approx(1, abs=1e-14)
    for value, got in zip(x[0].tolist(), probability[0].tolist(), strict=True):
        possible = max(0, m + p - n) <= value <= min(m, p)
        exact = Fraction(math.comb(p, value) * math.comb(n - p, m - value), math.comb(n, m)) if possible else 0
        assert got == pytest.approx(float(exact), rel=1e-12, abs=1e-30)


LEVELS = {"binary": [0, 1], "thirty": list(range(30)), "a thousand": list(range(1000)), "far apart": [0, 1, 1000]}
ALL = "ap ap@1000 ap(norm=min)@1000 ap(norm=retrieved)@1000 ndcg ndcg@1000 precision@1000 precision@r recall@1000 auc"
ALL += " structhash_ndcg@1000 pr_area_by_rank@1000 mrr f1@1000"


@pytest.mark.parametrize("n_items", [10**5, 2 * 10**7, 4 * 10**9])
@pytest.mark.parametrize("kind", LEVELS)
def test_metrics_of_many_items_stay_in_range_and_between_worst_and_best(kind: str, n_items: int) -> None:
    levels = np.array(LEVELS[kind])
    rng = np.random.default_rng(n_items)
    drawn = (rng.dirichlet(np.full(4 * len(levels), 0.3), 2) * n_items).astype(np.int64).reshape(2, 4, -1)
    ideal = np.zeros((1, 4, len(levels)), np.int64)  # the highest levels are the nearest, so that NDCG is 1
    at = np.arange(len(levels)) * 4 // len(levels)
    ideal[0, at[::-1], np.arange(len(levels))] = n_items // len(levels)
    histogram = Histogram(np.concatenate([drawn, ideal]), levels)
    for name in Metrics.parse(ALL.split()):  # before they are cut to [0, 1]
        values = name.entry.evaluate(histogram, name.name)
        assert (values >= 0).all() and (values <= 1 + 1e-15).all(), name
    for name, actual in evaluate_with_extremes(histogram, Metrics.parse(ALL.split())).items():
        assert actual.worst is not None and actual.best is not None
        assert (actual.worst <= actual.values + 1e-13).all() and (actual.values <= actual.best + 1e-13).all(), name


def test_the_auc_of_ten_billion_items_is_that_of_the_fractions() -> None:
    counts = np.array([[[10**9, 3 * 10**9], [4 * 10**9, 2 * 10**9]]])
    pairs = Fraction(3 * 4 + Fraction(3 * 1 + 2 * 4, 2), 5 * 5)
    assert metrics.evaluate(Histogram(counts, np.array([0, 1])), Metrics.parse(["auc"]))["auc"][0] == float(pairs)
