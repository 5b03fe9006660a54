"""Rankings by weighted and real distances: the same formulas, ties where values are equal."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracles
from support.one_line import one_line
from support.strategies import CodeSet, Ranking, code_sets, rankings

from hashbench.scoring import metrics
from hashbench.scoring.codes import pack
from hashbench.scoring.histogram import count, ranking, ties
from hashbench.scoring.histogram.ranking import Distances, hamming
from hashbench.scoring.histogram.ties import Policy
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance

NAMES = ["ap", "ap(norm=retrieved)@3", "ap_worst", "ndcg", "ndcg@2", "precision@2", "recall@2", "auc"]


def evaluate_distances(
    distances: Distances, relevance: Relevance, names: list[str], policy: Policy = "expected"
) -> dict[str, np.ndarray]:
    """The values per query of each metric on a ranking by weighted or real distances; equal distances tie."""
    if policy == "order":
        return metrics.evaluate(ties.in_order(distances, relevance), Metrics.parse(names))
    blocks = ranking.rankings(distances, relevance)
    return metrics.evaluate((ties.apply(block, policy) for block in blocks), Metrics.parse(names))


@given(rankings())
def test_groups_are_the_histogram_without_its_empty_distances(drawn: Ranking) -> None:
    counted = oracles.histogram(drawn.distances, drawn.levels, Ranking.N_BITS)
    level = np.array([drawn.levels], np.uint16)
    ranked = ranking.grouped(np.array([drawn.distances]) * 0.1, level, counted.levels)
    held = counted.counts[0].sum(axis=1) > 0
    assert np.array_equal(ranked.counts[0], counted.counts[0][held])


@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-12])
@given(drawn=code_sets(max_items=25))
def test_equal_weights_rank_as_plain_hamming(weight: float, drawn: CodeSet) -> None:
    query = pack(drawn.query)
    database = pack(drawn.database)
    weighted = ranking.weighted_hamming(query, database, np.full(query.n_bits, weight))
    plain = metrics.evaluate(count(query, database, drawn.relevance, workers=1), Metrics.parse(NAMES))
    for name, value in evaluate_distances(weighted, drawn.relevance, NAMES).items():
        np.testing.assert_allclose(value, plain[name], atol=1e-14, err_msg=name)


@pytest.mark.parametrize("policy", ["best", "worst", "order"])
@given(drawn=code_sets(max_items=25))
def test_policies_hold_for_any_distances(policy: str, drawn: CodeSet) -> None:
    query = pack(drawn.query)
    database = pack(drawn.database)
    weighted = ranking.weighted_hamming(query, database, np.ones(query.n_bits))
    counted = count(query, database, drawn.relevance, workers=1)
    truth = metrics.evaluate_with_extremes(
        counted, Metrics.parse(NAMES), policy, ties.in_order(hamming(query, database), drawn.relevance)
    )  # type: ignore[arg-type]
    actual = evaluate_distances(weighted, drawn.relevance, NAMES, policy)  # type: ignore[arg-type]
    for name in NAMES:
        np.testing.assert_allclose(actual[name], truth[name].values, atol=1e-14, err_msg=name)


@given(code_sets(max_items=25), st.randoms(use_true_random=False))
def test_weighted_distances_are_sums_of_whole_weights(drawn: CodeSet, random: object) -> None:
    rng = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    weights = rng.choice([0, 3, 6, 9, 10], drawn.query.shape[1])
    actual = ranking.weighted_hamming(pack(drawn.query), pack(drawn.database), weights / 30)(slice(0, len(drawn.query)))
    assert actual.dtype == np.int64
    truth = (drawn.query[:, None] != drawn.database[None]) @ weights
    assert np.array_equal(actual, truth // (np.gcd.reduce(weights) or 1))


@pytest.mark.parametrize("weights", [[1.0, -1.0], [np.nan, 1.0], [np.inf, 1.0], [1.0], [[1.0, 1.0]] * 2])
def test_weights_that_are_none_are_refused(weights: list[object]) -> None:
    codes = pack(np.zeros((3, 2), bool))
    with one_line("weights"):
        ranking.weighted_hamming(codes, codes, np.array(weights))


def test_distances_that_are_not_finite_are_refused() -> None:
    relevance = ClassRelevance(np.zeros(1, np.int64), np.zeros(2, np.int64))
    for policy in ("expected", "order"):
        with one_line("not finite"):
            evaluate_distances(lambda rows: np.array([[np.nan, 1.0]])[rows], relevance, ["ap"], policy)


@given(code_sets(max_items=25), st.integers(1, 9))
def test_groups_after_the_cutoff_decide_nothing(drawn: CodeSet, k: int) -> None:
    counted = count(pack(drawn.query), pack(drawn.database), drawn.relevance, workers=1)
    names = [f"{name}@{k}" for name in ("ap", "ap(norm=min)", "ap(norm=retrieved)", "ndcg", "precision", "recall")]
    names += [f"pr_area_by_rank@{k}", f"structhash_ndcg@{k}"]
    cut = ranking.merged_after(counted, k)
    assert cut.counts.shape[1] <= counted.counts.shape[1] + 1
    whole = metrics.evaluate(counted, Metrics.parse(names))
    for name, value in metrics.evaluate(cut, Metrics.parse(names)).items():
        np.testing.assert_allclose(value, whole[name], atol=1e-14, err_msg=name)


@pytest.mark.parametrize("names", [["pr_area_by_rank"], ["ap", "pr_area_by_rank@7", "ndcg@3"]])
def test_blocks_of_queries_do_not_change_a_metric_of_all_queries(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    query, database = (pack(rng.integers(0, 2, (n, 10)) > 0) for n in (9, 40))
    relevance = ClassRelevance(rng.integers(0, 3, 9), rng.integers(0, 3, 40))
    weighted = ranking.Rankings(ranking.weighted_hamming(query, database, rng.random(10)), relevance)
    whole = metrics.evaluate(weighted, Metrics.parse(names))
    monkeypatch.setattr(ranking, "PAIRS", 90)
    assert len(list(weighted)) == 5
    for name, value in metrics.evaluate(weighted, Metrics.parse(names)).items():
        np.testing.assert_allclose(value, whole[name], atol=1e-14, err_msg=name)
