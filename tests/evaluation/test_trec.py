"""TREC files, read back by a reader that knows nothing of the package but the format."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from support.strategies import CodeSet, code_sets

from hashbench.scoring import metrics
from hashbench.scoring.codes import pack
from hashbench.scoring.evaluation import trec
from hashbench.scoring.histogram import count, ties
from hashbench.scoring.histogram.ranking import hamming
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import from_labels


def read_run(path: Path) -> dict[str, list[str]]:
    """The items of each query as an evaluator orders them: by score, then by name."""
    scored = defaultdict(list)
    for line in path.read_text().splitlines():
        query, q0, item, rank, score, tag = line.split(" ")
        assert q0 == "Q0"
        assert tag == "hashbench"
        scored[query].append((-float(score), item, int(rank)))
    for rows in scored.values():
        assert [rank for _, _, rank in sorted(rows)] == list(range(1, len(rows) + 1)), "ranks agree with the order"
    return {query: [item for _, item, _ in sorted(rows)] for query, rows in scored.items()}


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    levels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in path.read_text().splitlines():
        query, zero, item, level = line.split(" ")
        assert zero == "0"
        levels[query][item] = int(level)
    return levels


def average_precision(ranking: list[str], relevant: dict[str, int]) -> float:
    hits = 0
    total = 0.0
    for rank, item in enumerate(ranking, 1):
        if item in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


@given(codes=code_sets(max_items=30))
def test_ap_of_the_files_is_ap_in_database_order(codes: CodeSet, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("trec")
    query = pack(codes.query)
    database = pack(codes.database)
    trec.write_trec(folder, query, database, codes.relevance)
    run = read_run(folder / "run.txt")
    qrels = read_qrels(folder / "qrels.txt")
    counted = count(query, database, codes.relevance)
    in_order = ties.in_order(hamming(query, database), codes.relevance)
    ordered = metrics.evaluate_with_extremes(counted, Metrics.parse(["ap"]), "order", in_order)["ap"].values
    assert len(run) == len(query)
    for q, (name, ranking) in enumerate(sorted(run.items())):
        assert len(ranking) == len(database)
        expected = average_precision(ranking, qrels[name]) if name in qrels else float("nan")
        np.testing.assert_allclose(ordered[q], expected, atol=1e-12)


def test_depth_keeps_the_nearest_and_of_the_tied_the_first_and_levels_are_shared_labels(tmp_path: Path) -> None:
    database = np.array([[1, 1], [0, 1], [1, 0], [0, 1], *[[1, 1]] * 7], np.uint8)
    labels = from_labels(np.array([[1, 1]], np.uint8), database)
    trec.write_trec(tmp_path, pack(np.zeros((1, 2), np.uint8)), pack(database), labels, depth=2)
    assert (tmp_path / "run.txt").read_text() == "q0 Q0 d01 1 1 hashbench\nq0 Q0 d02 2 1 hashbench\n"
    assert (tmp_path / "qrels.txt").read_text().splitlines()[:4] == [
        "q0 0 d00 2",
        "q0 0 d01 1",
        "q0 0 d02 1",
        "q0 0 d03 1",
    ]
