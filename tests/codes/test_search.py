"""The approximate search: exact distances, what the lists allow it to find, its file; against exhaustive search."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.together import together

from hashbench.codes import Codes, pack, search
from hashbench.codes.nearest import neighbours_of
from hashbench.codes.search import InvertedFile, Lists, codes_sha256, make_lists, recall
from hashbench.foundation.errors import HashbenchError

faiss = pytest.importorskip("faiss", reason="needs the extra search")

CLUSTERS = 30
EACH = 40


def planted(bits: int) -> tuple[Codes, Codes]:
    """A query for each cluster, and the database: 40 items a cluster, that differ in one bit of eight at most."""
    rng = np.random.default_rng(bits)
    centres = rng.integers(0, 2, (CLUSTERS, bits), np.uint8)
    items = centres.repeat(EACH, axis=0)
    items[np.arange(len(items)), rng.integers(0, bits, len(items))] ^= 1
    return pack(centres), pack(items[rng.permutation(len(items))])


def exact(query: Codes, database: Codes, top: int) -> np.ndarray:
    return np.stack([found.distances for found in neighbours_of(query, database, top)])


def by_definition(query: Codes, database: Codes) -> np.ndarray:
    return (query.bits()[:, None] != database.bits()[None]).sum(axis=2)


@together("bits", [12, 32, 64, 100])
def test_all_near_items_of_planted_clusters_are_found(bits: int) -> None:
    query, database = planted(bits)
    ids, distances = InvertedFile(database, make_lists(database, 30)).search(query, 20, probes=15)
    assert recall(distances, exact(query, database, 20)) == 1.0
    of_ids = np.take_along_axis(by_definition(query, database), ids, axis=1)
    assert of_ids.tolist() == distances.tolist()
    assert all(len(set(row)) == 20 and 0 <= min(row) <= max(row) < len(database) for row in ids.tolist())


@together("bits", [12, 32, 64, 100])
def test_with_all_lists_it_finds_what_exhaustive_search_finds(bits: int) -> None:
    rng = np.random.default_rng(bits)
    query, database = (pack(rng.integers(0, 2, (n, bits), np.uint8)) for n in (300, 500))
    _, distances = InvertedFile(database, make_lists(database)).search(query, 25, probes=22)
    assert distances.tolist() == exact(query, database, 25).tolist()


def test_a_query_looks_only_into_the_lists_it_probes() -> None:
    """The lists are made by hand: the item nearest to the query is in the other list, and one probe misses it."""
    database = pack(np.array([[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1], [0, 0, 0, 0]], np.uint8))
    centroids = pack(np.array([[0, 0, 0, 0], [1, 1, 1, 1]], np.uint8))
    lists = Lists(centroids, np.array([1, 0, 1, 0], np.int32), codes_sha256(database))
    searched = InvertedFile(database, lists)
    query = pack(np.zeros((1, 4), np.uint8))
    assert [array.tolist() for array in searched.search(query, 2, probes=1)] == [[[3, 1]], [[0, 1]]]
    assert [array.tolist() for array in searched.search(query, 2, probes=2)] == [[[0, 3]], [[0, 0]]]


def test_a_query_looks_into_more_lists_until_it_has_enough_items() -> None:
    query, database = planted(64)
    ids, distances = InvertedFile(database, make_lists(database, 30)).search(query, len(database), probes=1)
    assert np.sort(ids, axis=1).tolist() == [list(range(len(database)))] * len(query)
    assert distances.tolist() == np.sort(by_definition(query, database), axis=1).tolist()


def test_equal_distances_are_in_order_of_ids() -> None:
    database = pack(np.zeros((50, 8), np.uint8))
    ids, _ = InvertedFile(database, make_lists(database, 1)).search(database[:1], 50, probes=1)
    assert ids.tolist() == [list(range(50))]


def test_recall_counts_by_distance() -> None:
    """Of the items tied at the last distance, any will do."""
    near = np.array([[0, 1, 1], [2, 2, 2]])
    assert recall(near, near) == 1.0
    assert recall(np.array([[0, 1, 2], [2, 3, 3]]), near) == 0.5


def test_the_number_of_lists_is_the_root_of_the_number_of_items_or_the_given_one() -> None:
    _, database = planted(32)
    assert len(make_lists(database)) == 35
    assert len(make_lists(database, 4)) == 4
    with pytest.raises(HashbenchError, match=r"^--lists 1201: the database has 1200 items: as many lists at most$"):
        make_lists(database, 1201)


@together(("top", "probes", "bits"), [(0, 1, 32), (1201, 1, 32), (1, 0, 32), (1, 36, 32), (1, 1, 33)])
def test_what_is_no_question_is_refused(top: int, probes: int, bits: int) -> None:
    _, database = planted(32)
    query = pack(np.zeros((1, bits), np.uint8))
    with pytest.raises(HashbenchError, match="32 bits, a top of 1 to 1200 and 1 to 35 probes are expected"):
        InvertedFile(database, make_lists(database)).search(query, top, probes)


@pytest.fixture
def kept(tmp_path: Path) -> tuple[Path, Codes]:
    _, database = planted(64)
    search.save(make_lists(database, 9), tmp_path / "lists.npz")
    return tmp_path / "lists.npz", database


def test_lists_that_were_kept_come_back(kept: tuple[Path, Codes]) -> None:
    path, database = kept
    made = make_lists(database, 9)
    again = search.load(path, database)
    assert again.centroids.words.tolist() == made.centroids.words.tolist()
    assert again.list_of.tolist() == made.list_of.tolist()


def test_lists_of_other_codes_are_refused(kept: tuple[Path, Codes]) -> None:
    path, database = kept
    shorter = Codes(database.words & np.uint64(2**63 - 1), 63)
    for other in (database[1:], shorter):
        with pytest.raises(HashbenchError) as raised:
            search.load(path, other)
        assert str(raised.value) == f"{path}: the lists of other codes than these: name another file to be written"


Arrays = dict[str, np.ndarray]


def changed(name: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {**arrays, name: value(arrays[name])}


@pytest.mark.parametrize(
    "damage",
    [
        changed("list_of", lambda array: array[1:]),
        changed("list_of", lambda array: array + 9),
        changed("list_of", lambda array: array - 1),
        changed("list_of", lambda array: array.astype(float)),
        changed("list_of", lambda array: array.reshape(-1, 1)),
        changed("centroids", lambda array: array[:0]),
        changed("centroids", lambda array: array[:, :0]),
        changed("centroids", lambda array: array.repeat(2, axis=1)),
        changed("centroids", lambda array: array.ravel()),
        changed("centroids", lambda array: array.astype(np.int64)),
        changed("codes_sha256", lambda array: np.array(3)),
        lambda arrays: {name: array for name, array in arrays.items() if name != "centroids"},
    ],
)
def test_a_damaged_file_never_reaches_faiss(damage: Callable[[Arrays], Arrays], kept: tuple[Path, Codes]) -> None:
    path, database = kept
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **damage(arrays))
    with pytest.raises(HashbenchError) as raised:
        search.load(path, database)
    assert str(raised.value) == f"{path}: not lists that hashbench search --index wrote, or damaged: remove it"


def test_a_file_that_faiss_wrote_is_not_read(tmp_path: Path) -> None:
    _, database = planted(64)
    index = faiss.IndexBinaryFlat(64)
    index.add(database.bytes())
    faiss.write_index_binary(index, str(tmp_path / "index.faiss"))
    with pytest.raises(HashbenchError, match=r"index\.faiss: not lists that hashbench search --index wrote"):
        search.load(tmp_path / "index.faiss", database)
