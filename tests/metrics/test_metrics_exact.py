"""Each metric against the enumeration of all orders of the tied items."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracles
from support.oracles import Order
from support.strategies import Ranking, rankings

from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.metrics import Metrics


def measured(name: str, ranking: Ranking) -> float:
    counted = oracles.histogram(ranking.distances, ranking.levels, Ranking.N_BITS)
    (value,) = metrics.evaluate(counted, Metrics.parse([name])).values()
    return float(value[0])


def enumerated(measure: Callable[[Order], object], ranking: Ranking) -> float:
    return oracles.expected(measure, ranking.distances, ranking.levels)


def binary(ranking: Ranking) -> Ranking:
    return Ranking(ranking.distances, [int(level > 0) for level in ranking.levels])


NORMS = ("all", "min", "retrieved")
cutoffs = st.integers(1, 9)  # some beyond the database


def at(name: str, k: int | None, norm: str = "all") -> str:
    """The name of the metric at this cutoff, if there is one."""
    if k is None:
        return name
    return f"{name}@{k}" if norm == "all" else f"{name}(norm={norm})@{k}"


@pytest.mark.parametrize("norm", NORMS)
@given(ranking=rankings(max_items=8), k=st.none() | cutoffs)
def test_ap_and_the_ends_of_its_range(norm: str, ranking: Ranking, k: int | None) -> None:
    flat = binary(ranking)
    norm_at_k = "all" if k is None else norm
    values = oracles.scores(lambda order: oracles.average_precision(order, k, norm_at_k), flat.distances, flat.levels)
    mean = float(sum(values) / len(values))
    for name, truth in (("ap", mean), ("ap_worst", float(min(values))), ("ap_best", float(max(values)))):
        assert measured(at(name, k, norm), ranking) == pytest.approx(truth, abs=1e-14)


@settings(max_examples=60)
@given(ranking=rankings(max_items=6), k=st.none() | cutoffs)
def test_ndcg(ranking: Ranking, k: int | None) -> None:
    truth = enumerated(lambda order: oracles.ndcg(order, k), ranking)
    assert measured(at("ndcg", k), ranking) == pytest.approx(truth, abs=1e-14)


AT_K: dict[str, Callable[[Order, int], object]] = {
    "precision": oracles.precision,
    "recall": oracles.recall,
    "f1": oracles.f1,
    "structhash_ndcg": oracles.structhash_ndcg,
    "mrr": oracles.reciprocal_rank,
}


@pytest.mark.parametrize("name", AT_K)
@given(ranking=rankings(), k=cutoffs)
def test_metrics_of_the_first_k(name: str, ranking: Ranking, k: int) -> None:
    truth = enumerated(lambda order: AT_K[name](order, k), binary(ranking))
    assert measured(f"{name}@{k}", ranking) == pytest.approx(truth, abs=1e-14)


WHOLE = {"mrr": oracles.reciprocal_rank, "precision@r": oracles.r_precision, "auc": oracles.auc}


@pytest.mark.parametrize("name", WHOLE)
@given(ranking=rankings())
def test_metrics_of_the_whole_ranking(name: str, ranking: Ranking) -> None:
    assert measured(name, ranking) == pytest.approx(enumerated(WHOLE[name], binary(ranking)), abs=1e-14)


@given(rankings(), st.integers(0, 5))
def test_within_a_radius(ranking: Ranking, radius: int) -> None:
    inside = [
        level > 0 for distance, level in zip(ranking.distances, ranking.levels, strict=True) if distance <= radius
    ]
    n_relevant = sum(level > 0 for level in ranking.levels)
    assert measured(f"precision@r{radius}", ranking) == pytest.approx(sum(inside) / max(len(inside), 1))
    assert measured(f"recall@r{radius}", ranking) == pytest.approx(sum(inside) / n_relevant)
    assert measured(f"f1@r{radius}", ranking) == pytest.approx(2 * sum(inside) / (len(inside) + n_relevant))


@given(st.lists(rankings(), min_size=1, max_size=3), st.integers(1, 9) | st.none())
def test_pr_area_by_rank(drawn: list[Ranking], k: int | None) -> None:
    ranked = [binary(query) for query in drawn]
    size = max(len(query.levels) for query in ranked)
    counted = [oracles.histogram(query.distances, query.levels, Ranking.N_BITS, n_levels=2) for query in ranked]
    together = Histogram(np.concatenate([query.counts for query in counted]), counted[0].levels)
    name = at("pr_area_by_rank", k)
    curves = [oracles.precision_recall(query.distances, query.levels, min(k or size, size)) for query in ranked]
    (actual,) = metrics.evaluate(together, Metrics.parse([name])).values()
    judged = [curve for curve in curves if curve is not None]
    assert np.isnan(actual).tolist() == [curve is None for curve in curves]
    if judged:
        assert np.nanmean(actual) == pytest.approx(oracles.area(judged), abs=1e-13)


ALL = ["ap", "ap(norm=min)@K", "ap(norm=retrieved)@K", "ap@K", "ap_best", "ap_worst", "ndcg", "ndcg@K", "precision@K"]
ALL += ["precision@r", "precision@r1", "recall@K", "recall@r1", "structhash_ndcg@K", "auc", "pr_area", "pr_area@K"]
ALL += ["pr_area_by_rank", "pr_area_by_rank@K", "mrr", "mrr@K", "f1@K", "f1@r1"]


@given(st.lists(st.lists(st.integers(0, 40), min_size=8, max_size=8), min_size=1, max_size=5), st.integers(1, 300))
def test_every_metric_lies_in_range_and_the_expectation_between_worst_and_best(rows: list[list[int]], k: int) -> None:
    counted = Histogram(np.array(rows, np.int64).reshape(-1, 4, 2), np.array([0, 1]))
    bounds = [f"ap_{end}(norm={norm})@{k}" for norm in NORMS for end in ("worst", "best")]
    values = metrics.evaluate(counted, Metrics.parse([*(name.replace("K", str(k)) for name in ALL), *bounds]))
    empty = counted.n_relevant == 0
    for value in values.values():
        assert np.array_equal(np.isnan(value), empty)
        assert ((value[~empty] >= 0) & (value[~empty] <= 1)).all()
    for middle, low, high in [("ap", "ap_worst", "ap_best")] + [
        (f"ap{norm}@{k}", f"ap_worst{norm}@{k}", f"ap_best{norm}@{k}")
        for norm in ("", "(norm=min)", "(norm=retrieved)")
    ]:
        kept = ~empty
        assert (values[low][kept] <= values[middle][kept] + 1e-13).all()
        assert (values[middle][kept] <= values[high][kept] + 1e-13).all()


@given(rankings())
def test_a_cutoff_beyond_the_database_is_the_database(ranking: Ranking) -> None:
    size = len(ranking.levels)
    for name in ("ap", "ap_best", "ap_worst", "ndcg"):
        assert measured(f"{name}@{10**17}", ranking) == measured(f"{name}@{size}", ranking) == measured(name, ranking)
    assert measured(f"ap(norm=retrieved)@{10**17}", ranking) == pytest.approx(measured("ap", ranking), abs=1e-14)
    for name in ("precision", "recall", "structhash_ndcg"):
        assert measured(f"{name}@{10**17}", ranking) == measured(f"{name}@{size}", ranking)
    assert measured(f"recall@r{10**17}", ranking) == 1
