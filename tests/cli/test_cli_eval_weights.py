"""``hashbench eval --weights``: the weighted Hamming distance, exact under ties, also in Python."""

import numpy as np
import pytest
from support import oracles
from support.command_line import CommandLine

import hashbench as library
from hashbench.scoring.histogram import ranking

WEIGHTS = np.array([4.0, 1.0, 1.0])
QUERY = np.array([[0, 0, 0]], np.uint8)
# weighted distances 4, 1, 1, 2; plain ones 1, 1, 1, 2
DATABASE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], np.uint8)
LABELS = np.array([1, 0, 1, 0])

pytestmark = pytest.mark.usefixtures("here")


def save(query: np.ndarray = QUERY, database: np.ndarray = DATABASE, **beside: np.ndarray) -> None:
    labels = {"query_labels": np.arange(len(query)), "database_labels": LABELS[: len(database)]}
    np.savez("codes.npz", query_codes=query, database_codes=database, **labels, **beside)


def ap(hashbench: CommandLine, weights: str) -> float:
    return float(hashbench.json(f"eval codes.npz --metric ap --weights {weights}")["metrics"]["ap"]["mean"])


def test_weights_rank_the_database(hashbench: CommandLine) -> None:
    truth = oracles.expected(oracles.average_precision, [4, 1, 1, 2], [0, 1, 0, 1])
    assert truth == pytest.approx(17 / 24)  # 1/2 (1/1 + 2/3) / 2 + 1/2 (1/2 + 2/3) / 2
    save(bit_weights=WEIGHTS)
    np.save("weights.npy", WEIGHTS * 7)
    for place in ("codes.npz", "codes.npz:bit_weights", "weights.npy"):
        assert ap(hashbench, place) == pytest.approx(truth)
    scores = library.score(QUERY, DATABASE, [0], LABELS, ["ap"], weights=WEIGHTS)
    assert scores["ap"] == pytest.approx(truth)
    assert scores.interval("ap") == pytest.approx((7 / 12, 5 / 6))
    assert library.score(QUERY, DATABASE, [0], LABELS, ["ap"])["ap"] != pytest.approx(truth)


def test_activations_of_the_queries_rank_by_the_asymmetric_distance(hashbench: CommandLine) -> None:
    activations = np.array([[0.5, -0.25, 2.0], [-1.0, 0.5, 0.125]], np.float32)
    save(activations > 0, query_activations=activations)
    # -<z, b> is -2.25 + 4, 2.75, -2.25, ... of query 0: items 2, 3, 0, 1; of query 1: items 1, 3, 2, 0
    by_hand = ((1 / 2 + 2 / 4) / 2 + (1 / 3 + 2 / 4) / 2) / 2
    scores = library.score(activations, DATABASE, [0, 1], LABELS, ["ap"], weights=np.abs(activations))
    assert ap(hashbench, "codes.npz:query_activations") == scores["ap"] == pytest.approx(by_hand)
    save(activations > 0, query_activations=-activations)
    line = hashbench.refused("eval codes.npz --weights codes.npz:query_activations")
    assert line == "codes.npz: query_activations: the signs of the activations are not the codes of the queries"


@pytest.mark.parametrize("ties", ["expected", "best", "order"])
def test_the_weighted_rankings_are_computed_once_for_all_metrics_and_both_ends(
    ties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    query = rng.integers(0, 2, (5, 6))
    database = rng.integers(0, 2, (30, 6))
    labels = (rng.integers(0, 2, 5), rng.integers(0, 2, 30))
    weights = np.array([1.0, 1, 2, 2, 3, 3])
    counted = []
    once = ranking.rankings
    monkeypatch.setattr(ranking, "rankings", lambda *given, **more: counted.append(1) or once(*given, **more))

    def score(names: list[str], ties: str) -> library.Scores:
        return library.score(query, database, *labels, names, ties, weights=weights)  # type: ignore[arg-type]

    names = ["ap", "ap(norm=retrieved)@7", "ndcg", "precision@5", "pr_area_by_rank@9", "ap_best"]
    all_scores = score(names, ties)
    assert len(counted) == 1
    for name in names:
        alone = score([name], ties)
        np.testing.assert_array_equal(all_scores.per_query(name), alone.per_query(name))
        assert all_scores.interval(name) == alone.interval(name)
    worst = score(names[2:5], "worst")
    best = score(names[2:5], "best")
    for name in names[2:5]:
        assert all_scores.interval(name) == pytest.approx((worst[name], best[name]))
