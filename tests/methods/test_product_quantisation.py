"""PQ and OPQ: distances are those to reconstructed items, equal bytes tie, and queries stay real numbers."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from support.fits import quantised, quantiser
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.learning.methods._products import Quantiser, codebooks
from hashbench.learning.methods._quantiser import QuantisingHasher
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram.ranking import Rankings, by_tables
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import from_labels

Metric = Literal["l2", "ip"]
RANDOM = np.random.default_rng(0)
# neighbouring features depend on each other, then all are turned: PQ of the turned ones loses most
PLAIN = np.repeat(RANDOM.standard_normal((600, 4)), 2, axis=1) + 0.1 * RANDOM.standard_normal((600, 8))
TURNED = PLAIN @ np.linalg.qr(RANDOM.standard_normal((8, 8)))[0]


def fitted(method: str, items: np.ndarray = TURNED, metric: Metric = "l2", **changes: Setting) -> QuantisingHasher:
    more: dict[str, Setting] = {"bits": 16, **changes}
    hasher = quantiser(method, items, seed=3, metric=metric, **more)
    assert isinstance(hasher, QuantisingHasher)
    return hasher


def rebuilt(function: Quantiser, features: np.ndarray) -> np.ndarray:
    """Each item after the rotation, its parts replaced by the nearest of all centroids, one after the other."""
    turned = features if function.rotation is None else features @ function.rotation
    width = function.centroids.shape[2]
    actual = turned.copy()
    for item in actual:
        for m, book in enumerate(function.centroids):
            part = item[m * width : (m + 1) * width]
            part[:] = book[np.argmin([((centroid - part) ** 2).sum() for centroid in book])]
    return actual


def error(hasher: QuantisingHasher, features: np.ndarray) -> float:
    function = hasher.function
    assert isinstance(function, Quantiser)
    return float(function.squared_distances(features).min(axis=2).sum(axis=1).mean())


@pytest.mark.parametrize("metric", ["l2", "ip"])
@pytest.mark.parametrize("method, more", [("pq", {}), ("opq", {"iterations": 3})])
@pytest.mark.parametrize("bits", [8, 32])
def test_a_distance_is_that_to_the_reconstructed_item(
    bits: int, method: str, more: dict[str, Setting], metric: Metric
) -> None:
    hasher = fitted(method, metric=metric, bits=bits, **more)
    queries = RANDOM.standard_normal((5, 8))
    items = TURNED[:40]
    output = quantised(hasher, queries, items)
    assert output.items["centroids"].shape == (40, bits // 8)
    assert output.items["centroids"].dtype == np.uint8
    turned = queries @ (np.eye(8) if hasher.function.rotation is None else hasher.function.rotation)
    others = rebuilt(hasher.function, items)
    expected = -turned @ others.T if metric == "ip" else np.square(turned[:, None] - others).sum(axis=2)
    np.testing.assert_allclose(output.distances(slice(1, 4)), expected[1:4], rtol=1e-10, atol=1e-10)


def test_the_centroids_are_those_of_k_means_in_each_part() -> None:
    from sklearn.cluster import KMeans

    actual = fitted("pq").function.centroids
    for m in range(2):
        expected = KMeans(256, n_init=1, max_iter=25, tol=0, random_state=3 + m).fit(TURNED[:, 4 * m : 4 * m + 4])
        np.testing.assert_allclose(actual[m], expected.cluster_centers_, atol=1e-12)


def test_the_rotation_of_opq_is_orthogonal_and_lowers_the_error() -> None:
    errors = [error(fitted("opq", iterations=n, kmeans_iterations=4), TURNED) for n in (0, 1, 5, 20)]
    assert np.diff(errors).max() <= 1e-12
    same_start = error(fitted("pq", kmeans_iterations=40), TURNED)
    assert errors[0] == pytest.approx(same_start, rel=1e-12)
    assert errors[-1] < 0.9 * same_start
    rotation = fitted("opq", iterations=20).function.rotation
    assert rotation is not None
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(8), atol=1e-10)


def test_one_rotation_is_that_of_procrustes() -> None:
    _, y = codebooks(TURNED, 2, 40, 3)
    u, _, vt = np.linalg.svd(TURNED.T @ y)
    np.testing.assert_allclose(fitted("opq", iterations=1).function.rotation, u @ vt, atol=1e-10)


@pytest.mark.parametrize("method", ["pq", "opq"])
def test_bad_input_is_one_line(method: str) -> None:
    with one_line(f"^{method} on digits: bits: Input should be a multiple of 8, got 12$"):
        fitted(method, bits=12)
    with one_line(r"^8 features in 3 sub-spaces of 8 bits: 3 must divide 8$"):
        fitted(method, bits=24)
    with one_line(r"^255 training examples: a sub-space has 256 centroids, so as many"):
        fitted(method, TURNED[:255])
    with one_line("query: Input should be 'float', got 'code'"):
        fitted(method, query="code")


def test_a_row_is_a_reference_and_has_no_metric_of_binary_codes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = on_digits("pq", {"bits": 16, "kmeans_iterations": 2})
    assert run.with_asymmetric() is run
    row = row_of(run, store)
    assert row.settings["query"] == "float"
    assert list(row.searches) == ["asymmetric"]
    assert row.metrics == {}
    assert {"ap", "ndcg@100", "precision@100"} <= row.searches["asymmetric"].keys()
    arrays = np.load(store.run_folder(row.run) / "codes.npz")
    assert sorted(arrays) == ["database_centroids", "database_labels", "query_labels", "query_tables"]
    # the stored arrays give the row's AP
    relevance = from_labels(arrays["query_labels"], arrays["database_labels"])
    ranked = Rankings(by_tables(arrays["query_tables"], arrays["database_centroids"]), relevance)
    assert metrics.mean_values(ranked, Metrics.parse(["ap"]))["ap"] == row.searches["asymmetric"]["ap"]
