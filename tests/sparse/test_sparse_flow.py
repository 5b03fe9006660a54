"""The flow against every assignment there is, and against HiGHS."""

from itertools import combinations, product

import numpy as np
import pytest
from support.one_line import one_line

from hashbench.learning.sparse import flow

pytest.importorskip("ortools", reason="the flow needs the extra train")


def draw(seed: int, n_classes: int, d: int, spread: float = 1.0) -> np.ndarray:
    """Means with favourite buckets, so that classes compete."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_classes, d)) + spread * rng.standard_normal(d)


def plain_objective(means: np.ndarray, codes: np.ndarray, lam: float) -> float:
    """Eq. 5 as it is printed, with P = lam I."""
    pairs = [(p, q) for p in range(len(means)) for q in range(len(means)) if p != q]
    return lam * sum(int(codes[p] @ codes[q].astype(int)) for p, q in pairs) - float(means[codes].sum())


def every_assignment(n_classes: int, d: int, k: int) -> list[np.ndarray]:
    rows = [np.isin(np.arange(d), chosen) for chosen in combinations(range(d), k)]
    return [np.array(codes) for codes in product(rows, repeat=n_classes)]


@pytest.mark.parametrize("n_classes, d, k", [(2, 2, 1), (2, 3, 3), (3, 4, 2), (4, 4, 1), (4, 4, 3), (5, 3, 2)])
@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0])
def test_no_assignment_is_better(n_classes: int, d: int, k: int, lam: float) -> None:
    for seed in range(3):
        means = draw(seed, n_classes, d)
        codes = flow.assign(means, k, lam)
        assert (codes.sum(axis=1) == k).all()
        best = min(plain_objective(means, others, lam) for others in every_assignment(n_classes, d, k))
        assert plain_objective(means, codes, lam) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("lam, spread", [(0.0, 5.0), (0.01, 5.0), (0.3, 1.0), (2.0, 0.0)])
def test_few_arcs_find_what_all_arcs_find(lam: float, spread: float) -> None:
    means = draw(3, 40, 24, spread)  # real numbers, of which the optimum is unique
    assert np.array_equal(flow.assign(means, 3, lam), flow.assign(means, 3, lam, arcs=40))


def test_ties_are_broken_alike_every_time() -> None:
    first = flow.assign(np.zeros((6, 8)), 2, 1.0)
    assert np.array_equal(first, flow.assign(np.zeros((6, 8)), 2, 1.0))


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_any_scale_has_the_same_optimum(scale: float) -> None:
    means = draw(5, 6, 6)
    assert np.array_equal(flow.assign(means * scale, 2, 0.4 * scale), flow.assign(means, 2, 0.4))


def test_what_is_not_finite_is_refused() -> None:
    with one_line("class means: not finite"):
        flow.assign(np.where(np.eye(3, dtype=bool), np.nan, 0.0), 1, 1.0)
    with one_line("the solver says INFEASIBLE"):
        flow.assign(np.zeros((3, 3)), 4, 1.0)
