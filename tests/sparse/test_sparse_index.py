"""The index: its table against sets, its file against damage."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.foundation.errors import HashbenchError
from hashbench.sparse import index as index_module
from hashbench.sparse import index_file
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Index, build, embeddings_sha256
from hashbench.sparse.search import query


def sample(n: int = 40, d: int = 7, k: int = 2, width: int = 3, seed: int = 0) -> tuple[SparseCodes, np.ndarray]:
    rng = np.random.default_rng(seed)
    return top_k(rng.standard_normal((n, d)), k), rng.standard_normal((n, width)).astype(np.float32)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 8), st.data())
def test_a_bucket_holds_its_items_and_their_embeddings(seed: int, n: int, d: int, data: st.DataObject) -> None:
    codes, embeddings = sample(n, d, data.draw(st.integers(1, d)), seed=seed)
    index = build(codes, embeddings)
    assert index.indptr[-1] == n * codes.k
    for bucket in range(d):
        entries = slice(index.indptr[bucket], index.indptr[bucket + 1])
        items = [item for item in range(n) if bucket in codes.buckets[item]]
        assert index.ids[entries].tolist() == items
        assert np.array_equal(index.embeddings[entries], embeddings[items])
        assert index.norms[entries] == pytest.approx((embeddings[items].astype(float) ** 2).sum(axis=1))


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        (np.zeros((39, 3)), "one row [m] for each code"),
        (np.zeros((40, 0)), "one row [m] for each code"),
        (np.zeros(40), "one row [m] for each code"),
        (np.full((40, 3), np.nan), "not finite"),
        (np.full((40, 3), 1e300), "longer than 1e18"),
        (np.full((40, 3), 7e17), "longer than 1e18"),
    ],
)
def test_embeddings_must_fit(embeddings: np.ndarray, message: str) -> None:
    with pytest.raises(HashbenchError) as caught:
        build(sample()[0], embeddings)
    assert message in str(caught.value)


def test_no_items_make_no_index() -> None:
    with pytest.raises(HashbenchError, match="0 codes"):
        build(SparseCodes(np.zeros((0, 1), int), 3), np.zeros((0, 3)))


def test_more_items_than_ids_of_32_bits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert np.iinfo(np.int32).max == index_module.MOST_ITEMS
    monkeypatch.setattr(index_module, "MOST_ITEMS", 39)
    with pytest.raises(HashbenchError, match=r"^40 items: an index holds at most 39$"):
        build(*sample())


def test_the_longest_embeddings_are_searched_exactly() -> None:
    embeddings = np.array([[7e17, 7e17], [-7e17, 7e17], [0.0, 0.0]])
    found = query(build(SparseCodes(np.zeros((3, 1), int), 1), embeddings), np.zeros((1, 1)), embeddings[:1], 3)
    assert found.ids.tolist() == [[0, 2, 1]]


@pytest.mark.parametrize("k", [1, 3])
def test_a_file_gives_back_what_was_saved_mapped(tmp_path: Path, k: int) -> None:
    codes, embeddings = sample(k=k)
    built, path = build(codes, embeddings), tmp_path / "index.h5"
    index_file.save(built, path)
    loaded = index_file.load(path, verify=True)
    assert loaded.codes.sha256() == codes.sha256()
    assert loaded.embeddings_sha256 == embeddings_sha256(embeddings)
    assert is_mapped(loaded.embeddings)
    for name in ("indptr", "ids", "norms", "embeddings"):
        assert np.array_equal(getattr(built, name), getattr(loaded, name))
        assert getattr(built, name).dtype == getattr(loaded, name).dtype
    asked = np.random.default_rng(1).standard_normal((5, 7)), embeddings[:5]
    assert all(np.array_equal(*pair) for pair in zip(query(built, *asked, 4), query(loaded, *asked, 4), strict=True))


def is_mapped(array: np.ndarray) -> bool:
    while array is not None:
        if isinstance(array, np.memmap):
            return True
        array = getattr(array, "base", None)
    return False


def test_writing_to_a_mapped_index_leaves_its_file_alone(tmp_path: Path) -> None:
    path = saved(tmp_path)
    content = path.read_bytes()
    index_file.load(path).embeddings[:] = 0
    assert path.read_bytes() == content


def saved(folder: Path, index: Index | None = None) -> Path:
    path = folder / "index.h5"
    index_file.save(index or build(*sample()), path)
    return path


def change(name: str, place: Any, value: Any) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        file[name][place] = value

    return edit


def replaced(name: str, **how: Any) -> Callable[[h5py.File], None]:
    """The data set written otherwise."""

    def edit(file: h5py.File) -> None:
        data = how.pop("data", None)
        data = file[name][...] if data is None else data
        del file[name]
        file.create_dataset(name, data=data, **how)

    return edit


def attribute(name: str, value: Any) -> Callable[[h5py.File], None]:
    def edit(file: h5py.File) -> None:
        file.attrs[name] = value

    return edit


def linked(file: h5py.File) -> None:
    del file["ids"]
    file["ids"] = h5py.ExternalLink("elsewhere.h5", "ids")


def without_embeddings(file: h5py.File) -> None:
    del file["embeddings"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (change("ids", 0, 10**6), "its codes or its table are damaged"),
        (change("ids", slice(0, 2), [1, 0]), "its codes or its table are damaged"),
        (change("indptr", 1, -(10**9)), "its codes or its table are damaged"),
        (change("codes", (0, 0), 10**6), "from 0 to 6"),
        (change("codes", 0, [0, 1]), "its codes or its table are damaged"),
        (attribute("codes_sha256", "0"), "its codes or its table are damaged"),
        (attribute("d", 10**12), "buckets: 1 to"),
        (attribute("d", 9), "do not fit each other"),
        (attribute("d", "many"), "not a readable index"),
        (attribute("version", 2), "another version"),
        (attribute("format", "pictures"), "not an index"),
        (replaced("ids", chunks=True), "ids is not stored in the file in one piece"),
        (replaced("embeddings", chunks=True, compression="gzip"), "embeddings is not stored in the file in one piece"),
        (replaced("norms", dtype="f8"), "norms is of type float64"),
        (replaced("norms", data=np.zeros(3, np.float32)), "do not fit each other"),
        (replaced("embeddings", data=np.zeros(80, np.float32)), "do not fit each other"),
        (linked, "ids is not stored in the file in one piece"),
        (without_embeddings, "embeddings is not stored in the file in one piece"),
    ],
)
def test_a_damaged_index_is_one_line(tmp_path: Path, edit: Callable[[h5py.File], None], message: str) -> None:
    path = saved(tmp_path)
    with h5py.File(path, "r+") as file:
        edit(file)
    with pytest.raises(HashbenchError) as caught:
        index_file.load(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_embeddings_are_found_when_asked_for(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with h5py.File(path, "r+") as file:
        file["embeddings"][3, 1] += 1
    index_file.load(path)
    with pytest.raises(HashbenchError, match="its checksum is another"):
        index_file.load(path, verify=True)


def test_embeddings_that_became_nan_are_no_answer(tmp_path: Path) -> None:
    path = saved(tmp_path)
    with h5py.File(path, "r+") as file:
        file["norms"][...] = np.nan
    with pytest.raises(HashbenchError, match="damaged"):
        query(index_file.load(path), np.zeros((1, 7)), np.zeros((1, 3)), top=2)


@pytest.mark.parametrize("length", [0, 10, 1000, -1, -100])
def test_a_cut_file_is_one_line(tmp_path: Path, length: int) -> None:
    path = saved(tmp_path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(HashbenchError, match=r"not a readable index|cut off") as caught:
        index_file.load(path)
    assert "\n" not in str(caught.value)


def test_any_flipped_byte_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path, build(*sample(n=6, d=3)))
    content, truth = path.read_bytes(), index_file.load(path)
    changed = tmp_path / "changed.h5"
    for place in range(0, len(content), max(1, len(content) // 400)):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            loaded = index_file.load(changed, verify=True)
        except HashbenchError as error:
            assert "\n" not in str(error)
        else:
            assert np.array_equal(loaded.ids, truth.ids)
            assert np.array_equal(loaded.embeddings, truth.embeddings)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(HashbenchError, match="no such file"):
        index_file.load(tmp_path / "index.h5")


def test_nothing_half_written_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path)
    before = path.read_bytes()
    monkeypatch.setattr(index_file, "FORMAT", object())  # no attribute can be that
    with pytest.raises(TypeError):
        index_file.save(build(*sample(seed=1)), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
