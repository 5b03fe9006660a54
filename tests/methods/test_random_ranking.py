"""The metrics of random ranking are those of a random order: closed forms, enumeration and simulation."""

from pathlib import Path

import numpy as np
import pytest

from hashbench import metrics
from hashbench.codes import binarize
from hashbench.contract import BinaryHasher, TrainingData
from hashbench.histogram import Histogram, count
from hashbench.methods import METHODS
from hashbench.metrics import Metrics
from hashbench.relevance.labels import from_labels
from hashbench.runs.run import Run


def fitted(folder: Path, items: np.ndarray, bits: int) -> BinaryHasher:
    settings = Run.resolve("digits", "s1", "random_ranking", {"bits": bits}).settings
    return METHODS.get("random_ranking").fit(settings, TrainingData(items, np.zeros(len(items)), 1.0, 0, folder))


def ranked(folder: Path, query_labels: np.ndarray, labels: np.ndarray, bits: int = 5) -> Histogram:
    random = np.random.default_rng(0)
    queries = random.uniform(size=(len(query_labels), 3))
    database = random.uniform(size=(len(labels), 3))
    hasher = fitted(folder, database, bits)
    codes = [binarize(hasher.encode(items)) for items in (queries, database)]
    return count(codes[0], codes[1], from_labels(query_labels, labels))


def values(counts: Histogram, name: str) -> np.ndarray:
    (actual,) = metrics.evaluate(counts, Metrics.parse([name])).values()
    return np.asarray(actual)


@pytest.mark.parametrize("bits", [1, 64, 100])
def test_closed_forms_of_a_random_order(bits: int, tmp_path: Path) -> None:
    labels = np.repeat([0, 1, 2], [7, 100, 893])
    counts = ranked(tmp_path, np.array([0, 1, 2]), labels, bits)
    relevant = np.array([7, 100, 893])
    n = 1000
    harmonic = (1 / np.arange(1, n + 1)).sum()
    ap = (harmonic + (relevant - 1) / (n - 1) * (n - harmonic)) / n
    np.testing.assert_allclose(values(counts, "ap"), ap, rtol=1e-12)
    np.testing.assert_allclose(values(counts, "precision@50"), relevant / n, rtol=1e-12)
    np.testing.assert_allclose(values(counts, "structhash_ndcg@100"), relevant / n, rtol=1e-12)
    np.testing.assert_allclose(values(counts, "recall@50"), 50 / n, rtol=1e-12)
    np.testing.assert_allclose(values(counts, "auc"), 0.5, rtol=1e-12)
    discounts = 1 / np.log2(np.arange(2, n + 2))
    ideal = np.array([discounts[:r].sum() for r in relevant])
    np.testing.assert_allclose(values(counts, "ndcg"), relevant / n * discounts.sum() / ideal, rtol=1e-12)
