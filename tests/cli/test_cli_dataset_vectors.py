"""``hashbench dataset add`` of vectors without labels, and of texts."""

import shlex
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from support.command_line import CommandLine

from hashbench.datasets import neighbours, store
from hashbench.datasets.card import load_card
from hashbench.datasets.custom import add, texts
from hashbench.datasets.custom.add import nearest_of
from hashbench.foundation import paths

RNG = np.random.default_rng(6)
N, Q, D = 200, 12, 8
BASE, QUERIES = RNG.integers(0, 100, (N, D)), RNG.integers(0, 100, (Q, D))
SQUARES = ((QUERIES[:, None] - BASE) ** 2).sum(axis=2)
NEAREST = np.argsort(SQUARES, axis=1, kind="stable")[:, :100]
DISTANCES = np.sqrt(np.take_along_axis(SQUARES, NEAREST, axis=1))


@pytest.fixture
def hashbench(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return partial(call, capsys)


def npy(name: str, array: np.ndarray) -> str:
    np.save(f"{name}.npy", array)
    return f"{name}.npy"


def vecs(name: str, array: np.ndarray, dtype: str) -> str:
    rows = [np.int32(len(row)).tobytes() + row.astype(dtype).tobytes() for row in array]
    Path(name).write_bytes(b"".join(rows))
    return name


def bins(name: str, *arrays: np.ndarray) -> str:
    head = np.array(arrays[0].shape, "<u4").tobytes()
    Path(name).write_bytes(head + b"".join(array.tobytes() for array in arrays))
    return name


def ann(distance: str = "euclidean", ids: np.ndarray = NEAREST) -> str:
    with h5py.File("ann.hdf5", "w") as file:
        file["train"], file["test"], file["neighbors"] = BASE.astype("f4"), QUERIES.astype("f4"), ids.astype("i4")
        file["distances"] = DISTANCES.astype("f4")
        file.attrs["distance"] = distance
    return "ann.hdf5"


def pair() -> str:
    np.savez("pair.npz", train=BASE, test=QUERIES)
    return "pair.npz"


FILES = {
    "npy": lambda: [npy("base", BASE), "--queries", npy("query", QUERIES.astype("f2"))],
    "npz": lambda: [pair()],
    "ann-benchmarks": lambda: [ann()],
    "fvecs": lambda: [vecs("b.fvecs", BASE, "<f4"), "--queries", vecs("q.fvecs", QUERIES, "<f4")],
    "bvecs": lambda: [vecs("b.bvecs", BASE, "u1"), vecs("q.bvecs", QUERIES, "u1")],
    "fbin": lambda: [bins("b.fbin", BASE.astype("<f4")), "--queries", bins("q.fbin", QUERIES.astype("<f4"))],
    "i8bin": lambda: [bins("b.i8bin", BASE.astype("i1")), "--queries", bins("q.i8bin", QUERIES.astype("i1"))],
    "u8bin and its neighbours": lambda: [
        *(bins("b.u8bin", BASE.astype("u1")), "--queries", bins("q.u8bin", QUERIES.astype("u1"))),
        *("--neighbours", bins("n.ibin", NEAREST.astype("<i4"), (DISTANCES**2).astype("<f4"))),
    ],
    "ivecs of neighbours": lambda: [pair(), "--neighbours", vecs("n.ivecs", NEAREST, "<i4")],
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_of_vectors_is_added(kind: str, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        if "neighbours" in kind or kind == "ann-benchmarks":  # then none are computed
            patch.setattr(neighbours, "computed", None)
        code, _, err = hashbench("dataset add mine", *FILES[kind]())
        assert (code, err.count("\n")) == (0, 1 + (": neighbours of 12 of 12 queries were checked" in err))
        assert ("were checked" in err) == ("neighbours" in kind or kind == "ann-benchmarks")
        assert "no labels: relevant are the nearest by l2" in err
        card = load_card("mine")
        np.testing.assert_array_equal(store.verify(card).items, np.concatenate([BASE, QUERIES]))
        rule = card.protocols["own"]
        assert (card.labels, card.n_classes, rule.draw, rule.n_queries, rule.n_train) == ("none", 0, "parts", Q, N)
        assert rule.relevance.model_dump(exclude_none=True) == {"kind": "neighbours", "k": 10, "metric": "l2"}
        patch.setattr(neighbours, "nearest", None)  # they are stored
        np.testing.assert_array_equal(nearest_of(card).ids, NEAREST)
    assert hashbench(*shlex.split(card.how_to_get)[1:], "--replace").code == 0
    assert load_card("mine") == card


def test_queries_are_drawn_and_vectors_of_cosine_have_norm_1(hashbench: CommandLine) -> None:
    vectors = RNG.standard_normal((N, D))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * 1.0005
    code, out, err = hashbench("dataset add mine", npy("unit", unit))
    assert code == 0 and "relevant are the nearest by cosine (all norms are 1 within 0.001)" in err
    assert "20 queries, 180 in the database, 180 to train" in " ".join(out.split())
    assert "next      hashbench bench mine\n" in out
    items = store.open_dataset(load_card("mine")).items
    np.testing.assert_allclose(np.linalg.norm(items, axis=1), 1, atol=1e-7)
    code, _, err = hashbench("dataset add mine", npy("v", vectors), "--metric cosine --replace")
    assert code == 0 and "stored with norm 1, for cosine" in err
    np.testing.assert_allclose(store.open_dataset(load_card("mine")).items, items, atol=1e-6)
    code, out, _ = hashbench("dataset add other v.npy --metric ip --queries 7 --train 30")
    assert code == 0 and "7 queries, 193 in the database, 30 to train" in " ".join(out.split())
    np.testing.assert_array_equal(store.open_dataset(load_card("other")).items, vectors.astype("f4"))
    assert hashbench("split mine --protocol own --check").code == 0
    assert hashbench("train itq mine --protocol own --bits 4").code == 0


def test_odd_vectors_are_told(hashbench: CommandLine) -> None:
    vectors = np.c_[RNG.standard_normal((1200, 1000)), np.ones(1200)]
    vectors[5] = vectors[3]
    code, _, err = hashbench("dataset add mine", npy("v", vectors))
    assert code == 0
    assert "v.npy: 1 of 1,001 features are the same for all items" in err
    assert "v.npy: 1 of 1,200 vectors repeat another" in err
    assert "such vectors are like noise" in err
    queries = npy("q", np.r_[vectors[:4], vectors[7:9] + 1])
    code, _, err = hashbench(f"dataset add mine v.npy --queries {queries} --replace")
    assert code == 0
    assert "v.npy: 4 of the 6 queries are vectors of the database, the nearest to themselves" in err


def test_metric_puts_neighbours_in_the_place_of_labels(hashbench: CommandLine) -> None:
    np.savez("file.npz", items=BASE, labels=np.arange(N) % 3)
    assert hashbench("dataset add mine file.npz").code == 0
    assert load_card("mine").labels == "class"
    assert hashbench("dataset add mine file.npz --metric l2 --replace").code == 0
    assert load_card("mine").labels == "none"


def test_what_is_refused_leaves_the_data_set_that_was_there(hashbench: CommandLine) -> None:
    assert hashbench("dataset add mine", npy("b", BASE)).code == 0
    before = {path: path.read_bytes() for path in paths.data().rglob("*") if path.is_file()}
    code, _, err = hashbench("dataset add mine", npy("b", BASE * 9000000000000000.0), "--metric ip --replace")
    assert code == 2 and "of a norm above 1e+18" in err
    assert {path: path.read_bytes() for path in paths.data().rglob("*") if path.is_file()} == before


class Lengths:
    """An embedder in the place of a network: the number of letters, of blanks and of each vowel."""

    width, distance = 7, "cosine"

    def __init__(self, name: str) -> None:
        self.name = name

    def blocks(self, lines: list[str], n: int) -> object:
        for line in lines:
            yield np.array([[len(line), line.count(" "), *map(line.count, "aeiou")]], np.float32)


TEXTS = [f"{'a' * (n % 7)} {'e' * (n % 5)} text {n}" for n in range(40)]
OF_TEXTS = {
    "s.txt": ("\n".join(TEXTS) + "\n", []),
    "s.jsonl": ("\n".join(json.dumps({"_id": n, "text": text}) for n, text in enumerate(TEXTS)), []),
    "s.csv": ("id,body\n" + "\n".join(f"{n},{text}" for n, text in enumerate(TEXTS)), ["--items", "body"]),
}


@pytest.mark.parametrize("name", OF_TEXTS)
def test_texts_are_embedded(name: str, hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    content, options = OF_TEXTS[name]
    Path(name).write_text(content)
    code, _, err = hashbench(f"dataset add mine {name}", *options, "--embed word2vec")
    assert code == 2 and "--embed word2vec: sentence-transformers:NAME or" in err
    monkeypatch.setattr(texts, "Embedder", Lengths)
    network = ["--embed", "sentence-transformers:some-network"]
    code, _, err = hashbench(f"dataset add mine {name}", *options, *network)
    assert code == 0 and "nearest by cosine" in err
    due = np.concatenate(list(Lengths("").blocks(TEXTS, 1)))
    due /= np.linalg.norm(due, axis=1, keepdims=True)
    np.testing.assert_allclose(store.open_dataset(load_card("mine")).items, due, atol=1e-6)
    for text, message in (("", "no text"), ("{}\n", "field 'text'"), ('{"text": 3}\n', "text is no text")):
        Path("bad.jsonl").write_text(text)
        code, _, err = hashbench("dataset add bad bad.jsonl", *network)
        assert code == 2 and message in err and err.count("\n") == 1
    assert add.PROTOCOL in load_card("mine").protocols


def parquet(column: list[object]) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet").write_table(
        pyarrow.table({"id": range(len(column)), "emb": column, "url": ["x"] * len(column)}), "b.parquet"
    )
    return "b.parquet"


def test_a_column_of_parquet_is_added(hashbench: CommandLine) -> None:
    file = parquet(BASE.astype("f4").tolist())
    assert hashbench(f"dataset add mine {file}").code == 0
    np.testing.assert_array_equal(store.open_dataset(load_card("mine")).items, BASE)
    for column, message in (
        ([[1.0, 2.0], [3.0], [4.0, 5.0]], "another number of values than the first"),
        (["a", "b"], "vectors [n, d] are expected"),
        ([[1.0], None], "a row is empty"),
    ):
        code, _, err = hashbench("dataset add bad", parquet(column))
        assert code == 2 and message in err and err.count("\n") == 1


def test_without_its_package_parquet_names_the_extra(hashbench: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    Path("b.parquet").write_bytes(b"PAR1")
    code, _, err = hashbench("dataset add bad b.parquet")
    assert code == 2 and "pyarrow is needed" in err and "[parquet]" in err and err.count("\n") == 1
