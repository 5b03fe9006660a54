"""The search of an index in shards against that of one index of the same items: equal to the bit."""

import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.foundation.errors import HashbenchError
from hashbench.sparse import search
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Index, Shard, ShardedIndex, build
from hashbench.sparse.search import SearchResult


def in_shards(codes: SparseCodes, embeddings: np.ndarray, cuts: list[int]) -> ShardedIndex:
    """The index of the items, cut before the items ``cuts``."""
    bounds = [0, *sorted(set(cuts)), len(codes)]
    parts = [slice(*pair) for pair in pairwise(bounds)]
    built = [build(SparseCodes(codes.buckets[part], codes.d), embeddings[part]) for part in parts]
    return ShardedIndex(
        tuple(Shard(part.start, each.sizes, lambda each=each: each) for part, each in zip(parts, built, strict=True))
    )


def require_equal(found: SearchResult, whole: SearchResult) -> None:
    for name, array, expected in zip(SearchResult._fields, found, whole, strict=True):
        assert array.dtype == expected.dtype
        assert array.tolist() == expected.tolist(), name


def draw(seed: int, n: int, d: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Activations with ties, the last buckets rare, and embeddings of few values, so that distances tie too."""
    rng = np.random.default_rng(seed)
    activations = rng.integers(0, 4, (n, d)) - np.arange(d) // 3
    return activations.astype(float), rng.integers(-1, 2, (n, width)).astype(float)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 40), st.booleans(), st.data())
def test_shards_find_what_one_index_finds(seed: int, k: int, n: int, exclude: bool, data: st.DataObject) -> None:
    d, width = data.draw(st.integers(k, 12)), data.draw(st.integers(1, 5))
    top = data.draw(st.integers(1, n - 1))
    cuts = data.draw(st.lists(st.integers(1, n - 1), min_size=1, max_size=6))
    (items_in, items), (asked_in, asked) = draw(seed, n, d, width), draw(seed + 1, n, d, width)
    codes = top_k(items_in, k)
    itself = np.arange(n) if exclude else None
    whole = search.query(build(codes, items), asked_in, asked, top, exclude=itself)
    found = search.query(in_shards(codes, items, cuts), asked_in, asked, top, exclude=itself, workers=2)
    require_equal(found, whole)


def real_numbers(n: int = 600) -> tuple[SparseCodes, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    activations, embeddings = rng.standard_normal((n, 40)), rng.standard_normal((n, 19)).astype(np.float32)
    return top_k(activations, 3), embeddings, rng.standard_normal((50, 40)), rng.standard_normal((50, 19))


def test_distances_are_equal_to_the_bit() -> None:
    for top in [1, 20, 90, 600]:
        codes, items, *asked = real_numbers()
        whole = search.query(build(codes, items), *asked, top)
        require_equal(search.query(in_shards(codes, items, [1, 2, 150, 151, 400]), *asked, top), whole)


def test_cuts_and_batches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    codes, items, *asked = real_numbers()
    whole = search.query(build(codes, items), *asked, 200)
    assert (whole.n_opened > 3).sum() > 10  # further buckets, in several batches below
    monkeypatch.setattr(search, "COUNTS", 40 * 7)
    monkeypatch.setattr(search, "QUERY_BLOCK", 2)
    monkeypatch.setattr(search, "PLACES", 700)
    for workers in (1, 3):
        require_equal(search.query(in_shards(codes, items, [99, 300]), *asked, 200, workers=workers), whole)


def test_a_query_opens_further_buckets_by_the_counts_of_all_shards() -> None:
    codes, items = SparseCodes(np.array([[0], [1], [0], [1]]), 3), np.array([[0.0], [1.0], [2.0], [3.0]])
    found = search.query(in_shards(codes, items, [2]), np.array([[3.0, 2.0, 1.0]]), np.array([[9.0]]), 2)
    # each shard has one item in bucket 0, fewer than two; together they have two, so bucket 1 stays closed
    assert (found.ids.tolist(), found.n_opened.tolist(), found.n_candidates.tolist()) == ([[2, 0]], [1], [2])


def test_equal_distances_are_in_the_order_of_the_shards() -> None:
    codes, items = SparseCodes(np.zeros((5, 1), int), 1), np.zeros((5, 2))
    found = search.query(in_shards(codes, items, [1, 3]), np.zeros((1, 1)), np.zeros((1, 2)), 4)
    assert found.ids.tolist() == [[0, 1, 2, 3]]


def test_ids_go_beyond_32_bits() -> None:
    part = build(SparseCodes(np.array([[0], [1]]), 2), np.array([[0.0], [5.0]]))
    far = 3 << 31
    whole = ShardedIndex((Shard(0, part.sizes, lambda: part), Shard(far, part.sizes, lambda: part)))
    asked = np.array([[1.0, 0.0]]), np.array([[1.0]])
    assert search.query(whole, *asked, 4).ids.tolist() == [[0, far, 1, far + 1]]
    assert search.query(whole, *asked, 3, exclude=np.array([far])).ids.tolist() == [[0, 1, far + 1]]


class Counted:
    """An index that is built when it is loaded; it counts the loads, and says which are alive."""

    def __init__(self) -> None:
        self.alive: weakref.WeakSet[Index] = weakref.WeakSet()
        self.most = self.loads = 0

    def load(self, codes: SparseCodes, items: np.ndarray) -> Index:
        index = build(codes, items)
        self.alive.add(index)
        self.loads += 1
        self.most = max(self.most, len(self.alive))
        return index


@pytest.mark.parametrize(("top", "loads"), [(1, 3), (9, 9)])
def test_one_shard_is_in_memory_at_a_time(top: int, loads: int) -> None:
    counted, items = Counted(), np.arange(4.0)[:, None]
    codes = SparseCodes(np.array([[0], [0], [1], [1]]), 2)
    sizes = build(codes, items).sizes
    index = ShardedIndex(tuple(Shard(4 * at, sizes, lambda: counted.load(codes, items)) for at in range(3)))
    search.query(index, np.array([[1.0, 0.0]]), np.array([[0.0]]), top)
    assert (counted.most, counted.loads) == (1, loads)


def test_a_shard_that_is_replaced_meanwhile_is_one_line() -> None:
    codes, items = SparseCodes(np.zeros((5, 1), int), 1), np.zeros((5, 2))
    index = in_shards(codes, items, [2])
    other = ShardedIndex((index.shards[0], Shard(2, index.shards[1].sizes, index.shards[0].load)))
    with pytest.raises(HashbenchError, match="a file was replaced while it was searched"):
        search.query(other, np.zeros((1, 1)), np.zeros((1, 2)), 1)


def test_bad_queries_are_those_of_one_index() -> None:
    codes, items = SparseCodes(np.zeros((5, 1), int), 1), np.zeros((5, 2))
    index = in_shards(codes, items, [2])
    with pytest.raises(HashbenchError, match="top 6: a query can find 1 to 5 items"):
        search.query(index, np.zeros((1, 1)), np.zeros((1, 2)), 6)
    with pytest.raises(HashbenchError, match="the embeddings in the index have width 2"):
        search.query(index, np.zeros((1, 1)), np.zeros((1, 3)), 1)
    with pytest.raises(HashbenchError, match="the index has 1 buckets"):
        search.query(index, np.zeros((1, 2)), np.zeros((1, 2)), 1)
