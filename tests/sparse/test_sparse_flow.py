"""The flow against every assignment there is, against HiGHS, and against the heuristic that it must not lose to."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sparse_oracles import bits, objective

from hashbench.foundation.errors import HashbenchError
from hashbench.sparse import flow
from hashbench.sparse.codes import top_k

pytest.importorskip("ortools", reason="the flow needs the extra train")


def draw(seed: int, n_classes: int, d: int, spread: float = 1.0) -> np.ndarray:
    """Means with favourite buckets, so that classes compete."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_classes, d)) + spread * rng.standard_normal(d)


def plain_objective(means: np.ndarray, codes: np.ndarray, lam: np.ndarray) -> float:
    """Eq. 5 as it is printed, with P = diag(lam)."""
    unary = -sum(float(means[p] @ codes[p]) for p in range(len(means)))
    pairs = [(p, q) for p in range(len(means)) for q in range(len(means)) if p != q]
    return unary + sum(float(codes[p] @ np.diag(lam) @ codes[q]) for p, q in pairs)


def every_assignment(n_classes: int, d: int, k: int) -> list[np.ndarray]:
    rows = [np.isin(np.arange(d), chosen) for chosen in combinations(range(d), k)]
    return [np.array(codes) for codes in product(rows, repeat=n_classes)]


@pytest.mark.parametrize(("n_classes", "d", "k"), [(2, 2, 1), (2, 3, 3), (3, 4, 2), (4, 4, 1), (4, 4, 3), (5, 3, 2)])
@pytest.mark.parametrize("lam", [0.0, 0.3, 2.0, "each"])
def test_no_assignment_is_better(n_classes: int, d: int, k: int, lam: float | str) -> None:
    for seed in range(3):
        means = draw(seed, n_classes, d)
        price = np.linspace(0, 1.5, d) if lam == "each" else np.full(d, lam)
        found = flow.assign(means, k, price if lam == "each" else price[0])
        assert (found.sum(axis=1) == k).all()
        best = min(plain_objective(means, codes, price) for codes in every_assignment(n_classes, d, k))
        assert plain_objective(means, found, price) == pytest.approx(best, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 6), st.data())
def test_the_objective_of_the_other_tests_is_eq_5(seed: int, n_classes: int, d: int, data: st.DataObject) -> None:
    means, price = draw(seed, n_classes, d), np.random.default_rng(seed).random(d)
    codes = bits(top_k(draw(seed + 1, n_classes, d), data.draw(st.integers(1, d))))
    assert objective(means, codes, price) == pytest.approx(plain_objective(means, codes, price))


