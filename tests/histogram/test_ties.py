"""Tie policies against the enumeration of all orders, and against a plain stable sort."""

from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracles
from support.one_line import one_line
from support.oracles import Order
from support.strategies import CodeSet, Ranking, code_sets, rankings

from hashbench.scoring import metrics
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import Histogram, count, ranking, ties
from hashbench.scoring.histogram.ranking import hamming
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import ClassRelevance

K = 3
MEASURES: dict[str, Callable[[Order], object]] = {
    "ap": oracles.average_precision,
    f"ap@{K}": lambda order: oracles.average_precision(order, K),
    f"ap(norm=min)@{K}": lambda order: oracles.average_precision(order, K, "min"),
    f"ap(norm=retrieved)@{K}": lambda order: oracles.average_precision(order, K, "retrieved"),
    "ndcg": oracles.ndcg,
    f"ndcg@{K}": lambda order: oracles.ndcg(order, K),
    f"precision@{K}": lambda order: oracles.precision(order, K),
    "precision@r": oracles.r_precision,
    f"recall@{K}": lambda order: oracles.recall(order, K),
    f"structhash_ndcg@{K}": lambda order: oracles.structhash_ndcg(order, K),
    "auc": oracles.auc,
}
NAMES = list(MEASURES)


def histogram_of(drawn: Ranking) -> Histogram:
    return oracles.histogram(drawn.distances, drawn.levels, Ranking.N_BITS)


def in_groups(drawn: Ranking, descending: bool) -> Order:
    """The order with the levels of every tie group sorted."""
    sign = -1 if descending else 1
    pairs = sorted(zip(drawn.distances, drawn.levels, strict=True), key=lambda pair: (pair[0], sign * pair[1]))
    return tuple(level for _, level in pairs)


@pytest.mark.parametrize("policy", ["best", "worst"])
@given(drawn=rankings(max_items=8))
def test_best_and_worst_are_the_metric_of_the_sorted_ties(policy: Policy, drawn: Ranking) -> None:
    order = in_groups(drawn, descending=policy == "best")
    values = metrics.evaluate(ties.apply(histogram_of(drawn), policy), Metrics.parse(NAMES))
    for name, measure in MEASURES.items():
        assert values[name][0] == pytest.approx(float(measure(order)), abs=1e-13), name  # type: ignore[arg-type]


@settings(max_examples=60)
@given(rankings(max_items=7))
def test_extremes_are_those_of_all_orders(drawn: Ranking) -> None:
    actual = metrics.evaluate_with_extremes(histogram_of(drawn), Metrics.parse(NAMES))
    assert list(actual) == NAMES
    for name, measure in MEASURES.items():
        values = [float(value) for value in oracles.scores(measure, drawn.distances, drawn.levels)]  # type: ignore[arg-type]
        assert actual[name].worst[0] == pytest.approx(min(values), abs=1e-13), name
        assert actual[name].best[0] == pytest.approx(max(values), abs=1e-13), name


def evaluate(drawn: CodeSet, names: list[str], policy: Policy) -> dict[str, np.ndarray]:
    query = pack(drawn.query)
    database = pack(drawn.database)
    counted = count(query, database, drawn.relevance, workers=1)
    in_order = ties.in_order(hamming(query, database), drawn.relevance)
    actual = metrics.evaluate_with_extremes(counted, Metrics.parse(names), policy, in_order)
    return {name: per_query.values for name, per_query in actual.items()}


def levels_in_order(drawn: CodeSet, q: int) -> Order:
    """The levels of the items by distance, equal distances in database order."""
    distances = [int((drawn.query[q] != item).sum()) for item in drawn.database]
    block = drawn.relevance.block(slice(q, q + 1), slice(0, len(distances)))[0]
    return tuple(
        int(drawn.relevance.levels[block[i]]) for i in sorted(range(len(distances)), key=distances.__getitem__)
    )


@given(code_sets(max_items=30))
def test_order_is_that_of_a_stable_sort(drawn: CodeSet) -> None:
    values = evaluate(drawn, NAMES, "order")
    for q in range(len(drawn.query)):
        order = levels_in_order(drawn, q)
        for name, measure in MEASURES.items():
            truth = float(measure(order)) if any(order) else np.nan  # type: ignore[arg-type]
            assert values[name][q] == pytest.approx(truth, abs=1e-13, nan_ok=True), name


@settings(max_examples=20)
@given(code_sets())
def test_blocks_of_queries_change_nothing(drawn: CodeSet) -> None:
    whole = {policy: evaluate(drawn, NAMES, policy) for policy in get_args(Policy)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "PAIRS", 1)
        patch.setattr("hashbench.scoring.metrics._evaluate.BLOCK", 1)
        for policy in get_args(Policy):
            pieces = evaluate(drawn, NAMES, policy)
            for name in NAMES:
                np.testing.assert_allclose(pieces[name], whole[policy][name], atol=1e-14)


def test_a_radius_has_no_meaning_on_a_ranking_without_radii() -> None:
    ranked = ties.apply(Histogram(np.ones((1, 3, 2), np.int64), np.array([0, 1])), "best")
    for name in ("precision@r1", "recall@r1", "pr_area"):
        with one_line("needs Hamming radii"):
            metrics.evaluate(ranked, Metrics.parse([name]))


def test_what_rank_and_radius_cut_both_has_no_other_policy() -> None:
    drawn = CodeSet(np.zeros((1, 2), np.uint8), np.zeros((3, 2), np.uint8), ClassRelevance(np.zeros(1), np.zeros(3)))
    assert evaluate(drawn, ["pr_area@2"], "expected")["pr_area@2"].tolist() == [2 / 3]
    with one_line("for ties 'expected' only"):
        evaluate(drawn, ["pr_area@2"], "order")


@given(st.integers(0, 2**32 - 1), st.integers(1, 400))
def test_extremes_over_the_retrieved_with_large_ties(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.integers(0, 60, (1, 4))
    n = p + rng.integers(0, 60, (1, 4))
    histogram = Histogram(np.stack([n - p, p], axis=2), np.array([0, 1]))
    name = f"ap(norm=retrieved)@{k}"
    if p.sum() == 0:
        return
    actual = metrics.evaluate_with_extremes(histogram, Metrics.parse([name]))[name]
    values = list(over_retrieved(n[0].tolist(), p[0].tolist(), k))
    assert actual.worst[0] == pytest.approx(min(worst_of for worst_of, _ in values), abs=1e-13)
    assert actual.best[0] == pytest.approx(max(best_of for _, best_of in values), abs=1e-13)


def over_retrieved(n: list[int], p: list[int], k: int) -> list[tuple[float, float]]:
    """AP over the retrieved with relevant last and first, for every number of them that the cut group can show."""
    order: dict[bool, list[int]] = {False: [], True: []}
    for items, relevant in zip(n, p, strict=True):
        n_left = k - len(order[True])
        if items >= n_left:
            shown = range(max(0, n_left - (items - relevant)), min(n_left, relevant) + 1)
            return [
                (value(order[False] + [0] * (n_left - x) + [1] * x), value(order[True] + [1] * x + [0] * (n_left - x)))
                for x in shown
            ]
        order[True] += [1] * relevant + [0] * (items - relevant)
        order[False] += [0] * (items - relevant) + [1] * relevant
    return [(value(order[False]), value(order[True]))]


def value(order: list[int]) -> float:
    actual = np.cumsum(order)
    return float((actual / np.arange(1, len(order) + 1) * order).sum() / max(actual[-1], 1)) if order else 0.0
