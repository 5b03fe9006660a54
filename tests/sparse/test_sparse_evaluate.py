"""The evaluation of sparse codes against its definition, one query and one item at a time, and what it must satisfy."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import oracles, sparse_oracles

from hashbench import histogram, metrics
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram.retrieval import CUTOFFS, Retrieval
from hashbench.metrics import Metrics
from hashbench.relevance.labels import ClassRelevance
from hashbench.sparse import search
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.evaluate import as_hamming, contingency, evaluate
from hashbench.sparse.index import build

Rows = list[list[int]]


def slow_search(
    buckets: Rows | None, embeddings: Rows, activations: list[int], embedding: list[int], k: int, most: int, own: int
) -> tuple[list[int], int]:
    """The items found, nearest first, and the number of candidates: by the definition, for one query."""
    others = [item for item in range(len(embeddings)) if item != own]
    candidates = others if buckets is None else []
    order = sorted(range(len(activations)), key=lambda bucket: (-activations[bucket], bucket))
    opened: set[int] = set()
    while buckets is not None and (len(opened) < k or len(candidates) < most):
        opened.add(order[len(opened)])
        candidates = [item for item in others if opened & set(buckets[item])]
    squared = {item: sum((a - b) ** 2 for a, b in zip(embeddings[item], embedding, strict=True)) for item in candidates}
    return sorted(candidates, key=lambda item: (squared[item], item))[:most], len(candidates)


def shares(one: object, other: object) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return any(a and b for a, b in zip(one, other, strict=True))
    return one == other and one >= 0  # type: ignore[operator]


class Drawn:
    """Items and queries with few different activations, embeddings and labels, so that everything ties."""

    def __init__(self, seed: int, *, itself: bool, exhaustive: bool, multi_hot: bool) -> None:
        rng = np.random.default_rng(seed)
        n, q, width = int(rng.integers(2, 40)), int(rng.integers(1, 6)), int(rng.integers(1, 4))
        self.d, self.itself = int(rng.integers(1, 12)), itself
        self.k = int(rng.integers(1, self.d + 1))
        n_rows = n if itself else n + q
        activations = rng.integers(0, 4, (n_rows, self.d)).astype(float)
        embeddings = rng.integers(-1, 2, (n_rows, width)).astype(float)
        labels = rng.integers(0, 2, (n_rows, 3)) if multi_hot else rng.integers(-1, 3, n_rows)
        self.items, self.asked = slice(0, n), slice(0, n) if itself else slice(n, None)
        self.activations, self.embeddings, self.labels = activations, embeddings, labels
        self.codes = None if exhaustive else top_k(activations[self.items], self.k)

    def evaluated(self) -> Retrieval:
        asked = self.activations[self.asked], self.embeddings[self.asked], self.labels[self.asked]
        items = self.codes, self.embeddings[self.items], self.labels[self.items]
        return evaluate(*items, *asked, itself=self.itself, workers=2)

    def slow(self, cutoff: int) -> tuple[list[list[bool]], list[int]]:
        """What is relevant of what each query finds, and how many candidates it has."""
        buckets = None if self.codes is None else self.codes.buckets.tolist()
        embeddings, labels = self.embeddings[self.items].astype(int).tolist(), self.labels[self.items].tolist()
        relevant, n_candidates = [], []
        for q, (activations, embedding, label) in enumerate(
            zip(
                self.activations[self.asked], self.embeddings[self.asked], self.labels[self.asked].tolist(), strict=True
            )
        ):
            own, most = (q, len(labels) - 1) if self.itself else (-1, len(labels))
            asked = list(map(int, activations)), list(map(int, embedding))
            found, n = slow_search(buckets, embeddings, *asked, self.k, min(cutoff, most), own)
            relevant.append([shares(label, labels[item]) for item in found])
            n_candidates.append(n)
        return relevant, n_candidates


@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.booleans())
def test_a_retrieval_is_its_definition(seed: int, itself: bool, exhaustive: bool, multi_hot: bool) -> None:
    drawn = Drawn(seed, itself=itself, exhaustive=exhaustive, multi_hot=multi_hot)
    found = drawn.evaluated()
    assert found.n_items == len(drawn.labels[drawn.items]) - itself
    for cutoff in CUTOFFS:
        relevant, n_candidates = drawn.slow(cutoff)
        assert found.reranked[cutoff].relevant.tolist() == relevant
        assert found.reranked[cutoff].n_candidates.tolist() == n_candidates


@given(st.integers(0, 10**6), st.booleans())
def test_metrics_are_those_of_the_definition(seed: int, itself: bool) -> None:
    drawn = Drawn(seed, itself=itself, exhaustive=False, multi_hot=False)
    found = drawn.evaluated()
    names = ["suf", "suf@4", "suf@16", "rerank_precision@1", "rerank_precision@4", "rerank_precision@16"]
    values = metrics.mean_values(found, Metrics.parse(names, Retrieval))
    assert list(values) == names
    for cutoff in CUTOFFS:
        relevant, n_candidates = drawn.slow(cutoff)
        suf = Fraction(found.n_items * len(n_candidates), sum(n_candidates))
        assert values["suf" if cutoff == 1 else f"suf@{cutoff}"].mean == pytest.approx(float(suf), rel=1e-15)
        precisions = [Fraction(sum(each), len(each)) for each in relevant]
        truth = sum(precisions) / len(precisions)
        assert values[f"rerank_precision@{cutoff}"].mean == pytest.approx(float(truth), rel=1e-14)


@given(st.integers(0, 10**6), st.booleans())
def test_exhaustive_search_has_no_speed_up_and_the_best_order(seed: int, itself: bool) -> None:
    drawn = Drawn(seed, itself=itself, exhaustive=True, multi_hot=False)
    found = drawn.evaluated()
    names = ["suf", "suf@4", "suf@16"]
    assert [value.mean for value in metrics.mean_values(found, Metrics.parse(names, Retrieval)).values()] == [
        1,
        1,
        1,
    ]
    assert found.contingency is None
    # one bucket that holds everything is the same search
    drawn.codes = SparseCodes(np.zeros((len(drawn.labels[drawn.items]), 1), int), 1)
    drawn.activations = drawn.activations[:, :1]
    everything = drawn.evaluated()
    for cutoff in CUTOFFS:
        assert np.array_equal(found.reranked[cutoff].relevant, everything.reranked[cutoff].relevant)


def wide(k: int) -> Drawn:
    """A larger draw, of which some queries open further buckets for 4 items or for 16, and some do not."""
    drawn = Drawn(0, itself=True, exhaustive=False, multi_hot=False)
    rng = np.random.default_rng(1)
    drawn.d, drawn.k, drawn.items, drawn.asked = 40 * k**2, k, slice(0, 400), slice(0, 400)
    drawn.activations = rng.standard_normal((400, drawn.d)) * np.linspace(0.2, 2, drawn.d)
    drawn.embeddings, drawn.labels = rng.standard_normal((400, 5)), rng.integers(0, 5, 400)
    drawn.codes = top_k(drawn.activations, k)
    return drawn


@pytest.mark.parametrize("k", [1, 2])
def test_one_wide_search_and_what_it_leaves_is_three_searches(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.sparse import evaluate as retrieval_module

    drawn, asked = wide(k), []

    def counting(index: object, activations: np.ndarray, *others: object, **how: object) -> search.SearchResult:
        asked.append(len(activations))
        return search.query(index, activations, *others, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(retrieval_module, "query", counting)
    found = drawn.evaluated()
    assert len(asked) == 3
    assert 0 < asked[2] < asked[1] < asked[0] == 400
    index = build(drawn.codes, drawn.embeddings)
    for cutoff in CUTOFFS:
        own = np.arange(400)
        alone = search.query(index, drawn.activations, drawn.embeddings, cutoff, exclude=own)
        assert np.array_equal(found.reranked[cutoff].n_candidates, alone.n_candidates)
        same_class = drawn.labels[alone.ids] == drawn.labels[:, None]
        assert np.array_equal(found.reranked[cutoff].relevant, same_class)
    assert len({tuple(found.reranked[cutoff].n_candidates.tolist()) for cutoff in CUTOFFS}) == 3


def test_workers_do_not_show() -> None:
    drawn = wide(2)
    part = drawn.activations, drawn.embeddings, drawn.labels
    arrays = drawn.codes, drawn.embeddings, drawn.labels, *part
    one, three = (evaluate(*arrays, itself=True, workers=workers) for workers in (1, 3))
    assert one.sha256() == three.sha256()


def test_a_small_set_asks_for_all_there_is() -> None:
    labels = np.array([0, 0, 1])
    found = evaluate(None, np.eye(3), labels, None, np.eye(3), labels, itself=True)
    assert {cutoff: each.relevant.shape for cutoff, each in found.reranked.items()} == {
        1: (3, 1),
        4: (3, 2),
        16: (3, 2),
    }
    assert metrics.mean_values(found, Metrics.parse(["rerank_precision@16"], Retrieval))[
        "rerank_precision@16"
    ].mean == pytest.approx(1 / 3)


def test_no_query_is_no_error() -> None:
    nothing = np.zeros((0, 2)), np.zeros((0, 1)), np.zeros(0, int)
    items = SparseCodes(np.array([[0], [1]]), 2), np.zeros((2, 1)), np.array([3, 4])
    values = metrics.mean_values(
        evaluate(*items, *nothing, itself=False), Metrics.parse(["suf", "rerank_precision@1", "nmi"], Retrieval)
    )
    assert [value.mean for value in values.values()] == [None, None, 1.0]
    assert {value.n_queries for value in values.values()} == {0}


@given(st.integers(0, 10**6))
def test_the_contingency_counts_bucket_and_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    codes, labels = SparseCodes(rng.integers(0, d, (n, 1)), d), rng.choice([-1, 2, 5, 10**12], n)
    counts = contingency(codes, labels)
    classes = sorted(set(labels.tolist()) - {-1})
    assert (counts is None) == (not classes)
    if counts is not None:
        at = list(zip(codes.buckets[:, 0].tolist(), labels.tolist(), strict=True))
        assert counts.tolist() == [[at.count((bucket, label)) for label in classes] for bucket in range(d)]


def test_several_buckets_or_labels_have_no_contingency() -> None:
    one, two = (SparseCodes(np.zeros((2, 1), int), 3), SparseCodes(np.array([[0, 1], [1, 2]]), 3))
    assert contingency(two, np.array([0, 1])) is None
    assert contingency(one, np.array([[0, 1], [1, 0]])) is None
    assert contingency(one, np.array([-1, -3])) is None


ITEMS: dict[str, object] = {
    "codes": SparseCodes(np.array([[0], [1], [1]]), 2),
    "embeddings": np.zeros((3, 4)),
    "labels": np.array([0, 1, 1]),
    "query_activations": np.zeros((2, 2)),
    "query_embeddings": np.zeros((2, 4)),
    "query_labels": np.array([0, 1]),
    "itself": False,
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"query_activations": np.zeros((2, 3))}, "activations of shape (2, 3): [2, 2] is expected"),
        ({"query_activations": np.zeros((1, 2))}, "activations of shape (1, 2): [2, 2] is expected"),
        ({"query_activations": None}, "query activations none: [2, 2] is expected"),
        ({"query_activations": np.full((2, 2), np.nan)}, "activations: not finite"),
        ({"query_embeddings": np.zeros((2, 3))}, "the embeddings in the index have width 4"),
        ({"query_embeddings": np.full((2, 4), np.inf)}, "embeddings: not finite"),
        ({"embeddings": np.zeros((2, 4)), "labels": np.array([0, 1])}, "one row [m] for each code"),
        ({"labels": np.array([0, 1])}, "labels of 2 queries and 2 items, embeddings of 2 and 3: rows must match"),
        ({"query_labels": np.array([0])}, "rows must match"),
        ({"query_labels": np.array([[0, 1], [1, 1]])}, "both must be class ids [n] or both multi-hot"),
        ({"itself": True}, "2 queries, 3 items: items that search each other are as many"),
        ({"embeddings": np.zeros((0, 4)), "labels": np.zeros(0, int)}, "0 items: nothing is there to be found"),
    ],
)
def test_bad_input_is_one_line(changes: dict[str, object], message: str) -> None:
    with pytest.raises(HashbenchError) as caught:
        evaluate(**{**ITEMS, **changes})  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_item_finds_nothing_but_itself() -> None:
    one = np.zeros((1, 1)), np.array([0])
    with pytest.raises(HashbenchError, match="besides the query itself"):
        evaluate(None, *one, None, *one, itself=True)


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 63, 64, 65, 130]))
def test_binary_codes_have_the_same_bits(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    codes = top_k(rng.standard_normal((int(rng.integers(0, 9)), d)), int(rng.integers(1, d + 1)))
    assert np.array_equal(as_hamming(codes).bits(), sparse_oracles.bits(codes))


def test_more_bits_than_binary_codes_have_are_refused() -> None:
    with pytest.raises(HashbenchError, match="sparse codes of 4097 buckets: as binary codes they can have 4096 bits"):
        as_hamming(SparseCodes(np.zeros((1, 1), int), 4097))


def test_items_against_each_other_are_scored_without_themselves() -> None:
    rng = np.random.default_rng(2)
    codes, labels = top_k(rng.standard_normal((30, 9)), 2), rng.integers(0, 3, 30)
    own, same = as_hamming(codes), ClassRelevance(labels, labels)
    found = histogram.without_itself(histogram.count(own, own, same), same)
    bits = sparse_oracles.bits(codes).astype(int)
    for q in range(30):
        others = [item for item in range(30) if item != q]
        distances = [int((bits[q] != bits[item]).sum()) for item in others]
        levels = [int(labels[q] == labels[item]) for item in others]
        one = oracles.histogram(distances, levels, 9, 2)
        assert np.array_equal(found.counts[q], one.counts[0])
