"""``hashbench eval --weights``: the weighted Hamming distance, exact under ties, also in Python."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import oracles
from typer.testing import CliRunner

import hashbench
from hashbench.cli._app import app
from hashbench.codes import files, pack
from hashbench.codes.files import BIT_WEIGHTS, SavedCodes
from hashbench.histogram import ranking
from hashbench.relevance.labels import ClassRelevance

WEIGHTS = np.array([4.0, 1.0, 1.0])
QUERY = np.array([[0, 0, 0]], np.uint8)
# weighted distances 4, 1, 1, 2; plain ones 1, 1, 1, 2
DATABASE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], np.uint8)
LABELS = np.array([1, 0, 1, 0])
WEIGHTED_DISTANCES = [4, 1, 1, 2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    relevance = ClassRelevance(np.array([0]), LABELS)
    path = tmp_path / "codes.npz"
    files.save(path, SavedCodes(pack(QUERY), pack(DATABASE), relevance, beside={BIT_WEIGHTS: WEIGHTS}))
    return path


def test_weights_rank_the_database(file: Path, tmp_path: Path) -> None:
    truth = oracles.expected(oracles.average_precision, WEIGHTED_DISTANCES, [0, 1, 0, 1])
    assert truth == pytest.approx(17 / 24)  # 1/2 (1/1 + 2/3) / 2 + 1/2 (1/2 + 2/3) / 2
    other = tmp_path / "weights.npy"
    np.save(other, WEIGHTS * 7)
    for place in (BIT_WEIGHTS, f"{file}:{BIT_WEIGHTS}", str(other)):
        shown = CliRunner().invoke(app, ["eval", str(file), "--weights", place, "--metric", "ap", "--json"])
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout)["metrics"]["ap"]["mean"] == pytest.approx(truth)
    scores = hashbench.score(QUERY, DATABASE, [0], LABELS, ["ap"], weights=WEIGHTS)
    assert scores["ap"] == pytest.approx(truth)
    assert scores.interval("ap") == pytest.approx((7 / 12, 5 / 6))
    assert hashbench.score(QUERY, DATABASE, [0], LABELS, ["ap"])["ap"] != pytest.approx(truth)


def test_activations_of_the_queries_rank_by_the_asymmetric_distance(file: Path, tmp_path: Path) -> None:
    activations = np.array([[0.5, -0.25, 2.0], [-1.0, 0.5, 0.125]], np.float32)
    relevance = ClassRelevance(np.array([0, 1]), LABELS)
    saved = SavedCodes(pack(activations > 0), pack(DATABASE), relevance, beside={"query_activations": activations})
    files.save(file, saved)
    shown = CliRunner().invoke(app, ["eval", str(file), "--weights", "query_activations", "--metric", "ap", "--json"])
    assert shown.exit_code == 0, shown.output
    scores = hashbench.score(activations, DATABASE, [0, 1], LABELS, ["ap"], weights=np.abs(activations))
    # -<z, b> is -2.25 + 4, 2.75, -2.25, ... of query 0: items 2, 3, 0, 1; of query 1: items 1, 3, 2, 0
    by_hand = ((1 / 2 + 2 / 4) / 2 + (1 / 3 + 2 / 4) / 2) / 2
    assert json.loads(shown.stdout)["metrics"]["ap"]["mean"] == scores["ap"] == pytest.approx(by_hand)
    files.save(file, replace(saved, beside={"query_activations": -activations}))
    shown = CliRunner().invoke(app, ["eval", str(file), "--weights", "query_activations"])
    assert (shown.exit_code, str(shown.exception)) == (
        1,
        f"{file}: query_activations: the signs of the activations are not the codes of the queries",
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_decimal_weights_of_any_type_tie_as_decimals(dtype: type, file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "weights.npy", np.array([0.3, 0.1, 0.2], dtype))
    codes = SavedCodes(pack(QUERY), pack(DATABASE[[0, 3]]), ClassRelevance(np.array([0]), np.array([0, 1])))
    files.save(file, codes)
    options = ["--weights", str(tmp_path / "weights.npy"), "--metric", "ap", "--json"]
    shown = CliRunner().invoke(app, ["eval", str(file), *options], catch_exceptions=False)
    assert json.loads(shown.stdout)["metrics"]["ap"]["mean"] == 0.75


@pytest.mark.parametrize(("ties", "passes"), [("expected", 1), ("best", 1), ("order", 1)])
def test_the_weighted_rankings_are_computed_once_for_all_metrics_and_both_ends(
    ties: str, passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    query, database = rng.integers(0, 2, (5, 6)), rng.integers(0, 2, (30, 6))
    labels = rng.integers(0, 2, 5), rng.integers(0, 2, 30)
    weights = np.array([1.0, 1, 2, 2, 3, 3])
    counted = []
    once = ranking.rankings
    monkeypatch.setattr(ranking, "rankings", lambda *given, **more: counted.append(1) or once(*given, **more))
    names = ["ap", "ap(norm=retrieved)@7", "ndcg", "precision@5", "pr_area_by_rank@9", "ap_best"]
    together = hashbench.score(query, database, *labels, names, ties, weights=weights)  # type: ignore[arg-type]
    assert len(counted) == passes
    for name in names:
        alone = hashbench.score(query, database, *labels, [name], ties, weights=weights)  # type: ignore[arg-type]
        np.testing.assert_array_equal(together.per_query(name), alone.per_query(name))
        assert together.interval(name) == alone.interval(name)
    by_end = {end: hashbench.score(query, database, *labels, names[2:5], end, weights=weights) for end in END}  # type: ignore[arg-type]
    for name in names[2:5]:
        assert together.interval(name) == pytest.approx((by_end["worst"][name], by_end["best"][name]))


END = ("worst", "best")
