"""``hashbench dataset add`` of vectors without labels, and of texts."""

import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.foundation import paths
from hashbench.running.datasets import neighbours, store
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.custom.add import nearest_of

RNG = np.random.default_rng(6)
N = 200
Q = 12
D = 8
BASE = RNG.integers(0, 100, (N, D))
QUERIES = RNG.integers(0, 100, (Q, D))
SQUARES = ((QUERIES[:, None] - BASE) ** 2).sum(axis=2)
NEAREST = np.argsort(SQUARES, axis=1, kind="stable")[:, :100]
SQUARED = np.take_along_axis(SQUARES, NEAREST, axis=1)

pytestmark = pytest.mark.usefixtures("here")


def npy(name: str, array: np.ndarray) -> str:
    np.save(f"{name}.npy", array)
    return f"{name}.npy"


def vecs(name: str, array: np.ndarray, dtype: str) -> None:
    rows = [np.int32(len(row)).tobytes() + row.astype(dtype).tobytes() for row in array]
    Path(name).write_bytes(b"".join(rows))


def bins(name: str, *arrays: np.ndarray) -> None:
    head = np.array(arrays[0].shape, "<u4").tobytes()
    Path(name).write_bytes(head + b"".join(array.tobytes() for array in arrays))


def write_files() -> None:
    """The database and the queries in every format, and their neighbours."""
    npy("base", BASE)
    npy("query", QUERIES.astype("f2"))
    np.savez("pair.npz", train=BASE, test=QUERIES)
    for name, array in (("b", BASE), ("q", QUERIES)):
        vecs(f"{name}.fvecs", array, "<f4")
        vecs(f"{name}.bvecs", array, "u1")
        bins(f"{name}.fbin", array.astype("<f4"))
        bins(f"{name}.i8bin", array.astype("i1"))
        bins(f"{name}.u8bin", array.astype("u1"))
    vecs("n.ivecs", NEAREST, "<i4")
    bins("n.ibin", NEAREST.astype("<i4"), SQUARED.astype("<f4"))
    with h5py.File("ann.hdf5", "w") as file:
        file.update({"train": BASE.astype("f4"), "test": QUERIES.astype("f4"), "neighbors": NEAREST.astype("i4")})
        file["distances"] = np.sqrt(SQUARED).astype("f4")
        file.attrs["distance"] = "euclidean"


