"""The search against its definition: sets of items, whole squared distances, and a sort."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.one_line import one_line

from hashbench.learning.sparse import search
from hashbench.learning.sparse.codes import SparseCodes, top_k
from hashbench.learning.sparse.index import Index, build
from hashbench.learning.sparse.search import query


def slow_query(
    codes: SparseCodes, items: np.ndarray, activations: np.ndarray, embeddings: np.ndarray, top: int, exclude: int
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


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 40), st.booleans(), st.data())
def test_a_search_is_its_definition(seed: int, k: int, n: int, itself: bool, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    d = data.draw(st.integers(k, 9))
    top = data.draw(st.integers(1, n - 1))
    # few values, so that activations and distances tie
    activations = rng.integers(0, 4, (2 * n, d)).astype(float)
    embeddings = rng.integers(-1, 2, (2 * n, 3)).astype(float)
    codes = top_k(activations[:n], k)
    queries = slice(0, n) if itself else slice(n, 2 * n)
    exclude = np.arange(n) if itself else np.full(n, -1)
    index = build(codes, embeddings[:n])
    actual = query(index, activations[queries], embeddings[queries], top, exclude=exclude, workers=2)
    for q, result in enumerate(zip(*(part.tolist() for part in actual), strict=True)):
        expected = slow_query(codes, embeddings[:n], activations[queries][q], embeddings[queries][q], top, exclude[q])
        assert result == expected


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
    index, items, activations, embeddings = clustered(3000, 12, k, 48)
    actual = query(index, activations, embeddings, top=20)
    for q in range(len(embeddings)):
        opened = np.argsort(-activations[q], kind="stable")[: actual.n_opened[q]]
        candidates = np.flatnonzero(np.isin(index.codes.buckets, opened).any(axis=1))
        squared = ((items[candidates].astype(np.float64) - embeddings[q].astype(np.float64)) ** 2).sum(axis=1)
        nearest = np.lexsort((candidates, squared))[:20]
        assert actual.ids[q].tolist() == candidates[nearest].tolist()
        assert actual.distances[q] == pytest.approx(np.sqrt(squared[nearest]), rel=1e-12)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    index, _, activations, embeddings = clustered(500, 5, 2, 8)
    whole = query(index, activations, embeddings, top=7, workers=1)
    for name, value in {"QUERY_BLOCK": 3, "PRODUCT_VALUES": 64, "LEAST_ITEMS": 16}.items():
        monkeypatch.setattr(search, name, value)
    in_blocks = query(index, activations, embeddings, top=7, workers=3)
    assert all(np.array_equal(one, other) for one, other in zip(whole, in_blocks, strict=True))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"activations": np.zeros((2, 5))}, "activations of shape (2, 5), "),
        ({"activations": np.full((2, 4), np.nan)}, "activations: not finite"),
        ({"embeddings": np.zeros((2, 3))}, "embeddings of shape (2, 3): [2, 4] and [2, 2] are expected"),
        ({"embeddings": np.full((2, 2), np.inf)}, "embeddings: not finite"),
        ({"top": 0}, "top 0: a query can find 1 to 50 items"),
        ({"top": 50, "exclude": np.array([0, -1])}, "1 to 49 items"),
    ],
)
def test_bad_queries_are_refused(changes: dict[str, object], message: str) -> None:
    index, *_ = clustered(50, 4, 1, 2)
    arguments = {"activations": np.ones((2, 4)), "embeddings": np.zeros((2, 2)), "top": 3, **changes}
    with one_line(text=message):
        query(index, **arguments)  # type: ignore[arg-type]


def test_an_embedding_for_each_code_is_needed() -> None:
    with one_line(r"one row \[m\] for each code"):
        build(SparseCodes(np.zeros((3, 1), int), 1), np.zeros((2, 3)))