def highs(means: np.ndarray, k: int, price: np.ndarray) -> float:
    """The linear programme of the paper's network, n_c arcs a bucket; its value is that of the whole-number flow."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n_classes, d = means.shape
    cost = np.concatenate([-means.ravel(), (2 * price[:, None] * np.arange(n_classes)).ravel()])
    arc = np.arange(n_classes * d)
    of_class, of_bucket = arc // d, arc % d
    rows = np.concatenate([of_class, n_classes + of_bucket, n_classes + arc // n_classes])
    columns = np.concatenate([arc, arc, len(arc) + arc])
    values = np.concatenate([np.ones(2 * len(arc)), -np.ones(len(arc))])
    balance = coo_array((values, (rows, columns)), (n_classes + d, 2 * len(arc))).tocsr()
    solved = linprog(cost, A_eq=balance, b_eq=np.repeat([float(k), 0.0], [n_classes, d]), bounds=(0, 1), method="highs")
    assert solved.status == 0
    return float(solved.fun)


@pytest.mark.parametrize(("n_classes", "d", "k", "lam"), [(16, 24, 3, 0.5), (40, 10, 2, 0.05), (30, 30, 4, 0.0)])
def test_highs_finds_the_same_value(n_classes: int, d: int, k: int, lam: float) -> None:
    for seed in range(3):
        means, price = draw(seed, n_classes, d, spread=2.0), np.linspace(lam, 2 * lam, d)
        found = flow.optimum(means, k, price)
        assert objective(means, found.codes, price) == pytest.approx(highs(means, k, price), rel=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.floats(0, 3), st.data())
def test_the_heuristic_is_never_better(seed: int, n_classes: int, d: int, lam: float, data: st.DataObject) -> None:
    means, k = draw(seed, n_classes, d), data.draw(st.integers(1, d))
    found = flow.optimum(means, k, lam)
    gap = objective(means, bits(top_k(means, k)), lam) - objective(means, found.codes, lam)
    assert gap >= -found.loss_bound - 1e-12 * n_classes * k  # the sums' own rounding


@pytest.mark.parametrize(("lam", "spread"), [(0.0, 5.0), (0.01, 5.0), (0.3, 1.0), (2.0, 0.0)])
def test_few_arcs_find_what_all_arcs_find(lam: float, spread: float) -> None:
    means = draw(3, 40, 24, spread)
    few, whole = flow.optimum(means, 3, lam), flow.optimum(means, 3, lam, start=40)
    assert np.array_equal(few.codes, whole.codes)  # unique, for the means are real numbers
    assert whole.n_solves == 1


def test_a_full_bucket_is_given_more_arcs() -> None:
    everybody_wants_the_first = np.tile([5.0, 1.0, 0.5, 0.0], (10, 1))
    found = flow.optimum(everybody_wants_the_first, 1, 0.0, start=3)
    assert found.codes[:, 0].all()
    assert found.n_solves == 2


@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 9), st.data())
def test_renaming_classes_and_buckets_renames_the_codes(seed: int, n_classes: int, d: int, data: st.DataObject) -> None:
    means, k = draw(seed, n_classes, d), data.draw(st.integers(1, d))
    price = np.random.default_rng(seed).random(d)
    rows, columns = data.draw(st.permutations(range(n_classes))), data.draw(st.permutations(range(d)))
    renamed = flow.assign(means[np.ix_(rows, columns)], k, price[columns])
    assert np.array_equal(renamed, flow.assign(means, k, price)[np.ix_(rows, columns)])


def test_ties_are_broken_alike_every_time() -> None:
    means = np.zeros((6, 8))
    first = flow.assign(means, 2, 1.0)
    assert all(np.array_equal(first, flow.assign(means, 2, 1.0)) for _ in range(3))


def test_whole_costs_lose_nothing_and_others_less_than_the_bound() -> None:
    means = draw(0, 8, 8)
    assert flow.optimum(np.rint(8 * means) / 4, 2, 0.5).loss_bound == 0
    assert 0 < flow.optimum(means, 2, 0.5).loss_bound < 1e-12


def test_the_bound_of_a_large_batch_is_as_stated() -> None:
    means = np.random.default_rng(0).random((512, 512))
    assert 0 < flow.optimum(means, 4, 1.0).loss_bound < 4e-9 * 14  # 2 lambda r, r up to 7


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_any_scale_has_the_same_optimum(scale: float) -> None:
    means = draw(5, 6, 6)
    assert np.array_equal(flow.assign(means * scale, 2, 0.4 * scale), flow.assign(means, 2, 0.4))


def test_float32_means_are_welcome() -> None:
    means = draw(5, 6, 6).astype(np.float32)
    assert np.array_equal(flow.assign(means, 2, 0.4), flow.assign(means.astype(np.float64), 2, 0.4))


NAN = np.where(np.eye(3, dtype=bool), np.nan, 0.0)


@pytest.mark.parametrize(
    ("means", "k", "lam", "message"),
    [
        (np.zeros((3, 3)), 0, 1.0, "k = 0: a class sets 1 to 3 of 3 buckets"),
        (np.zeros((3, 3)), 4, 1.0, "k = 4"),
        (np.zeros((1, 3)), 1, 1.0, "two classes or more"),
        (np.zeros(3), 1, 1.0, "two classes or more"),
        (NAN, 1, 1.0, "class means: not finite"),
        (np.full((3, 3), np.inf), 1, 1.0, "class means: not finite"),
        (np.zeros((3, 3)), 1, -0.1, "lambda: negative"),
        (np.zeros((3, 3)), 1, np.nan, "lambda: negative or not finite"),
        (np.zeros((3, 3)), 1, np.array([1.0, -1.0, 1.0]), "lambda: negative"),
        (np.zeros((3, 3)), 1, np.ones(2), "one for each of the 3 buckets"),
        (np.zeros((3, 3)), 1, np.ones((3, 3)), "one for each of the 3 buckets"),
        (np.zeros((3, 3)), 1, 1e308, "leaves the range of float64"),
    ],
)
def test_bad_input_is_one_line(means: np.ndarray, k: int, lam: float, message: str) -> None:
    with pytest.raises(HashbenchError, match=message) as caught:
        flow.assign(means, k, lam)
    assert "\n" not in str(caught.value)
