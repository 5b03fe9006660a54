"""Each metric against the enumeration of all orders of the tied items."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import oracles
from support.oracles import Order
from support.strategies import Ranking, rankings

from hashbench import metrics
from hashbench.histogram import Histogram
from hashbench.metrics import Metrics


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


@given(rankings())
def test_ap(ranking: Ranking) -> None:
    assert measured("ap", ranking) == pytest.approx(enumerated(oracles.average_precision, binary(ranking)), abs=1e-14)


@pytest.mark.parametrize("norm", ["all", "min", "retrieved"])
@given(ranking=rankings(), k=cutoffs)
def test_ap_at_k(norm: str, ranking: Ranking, k: int) -> None:
    truth = enumerated(lambda order: oracles.average_precision(order, k, norm), binary(ranking))
    assert measured(f"ap(norm={norm})@{k}", ranking) == pytest.approx(truth, abs=1e-14)


@pytest.mark.parametrize("norm", ["all", "min", "retrieved"])
@given(ranking=rankings(max_items=8), k=cutoffs)
def test_best_and_worst_ap_are_the_ends_of_the_range(norm: str, ranking: Ranking, k: int) -> None:
    flat = binary(ranking)
    values = oracles.scores(lambda order: oracles.average_precision(order, k, norm), flat.distances, flat.levels)
    assert measured(f"ap_best(norm={norm})@{k}", ranking) == pytest.approx(float(max(values)), abs=1e-14)
    assert measured(f"ap_worst(norm={norm})@{k}", ranking) == pytest.approx(float(min(values)), abs=1e-14)


@given(rankings())
def test_best_and_worst_ap_without_a_cutoff(ranking: Ranking) -> None:
    flat = binary(ranking)
    values = oracles.scores(oracles.average_precision, flat.distances, flat.levels)
    assert measured("ap_best", ranking) == pytest.approx(float(max(values)), abs=1e-14)
    assert measured("ap_worst", ranking) == pytest.approx(float(min(values)), abs=1e-14)


@settings(max_examples=60)
@given(ranking=rankings(max_items=6), k=st.none() | cutoffs)
def test_ndcg(ranking: Ranking, k: int | None) -> None:
    truth = enumerated(lambda order: oracles.ndcg(order, k), ranking)
    assert measured("ndcg" if k is None else f"ndcg@{k}", ranking) == pytest.approx(truth, abs=1e-14)


@given(ranking=rankings(max_level=8), k=st.none() | cutoffs)
def test_ndcg_is_what_scikit_learn_computes_with_the_same_gains(ranking: Ranking, k: int | None) -> None:
    from sklearn.metrics import ndcg_score

    gains = 2.0 ** np.array(ranking.levels) - 1
    if len(gains) == 1:  # scikit-learn refuses a single item
        return
    truth = ndcg_score([gains], [-np.array(ranking.distances, float)], k=k)
    assert measured("ndcg" if k is None else f"ndcg@{k}", ranking) == pytest.approx(truth, abs=1e-12)


@given(rankings(), cutoffs)
def test_precision_and_recall(ranking: Ranking, k: int) -> None:
    flat = binary(ranking)
    precision = enumerated(lambda order: oracles.precision(order, k), flat)
    recall = enumerated(lambda order: oracles.recall(order, k), flat)
    assert measured(f"precision@{k}", ranking) == pytest.approx(precision, abs=1e-14)
    assert measured(f"recall@{k}", ranking) == pytest.approx(recall, abs=1e-14)


@given(rankings(), st.none() | cutoffs)
def test_reciprocal_rank(ranking: Ranking, k: int | None) -> None:
    truth = enumerated(lambda order: oracles.reciprocal_rank(order, k), binary(ranking))
    assert measured("mrr" if k is None else f"mrr@{k}", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings(), cutoffs)
def test_f1(ranking: Ranking, k: int) -> None:
    truth = enumerated(lambda order: oracles.f1(order, k), binary(ranking))
    assert measured(f"f1@{k}", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings(), st.integers(0, 5))
def test_f1_within_a_radius_is_that_of_precision_and_recall(ranking: Ranking, radius: int) -> None:
    both = [measured(f"{name}@r{radius}", ranking) for name in ("precision", "recall")]
    truth = 2 * both[0] * both[1] / sum(both) if any(both) else 0.0
    assert measured(f"f1@r{radius}", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings())
def test_r_precision(ranking: Ranking) -> None:
    truth = enumerated(oracles.r_precision, binary(ranking))
    assert measured("precision@r", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings(), st.integers(0, 5))
def test_within_a_radius(ranking: Ranking, radius: int) -> None:
    actual = [level > 0 for distance, level in zip(*vars(ranking).values(), strict=True) if distance <= radius]
    relevant = sum(level > 0 for level in ranking.levels)
    assert measured(f"precision@r{radius}", ranking) == pytest.approx(sum(actual) / max(len(actual), 1))
    assert measured(f"recall@r{radius}", ranking) == pytest.approx(sum(actual) / relevant)


@given(rankings(), cutoffs)
def test_structhash_ndcg(ranking: Ranking, k: int) -> None:
    truth = enumerated(lambda order: oracles.structhash_ndcg(order, k), binary(ranking))
    assert measured(f"structhash_ndcg@{k}", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings())
def test_auc(ranking: Ranking) -> None:
    truth = enumerated(oracles.auc, binary(ranking))
    assert measured("auc", ranking) == pytest.approx(truth, abs=1e-14)


@given(rankings(max_items=20))
def test_auc_is_scikit_learns(ranking: Ranking) -> None:
    from sklearn.metrics import roc_auc_score

    relevant = np.array(ranking.levels) > 0
    if relevant.all():
        assert measured("auc", ranking) == 1
    else:
        truth = roc_auc_score(relevant, -np.array(ranking.distances, float))
        assert measured("auc", ranking) == pytest.approx(truth, abs=1e-14)


@given(st.lists(rankings(), min_size=1, max_size=3), st.integers(1, 9) | st.none())
def test_pr_area_by_rank(drawn: list[Ranking], k: int | None) -> None:
    ranked = [binary(query) for query in drawn]
    size = max(len(query.levels) for query in ranked)
    counted = [oracles.histogram(query.distances, query.levels, Ranking.N_BITS, n_levels=2) for query in ranked]
    together = Histogram(np.concatenate([query.counts for query in counted]), counted[0].levels)
    name = "pr_area_by_rank" if k is None else f"pr_area_by_rank@{k}"
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


@given(st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(0, 2))
def test_ties_between_items_of_one_kind_decide_nothing(distances: list[int], last: int) -> None:
    ranking = Ranking(distances, [int(distance <= last) for distance in distances])
    if any(ranking.levels):
        for name in ("ap_worst", "ap", "ap_best", "ndcg"):
            assert measured(name, ranking) == pytest.approx(1.0, abs=1e-15)
