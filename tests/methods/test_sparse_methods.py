"""The methods of k-sparse codes, run as cells on a small real set."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support import sparse_oracles
from support.command_line import CommandLine
from support.on_digits import on_digits
from support.one_line import one_line

from hashbench.foundation.config import Setting
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import OF_CODES
from hashbench.learning.sparse.codes import top_k
from hashbench.learning.sparse.hasher import OF_RETRIEVAL, SparseHasher
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import load_hasher, row_of
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import metrics
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import ClassRelevance

# two epochs of ten steps of ten images, two of each of five classes, in a network without convolutions
SMALL = {"model": "mlp", "augment": "none", "augment_per": "item", "epochs": 2, "steps_per_epoch": 10}
SMALL |= {"batch_size": 10, "classes_per_batch": 5}
OF_BASE = {f"base.{key}": value for key, value in SMALL.items() if key != "model"}
TH = {"model": "mlp", "d": 8, **OF_BASE}
HASH = {**SMALL, "d": 8, **OF_BASE}
OPTIONS = Execution(device="cpu")


def cell(method: str, **changes: Setting) -> Run:
    of_method: dict[str, Mapping[str, Setting]] = {"exhaustive_search": {**SMALL, "d": 8}, "sparse_hash": HASH}
    return on_digits(method, {**of_method.get(method, TH), **changes})


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def rows(store: Store) -> dict[str, Row]:
    """A row of each method, the base's among them; the sparse codes set two of eight bits."""
    sparse = ("sparse_hash", "sparse_th", "sparse_vq")
    actual = {method: row_of(cell(method, k=2), store, OPTIONS) for method in sparse}
    return actual | {"exhaustive_search": row_of(cell("exhaustive_search"), store, OPTIONS)}


def test_one_base_serves_all_and_is_a_row_of_its_own(store: Store, rows: dict[str, Row]) -> None:
    base = rows["exhaustive_search"]
    of_bases = [name.name for name in (store.folder / "runs").iterdir() if "exhaustive_search" in name.name]
    assert of_bases == [base.run]
    for method in ("sparse_hash", "sparse_th", "sparse_vq"):
        of_it = Run.from_row(rows[method]).base
        assert of_it is not None and str(of_it.name) == base.run
        assert rows[method].config["base"] == base.config


def test_rows_hold_both_searches(rows: dict[str, Row]) -> None:
    for method, row in rows.items():
        expected = {*OF_RETRIEVAL} | (set() if method == "exhaustive_search" else {*OF_CODES})
        assert set(row.metrics) == set(row.searches["test"]) == expected
        assert row.metrics["rerank_precision@1"].n_queries == 500
        assert row.budget == "paper"
    exhaustive = rows["exhaustive_search"]
    assert {exhaustive.metrics[name].mean for name in ("suf", "suf@4", "suf@16")} == {1.0}
    assert "histogram" not in exhaustive.artefacts
    # what is looked at beside the nearest item only ever costs precision of the whole list, not of exhaustive search
    assert all(row.metrics["suf"].mean >= 1 for row in rows.values())  # type: ignore[operator]


def test_rows_are_what_the_kept_files_give(store: Store, rows: dict[str, Row]) -> None:
    for row in rows.values():
        folder = store.run_folder(row.run)
        for name, values, sha256 in (
            ("retrieval.npz", row.metrics, row.artefacts["retrieval"]),
            ("retrieval_of_test.npz", row.searches["test"], row.artefacts["retrieval_of_test"]),
        ):
            kept = Retrieval.load(folder / name)
            assert kept.sha256() == sha256
            again = metrics.mean_values(kept, Metrics.parse(OF_RETRIEVAL, Retrieval))
            assert {key: values[key] for key in again} == again
        if "histogram" in row.artefacts:
            assert Histogram.load(folder / "histogram.npz").sha256() == row.artefacts["histogram"]


def hasher_of(row: Row, store: Store) -> SparseHasher:
    hasher = load_hasher(row, store, "cpu")
    assert isinstance(hasher, SparseHasher)
    return hasher


def test_a_loaded_hasher_finds_what_the_run_found(store: Store, rows: dict[str, Row]) -> None:
    for method in ("sparse_hash", "sparse_th", "sparse_vq"):
        row = rows[method]
        data = open_data(Run.from_row(row))
        dataset = data.dataset
        ids = data.ids
        items = dataset.items[ids.database_ids]
        queries = dataset.items[ids.query_ids]
        hasher = hasher_of(row, store)
        embeddings = hasher.embed(items)
        codes = top_k(hasher.searching(embeddings).activate(items, embeddings), 2)
        with np.load(store.run_folder(row.run) / "codes.npz") as kept:
            np.testing.assert_array_equal(kept["buckets"], codes.buckets)
            activations = hasher.searching(embeddings).activate(queries, hasher.embed(queries))
            np.testing.assert_allclose(kept["query_activations"], activations, rtol=1e-5, atol=1e-5)


