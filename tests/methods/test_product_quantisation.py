"""PQ and OPQ: distances are those to reconstructed items, equal bytes tie, and queries stay real numbers."""

from pathlib import Path

import numpy as np
import pytest
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.learning.contract import ItemRows, SearchItems, TrainingData
from hashbench.learning.methods import METHODS
from hashbench.learning.methods._products import Quantiser, codebooks
from hashbench.learning.methods._quantiser import QuantisingHasher
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram.ranking import Rankings, by_tables
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import from_labels

RANDOM = np.random.default_rng(0)
# neighbouring features depend on each other, then all are turned: PQ of the turned ones loses most
PLAIN = np.repeat(RANDOM.standard_normal((600, 4)), 2, axis=1) + 0.1 * RANDOM.standard_normal((600, 8))
TURNED = PLAIN @ np.linalg.qr(RANDOM.standard_normal((8, 8)))[0]


def fitted(method: str, items: np.ndarray = TURNED, folder: Path = Path(), **given: Setting) -> QuantisingHasher:
    settings = on_digits(method, {"bits": 16, **given}).settings
    hasher = METHODS.get(method).fit(settings, TrainingData(items, np.zeros(len(items), np.int64), 1.0, 3, folder))
    assert isinstance(hasher, QuantisingHasher)
    return hasher


def searched(queries: np.ndarray, items: np.ndarray) -> SearchItems:
    both = np.concatenate([queries, items])
    ids = np.arange(len(both))
    of_query = ids[: len(queries)]
    of_item = ids[len(queries) :]
    return SearchItems("toy", *(ItemRows(both, rows, rows % 3) for rows in (of_query, of_item)))


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


@pytest.mark.parametrize("method", ["pq", "opq"])
@pytest.mark.parametrize("bits", [8, 16, 32])
def test_a_distance_is_the_squared_distance_to_the_reconstructed_item(method: str, bits: int) -> None:
    hasher = fitted(method, bits=bits, **({"iterations": 3} if method == "opq" else {}))
    queries = RANDOM.standard_normal((5, 8))
    items = TURNED[:40]
    output = hasher.output(searched(queries, items))
    assert output.items["centroids"].shape == (40, bits // 8)
    assert output.items["centroids"].dtype == np.uint8
    actual = output.distances(slice(1, 4))
    rotation = np.eye(8) if hasher.function.rotation is None else hasher.function.rotation
    expected = np.square((queries @ rotation)[1:4, None] - rebuilt(hasher.function, items)).sum(axis=2)
    np.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


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


def test_opq_from_a_random_rotation_is_opq_of_turned_features() -> None:
    drawn = fitted("opq", iterations=0, start="random").function
    rotation = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 8)))[0]
    np.testing.assert_array_equal(drawn.rotation, rotation)
    of_turned = fitted("opq", TURNED @ rotation, iterations=0).function
    np.testing.assert_allclose(drawn.centroids, of_turned.centroids, atol=1e-12)


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
    broken = TURNED.copy()
    broken[7, 2] = np.nan
    with one_line("the first is example 7"):
        fitted(method, broken)
    with one_line("have equal features"):
        fitted(method, np.ones((600, 8)))


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
