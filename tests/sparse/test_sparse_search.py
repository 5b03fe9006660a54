"""The search against its definition: sets of items, whole squared distances, and a sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sparse_oracles import exhaustive

from hashbench.foundation.errors import HashbenchError
from hashbench.sparse import search
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Index, build
from hashbench.sparse.search import SearchResult, query


def slow_query(
    codes: SparseCodes, items: np.ndarray, activations: np.ndarray, embeddings: np.ndarray, top: int, exclude: int = -1
) -> tuple[list[int], list[float], int, int]:
    """One query, by the definition: buckets in order of activation, their union, distances in whole numbers."""
    stands_in = [set(np.flatnonzero((codes.buckets == bucket).any(axis=1)).tolist()) for bucket in range(codes.d)]
    candidates: set[int] = set()
    n_opened = 0
    for bucket in sorted(range(codes.d), key=lambda bucket: (-activations[bucket], bucket)):
        if n_opened >= codes.k and len(candidates) >= top:
            break
        candidates |= stands_in[bucket] - {exclude}
        n_opened += 1
    squared = {item: int(((items[item] - embeddings) ** 2).sum()) for item in candidates}
    nearest = sorted(candidates, key=lambda item: (squared[item], item))[:top]
    return nearest, [squared[item] ** 0.5 for item in nearest], len(candidates), n_opened


def require_slow(found: SearchResult, slow: list[tuple[list[int], list[float], int, int]]) -> None:
    ids, distances, n_candidates, n_opened = zip(*slow, strict=True)
    assert found.ids.tolist() == list(ids)
    assert found.distances.tolist() == list(distances)
    assert found.n_candidates.tolist() == list(n_candidates)
    assert found.n_opened.tolist() == list(n_opened)


def draw(seed: int, n: int, d: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Activations with ties, and embeddings of few whole numbers, so that distances tie too."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, (n, d)).astype(float), rng.integers(-1, 2, (n, width)).astype(float)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 40), st.data())
def test_a_search_is_its_definition(seed: int, k: int, n: int, data: st.DataObject) -> None:
    d, width = data.draw(st.integers(k, 9)), data.draw(st.integers(1, 6))
    top = data.draw(st.integers(1, n))
    (items_in, items), (asked_in, asked) = draw(seed, n, d, width), draw(seed + 1, 5, d, width)
    codes = top_k(items_in, k)
    slow = [slow_query(codes, items, *each, top) for each in zip(asked_in, asked, strict=True)]
    require_slow(query(build(codes, items), asked_in, asked, top, workers=2), slow)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 40), st.data())
def test_items_that_ask_do_not_find_themselves(seed: int, k: int, n: int, data: st.DataObject) -> None:
    top = data.draw(st.integers(1, n - 1))
    activations, items = draw(seed, n, 6, 3)
    codes, itself = top_k(activations, k), np.arange(n)
    slow = [slow_query(codes, items, activations[i], items[i], top, exclude=i) for i in range(n)]
    found = query(build(codes, items), activations, items, top, exclude=itself)
    require_slow(found, slow)
    assert not (found.ids == itself[:, None]).any()


def test_empty_buckets_are_passed_over() -> None:
    index = build(SparseCodes(np.array([[4], [4], [1]]), d=6), np.array([[0.0], [5.0], [9.0]]))
    activations = np.array([[9.0, 5.0, 8.0, 7.0, 6.0, 0.0]])  # 0, 2 and 3 are empty, then 4, then 1
    found = query(index, activations, np.array([[10.0]]), top=1)
    assert (found.ids.tolist(), found.n_candidates.tolist(), found.n_opened.tolist()) == ([[1]], [2], [4])
    found = query(index, activations, np.array([[10.0]]), top=3)
    assert (found.ids.tolist(), found.n_candidates.tolist(), found.n_opened.tolist()) == ([[2, 1, 0]], [3], [5])


def clustered(n: int, d: int, k: int, width: int) -> tuple[Index, np.ndarray, np.ndarray, np.ndarray]:
    """An index of float32 clusters far from the origin, where products in float32 lose most of their digits."""
    rng = np.random.default_rng(7)
    centres = 1000 + rng.standard_normal((d, width))
    buckets = np.sort(np.argsort(rng.random((n + 60, d)), axis=1)[:, :k], axis=1)
    rows = (centres[buckets[:, 0]] + 1e-2 * rng.standard_normal((n + 60, width))).astype(np.float32)
    activations = np.zeros((60, d))
    np.put_along_axis(activations, buckets[n:], 1.0 + rng.random((60, k)), axis=1)
    return build(SparseCodes(buckets[:n], d), rows[:n]), rows[:n], activations, rows[n:]


@pytest.mark.parametrize("k", [1, 3])
def test_rounding_of_products_changes_nothing(k: int) -> None:
    index, items, activations, asked = clustered(3000, 12, k, 48)
    found = query(index, activations, asked, top=20)
    for q in range(len(asked)):
        opened = np.argsort(-activations[q], kind="stable")[: found.n_opened[q]]
        candidates = np.flatnonzero(np.isin(index.codes.buckets, opened).any(axis=1))
        squared = ((items[candidates].astype(np.float64) - asked[q].astype(np.float64)) ** 2).sum(axis=1)
        nearest = np.lexsort((candidates, squared))[:20]
        assert found.ids[q].tolist() == candidates[nearest].tolist()
        assert found.distances[q] == pytest.approx(np.sqrt(squared[nearest]), rel=1e-12)
        assert found.n_candidates[q] == len(candidates)


def test_cuts_and_workers_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    index, items, activations, asked = clustered(500, 5, 2, 8)
    whole = query(index, activations, asked, top=7, workers=1)
    for name, value in {
        "QUERY_BLOCK": 3,
        "FEW_QUERIES": 2,
        "PRODUCT_VALUES": 64,
        "LEAST_ITEMS": 16,
        "PLACES": 100,
    }.items():
        monkeypatch.setattr(search, name, value)
    for workers in (1, 3):
        cut = query(index, activations, asked, top=7, workers=workers)
        assert all(np.array_equal(*pair) for pair in zip(whole, cut, strict=True))
    alone = [query(index, activations[q : q + 1], asked[q : q + 1], top=7) for q in range(len(asked))]
    assert all(np.array_equal(whole[part], np.concatenate([one[part] for one in alone])) for part in range(4))
    assert np.array_equal(exhaustive(items, asked, 7).ids, exhaustive(items, asked, 7, workers=3).ids)


def test_all_buckets_together_are_the_exhaustive_search() -> None:
    index, items, activations, asked = clustered(400, 6, 2, 8)
    everything, found = exhaustive(items, asked, 400), query(index, activations, asked, 400)
    assert np.array_equal(found.ids, everything.ids)
    assert np.array_equal(found.distances, everything.distances)
    assert (found.n_candidates == 400).all()


def test_a_search_leaves_the_blas_its_threads() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    index, _, activations, asked = clustered(50, 4, 1, 2)
    with threadpool_limits(limits=2, user_api="blas"):
        query(index, activations, asked, top=1)
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {2}


def test_no_query_finds_nothing() -> None:
    index, *_ = clustered(50, 4, 1, 2)
    found = query(index, np.zeros((0, 4)), np.zeros((0, 2)), top=3)
    assert [part.shape for part in found] == [(0, 3), (0, 3), (0,), (0,)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activations": np.zeros((2, 5))}, "activations of shape (2, 5): the index has 4 buckets"),
        ({"activations": np.full((2, 4), np.nan)}, "activations: not finite"),
        ({"embeddings": np.zeros((2, 3))}, "the embeddings in the index have width 2"),
        ({"embeddings": np.zeros((3, 2))}, "2 queries: [2, 2] is expected"),
        ({"embeddings": np.full((2, 2), np.inf)}, "embeddings: not finite"),
        ({"top": 0}, "top 0: a query can find 1 to 50 items"),
        ({"top": 51}, "top 51"),
        ({"top": 50, "exclude": np.array([0, -1])}, "1 to 49 items"),
        ({"exclude": np.array([0])}, "exclude: an item of 0 .. 49"),
        ({"exclude": np.array([0, 50])}, "exclude: an item of 0 .. 49"),
        ({"exclude": np.array([0.0, 1.0])}, "exclude: an item of 0 .. 49"),
    ],
)
def test_bad_queries_are_one_line(changes: dict[str, object], message: str) -> None:
    index, *_ = clustered(50, 4, 1, 2)
    asked = {"activations": np.ones((2, 4)), "embeddings": np.zeros((2, 2)), "top": 3, "exclude": None, **changes}
    with pytest.raises(HashbenchError) as caught:
        query(index, **asked)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
