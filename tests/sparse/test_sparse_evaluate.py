"""The evaluation of sparse codes against searches one by one, which have an oracle of their own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support import sparse_oracles
from support.one_line import one_line

from hashbench.learning.sparse.codes import SparseCodes, top_k
from hashbench.learning.sparse.evaluate import as_hamming, contingency, evaluate
from hashbench.learning.sparse.index import build
from hashbench.learning.sparse.search import query
from hashbench.scoring.histogram.retrieval import CUTOFFS


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans())
def test_a_retrieval_is_three_searches(seed: int, itself: bool, exhaustive: bool, multi_hot: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 200))
    d = int(rng.integers(1, 40))
    n_queries = n if itself else 6
    activations = rng.integers(0, 4, (n + 6, d)).astype(float)
    embeddings = rng.integers(-1, 2, (n + 6, 3)).astype(float)
    labels = rng.integers(0, 2, (n + 6, 3)) if multi_hot else rng.integers(-1, 3, n + 6)
    queries = slice(0, n) if itself else slice(n, None)
    codes = top_k(activations[:n], int(rng.integers(1, d + 1)))
    items = codes, embeddings[:n], labels[:n]
    if exhaustive:
        items = None, *items[1:]  # type: ignore[assignment]
        codes = SparseCodes(np.zeros((n, 1), int), 1)
        activations = activations[:, :1]
    query_labels = labels[queries]
    actual = evaluate(*items, activations[queries], embeddings[queries], query_labels, itself=itself, workers=2)
    assert actual.n_items == n - itself
    exclude = np.arange(n) if itself else np.full(n_queries, -1)
    for cutoff in CUTOFFS:
        index = build(codes, embeddings[:n])
        top = min(cutoff, n - itself)
        expected = query(index, activations[queries], embeddings[queries], top, exclude=exclude)
        assert actual.reranked[cutoff].n_candidates.tolist() == expected.n_candidates.tolist()
        relevant = [[shares(query_labels[q], labels[item]) for item in expected.ids[q]] for q in range(n_queries)]
        assert actual.reranked[cutoff].relevant.tolist() == relevant


def shares(one: np.ndarray, other: np.ndarray) -> bool:
    if one.ndim:
        return bool((one & other).any())
    return bool(one == other and one >= 0)


@given(st.integers(0, 10**6))
def test_the_contingency_counts_bucket_and_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    d = int(rng.integers(1, 6))
    codes = SparseCodes(rng.integers(0, d, (n, 1)), d)
    labels = rng.choice([-1, 2, 5, 10**12], n)
    counts = contingency(codes, labels)
    classes = sorted(set(labels.tolist()) - {-1})
    assert (counts is None) == (not classes)
    if counts is not None:
        at = list(zip(codes.buckets[:, 0].tolist(), labels.tolist(), strict=True))
        assert counts.tolist() == [[at.count((bucket, label)) for label in classes] for bucket in range(d)]


def test_several_buckets_or_labels_have_no_contingency() -> None:
    assert contingency(SparseCodes(np.array([[0, 1], [1, 2]]), 3), np.array([0, 1])) is None
    assert contingency(SparseCodes(np.zeros((2, 1), int), 3), np.array([[0, 1], [1, 0]])) is None


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 63, 64, 65, 130]))
def test_binary_codes_have_the_same_bits(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    codes = top_k(rng.standard_normal((int(rng.integers(0, 9)), d)), int(rng.integers(1, d + 1)))
    assert np.array_equal(as_hamming(codes).bits(), sparse_oracles.bits(codes))


def test_more_bits_than_binary_codes_have_are_refused() -> None:
    with one_line("codes: 4097 bits; 1 to 4096 are possible"):
        as_hamming(SparseCodes(np.zeros((1, 1), int), 4097))