def test_queries_among_each_other_are_scored_without_themselves(store: Store, rows: dict[str, Row]) -> None:
    row = rows["sparse_th"]
    data = open_data(Run.from_row(row))
    dataset = data.dataset
    ids = data.ids
    queries = dataset.items[ids.query_ids]
    labels = dataset.labels[ids.query_ids]
    embeddings = hasher_of(row, store).embed(queries)
    bits = sparse_oracles.bits(top_k(embeddings, 2))
    distance = (bits[:, None] != bits[None]).sum(2)
    same = ClassRelevance(labels, labels).block(slice(0, len(labels)), slice(0, len(labels)))
    itself = np.eye(len(labels), dtype=bool)
    actual = [precision_at_r2(distance[q][~itself[q]], same[q][~itself[q]]) for q in range(len(labels))]
    assert row.searches["test"]["precision@r2"].mean == pytest.approx(np.mean(actual))


def precision_at_r2(distance: np.ndarray, relevant: np.ndarray) -> float:
    inside = distance <= 2
    return float(relevant[inside].mean()) if inside.any() else 0.0


def test_a_base_whose_files_are_gone_is_trained_again_and_its_row_stays(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = row_of(cell("sparse_th", k=1), store, OPTIONS)
    base = cell("exhaustive_search")
    before = store.find(base.name.dataset, base.name.protocol, str(base.name))
    shutil.rmtree(store.run_folder(str(base.name)))  # with TensorBoard's folder, where the extra is installed
    with one_line("working files"):
        load_hasher(first, store, "cpu")
    row_of(cell("sparse_th", k=3), store, OPTIONS)
    assert store.find(base.name.dataset, base.name.protocol, str(base.name)) == before
    assert hasher_of(first, store).k == 1


def test_a_base_that_fails_fails_what_starts_from_it(tmp_path: Path) -> None:
    row = row_of(cell("sparse_th", k=1, **{"base.lr": 1e30}), Store(tmp_path), OPTIONS)
    assert row.status == "failed"
    assert row.reason is not None
    assert "exhaustive_search" in row.reason
    assert "\n" not in row.reason


def test_centroids_are_of_what_is_searched(store: Store, rows: dict[str, Row]) -> None:
    hasher = hasher_of(rows["sparse_vq"], store)
    items = np.random.default_rng(0).integers(0, 16, (40, 8, 8, 1)).astype(np.uint8)
    embeddings = hasher.embed(items)
    by_items = hasher.searching(embeddings).activate(items, embeddings)
    other = hasher.searching(embeddings[:20]).activate(items, embeddings)
    assert by_items.shape == other.shape == (40, 8)
    assert not np.allclose(by_items, other)


@pytest.mark.parametrize(
    "method, changes, complaint",
    [
        ("sparse_th", {"k": 9}, "k = 9 of d = 8 bits: k from 1 to d is expected"),
        ("sparse_hash", {"k": 1, "classes_per_batch": 1}, "for each of 1 classes, two or more"),
        ("sparse_th", {"k": 1, "base.nonsense": 1}, "unknown setting of exhaustive_search 'nonsense'"),
    ],
)
def test_wrong_settings_are_one_line(method: str, changes: dict[str, Setting], complaint: str) -> None:
    with one_line(text=complaint):
        cell(method, **changes)


def test_the_first_classes_are_all_that_a_run_sees(store: Store) -> None:
    few = cell("exhaustive_search", n_classes=3, classes_per_batch=3, batch_size=6)
    dataset = (opened := open_data(few)).dataset
    ids = opened.ids
    for chosen in (ids.query_ids, ids.database_ids, ids.train_ids):
        assert set(dataset.labels[chosen].tolist()) == {0, 1, 2}
    row = row_of(few, store, OPTIONS)
    assert row.metrics["rerank_precision@1"].n_queries == 150
    with one_line("n_classes = 11"):
        open_data(cell("exhaustive_search", n_classes=11))


def test_what_encode_writes_can_be_searched(
    store: Store,
    rows: dict[str, Row],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hashbench: CommandLine,
) -> None:
    def printed_by(*arguments: object) -> str:
        return hashbench.done(*arguments).out

    monkeypatch.setenv("HASHBENCH_RESULTS", str(store.folder))
    row = rows["sparse_hash"]
    items = tmp_path / "items.npz"
    printed = printed_by("encode", row.run, "--out", items, "--device", "cpu").split()
    assert printed == [str(items), str(tmp_path / "items-queries.npz")]
    actual = json.loads(printed_by("index", items, printed[1], "--k", 2, "--top", 1, "--json"))
    suf = row.metrics["suf"].mean
    assert suf is not None
    assert actual["suf"] == pytest.approx(suf)
    itself = np.zeros((3, 8, 8, 1), np.uint8)
    np.save(tmp_path / "own.npy", itself)
    printed_by("encode", row.run, tmp_path / "own.npy", "--out", tmp_path / "own.npz", "--device", "cpu")
    with np.load(tmp_path / "own.npz") as written:
        assert {name: written[name].shape for name in ("activations", "embeddings", "names")} == {
            "activations": (3, 8),
            "embeddings": (3, 8),
            "names": (3,),
        }