@pytest.mark.parametrize(
    "words, has_neighbours",
    [
        ("base.npy --queries query.npy", False),
        ("pair.npz", False),
        ("ann.hdf5", True),
        ("b.fvecs --queries q.fvecs", False),
        ("b.bvecs q.bvecs", False),
        ("b.fbin --queries q.fbin", False),
        ("b.i8bin --queries q.i8bin", False),
        ("b.u8bin --queries q.u8bin --neighbours n.ibin", True),
        ("pair.npz --neighbours n.ivecs", True),
    ],
)
def test_a_file_of_vectors_is_added(
    words: str, has_neighbours: bool, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files()
    with monkeypatch.context() as patch:
        if has_neighbours:
            patch.setattr(neighbours, "computed", None)  # none are computed
        err = hashbench.done("dataset add mine", words).err
        assert err.count("\n") == 1 + has_neighbours
        assert (": neighbours of 12 of 12 queries were checked" in err) == has_neighbours
        assert "no labels: relevant are the nearest by l2" in err
        card = load_card("mine")
        np.testing.assert_array_equal(store.verify(card).items, np.concatenate([BASE, QUERIES]))
        rule = card.protocols["own"]
        assert (card.labels, card.n_classes, rule.draw, rule.n_queries, rule.n_train) == ("none", 0, "parts", Q, N)
        assert rule.relevance.model_dump(exclude_none=True) == {"kind": "neighbours", "k": 10, "metric": "l2"}
        patch.setattr(neighbours, "nearest", None)  # they are stored
        np.testing.assert_array_equal(nearest_of(card).ids, NEAREST)
    hashbench.done(card.how_to_get.removeprefix("hashbench "), "--replace")
    assert load_card("mine") == card


def items(name: str = "mine") -> np.ndarray:
    return store.open_dataset(load_card(name)).items


def test_queries_are_drawn_and_vectors_of_cosine_have_norm_1(hashbench: CommandLine) -> None:
    vectors = RNG.standard_normal((N, D))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    answer = hashbench.done("dataset add mine", npy("unit", unit * 1.0005))
    assert "relevant are the nearest by cosine (all norms are 1 within 0.001)" in answer.err
    assert "20 queries, 180 in the database, 180 to train" in answer.text
    assert "next      hashbench bench mine\n" in answer.out
    np.testing.assert_allclose(items(), unit, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(items(), axis=1), 1, atol=1e-7)
    err = hashbench.done("dataset add mine", npy("v", vectors), "--metric cosine --replace").err
    assert "stored with norm 1, for cosine" in err
    np.testing.assert_allclose(items(), unit, atol=1e-6)
    text = hashbench.done("dataset add other v.npy --metric ip --queries 7 --train 30").text
    assert "7 queries, 193 in the database, 30 to train" in text
    np.testing.assert_array_equal(items("other"), vectors.astype("f4"))
    hashbench.done("split mine --protocol own --check")
    hashbench.done("train itq mine --protocol own --bits 4")


def test_odd_vectors_are_told(hashbench: CommandLine) -> None:
    vectors = np.c_[RNG.standard_normal((1200, 1000)), np.ones(1200)]
    vectors[5] = vectors[3]
    err = hashbench.done("dataset add mine", npy("v", vectors)).err
    assert "v.npy: 1 of 1,001 features are the same for all items" in err
    assert "v.npy: 1 of 1,200 vectors repeat another" in err
    assert "such vectors are like noise" in err
    queries = npy("q", np.r_[vectors[:4], vectors[7:9] + 1])
    err = hashbench.done(f"dataset add mine v.npy --queries {queries} --replace").err
    assert "v.npy: 4 of the 6 queries are vectors of the database, the nearest to themselves" in err


def test_metric_puts_neighbours_in_the_place_of_labels(hashbench: CommandLine) -> None:
    np.savez("file.npz", items=BASE, labels=np.arange(N) % 3)
    hashbench.done("dataset add mine file.npz")
    assert load_card("mine").labels == "class"
    hashbench.done("dataset add mine file.npz --metric l2 --replace")
    assert load_card("mine").labels == "none"


def test_what_is_refused_leaves_the_data_set_that_was_there(hashbench: CommandLine) -> None:
    hashbench.done("dataset add mine", npy("b", BASE))
    before = {path: path.read_bytes() for path in paths.data().rglob("*") if path.is_file()}
    line = hashbench.refused("dataset add mine", npy("b", BASE * 9e15), "--metric ip --replace")
    assert "of a norm above 1e+18" in line
    assert {path: path.read_bytes() for path in paths.data().rglob("*") if path.is_file()} == before


def parquet(column: list[object]) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"id": range(len(column)), "emb": column, "url": ["x"] * len(column)})
    pytest.importorskip("pyarrow.parquet").write_table(table, "b.parquet")
    return "b.parquet"


def test_a_column_of_parquet_is_added(hashbench: CommandLine) -> None:
    hashbench.done("dataset add mine", parquet(BASE.astype("f4").tolist()))
    np.testing.assert_array_equal(items(), BASE)
    columns: list[tuple[list[object], str]] = [
        ([[1.0, 2.0], [3.0], [4.0, 5.0]], "another number of values than the first"),
        (["a", "b"], "vectors [n, d] are expected"),
        ([[1.0], None], "a row is empty"),
    ]
    for column, complaint in columns:
        assert complaint in hashbench.refused("dataset add bad", parquet(column))


def test_without_its_package_parquet_names_the_extra(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    Path("b.parquet").write_bytes(b"PAR1")
    line = hashbench.refused("dataset add bad b.parquet")
    assert "pyarrow is needed" in line and "[parquet]" in line
