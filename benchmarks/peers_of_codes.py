"""Recall@10 of hashbench's codes beside that of the libraries that make the same codes, on the same vectors.

Run `python benchmarks/peers_of_codes.py [--items 5000] [--features 384] [--queries 200] [--seeds 5] [--metric l2|ip]`.
Vectors are drawn around random centres and divided by their norm. Recall is the share of the 10 nearest items by floats
that are among the 10 nearest by codes, the mean over all orders of ties for codes of hashbench; a library has its own
order. A library that is not installed is skipped: faiss-cpu, rabitqlib and sentence-transformers are looked for.
"""

# ruff: noqa: PLC0415 (a library is imported where its codes are made)

import argparse
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.contract import ItemRows, SearchItems, TrainingData
from hashbench.foundation.config import Setting
from hashbench.histogram.ranking import Distances, hamming, weighted_hamming
from hashbench.methods import METHODS
from hashbench.runs.run import Run

K = 10
Vectors = NDArray[np.float32]
Peer = Callable[[int], NDArray[np.int64]]  # from a seed to the 10 nearest items of each query


class Comparison:
    """The vectors, their nearest items, and the recall of codes of hashbench and of others."""

    def __init__(
        self, n_items: int, n_features: int, n_queries: int, n_seeds: int, metric: Literal["l2", "ip"]
    ) -> None:
        random = np.random.default_rng(0)
        n = n_items + n_queries
        centres = random.standard_normal((50, n_features))
        scale = np.linspace(1.5, 0.5, n_features)  # features of unlike variances, as embeddings have
        vectors = (centres[random.integers(0, 50, n)] + 1.2 * random.standard_normal((n, n_features))) * scale + 0.3
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.items, self.queries = vectors[:n_items].astype(np.float32), vectors[n_items:].astype(np.float32)
        self.metric: Literal["l2", "ip"] = metric
        self.n_seeds = n_seeds
        self.true = np.argsort(-self.queries @ self.items.T, axis=1)[:, :K]

    def recall(self, found: NDArray[np.int64]) -> float:
        """The recall of the items [q, 10] that a library found."""
        return float(np.mean([len(set(row) & set(true)) / K for row, true in zip(found, self.true, strict=True)]))

    def expected_recall(self, distances: Distances) -> float:
        """The recall of the items that are nearest by ``distances``, the mean over all orders of ties at the tenth."""
        total = 0.0
        for row, true in enumerate(self.true):
            distance = distances(slice(row, row + 1))[0]
            last = np.partition(distance, K - 1)[K - 1]
            n_nearer, n_tied = (distance < last).sum(), (distance == last).sum()
            of_true = distance[true]
            total += (of_true < last).sum() + (of_true == last).sum() * (K - n_nearer) / n_tied
        return float(total / K / len(self.true))

    def ours(self, method: str, bits: int, given: dict[str, Setting], seed: int, *, asymmetric: bool) -> float:
        """The recall of the codes of a method of hashbench, fitted to all items."""
        settings = Run.resolve("digits", "s1", method, {"bits": bits, **given}).settings
        with tempfile.TemporaryDirectory() as folder:
            labels = np.zeros(len(self.items), np.int64)
            data = TrainingData(self.items, labels, 1.0, seed, Path(folder), metric=self.metric)
            hasher: Any = METHODS.get(method).fit(settings, data)
        both = np.concatenate([self.queries, self.items])
        ids = np.split(np.arange(len(both)), [len(self.queries)])
        output = hasher.output(SearchItems("drawn", *(ItemRows(both, rows) for rows in ids)))
        if METHODS.get(method).group == "quantisation":
            return self.expected_recall(output.distances)
        if asymmetric:
            weights = np.abs(hasher.encode(self.queries))
            return self.expected_recall(weighted_hamming(output.query, output.database, weights))
        return self.expected_recall(hamming(output.query, output.database))

    def compare(
        self, name: str, method: str, bits: int, peer: Peer, *, asymmetric: bool = False, **given: Setting
    ) -> None:
        """Prints one row: the means over seeds, their deviations, and the difference of the means."""
        try:
            theirs = np.array([self.recall(peer(seed)) for seed in range(self.n_seeds)])
        except ImportError as missing:
            print(f"{name:<44} skipped: {missing.name} is not installed", flush=True)
            return
        ours = np.array([self.ours(method, bits, given, seed, asymmetric=asymmetric) for seed in range(self.n_seeds)])
        shown = "  ".join(f"{of.mean():.4f} +- {of.std():.4f}" for of in (ours, theirs))
        print(f"{name:<44} {bits:>5}  {shown}  {ours.mean() - theirs.mean():+.4f}", flush=True)


def turned(compared: Comparison, seed: int) -> tuple[Vectors, Vectors]:
    """The items and the queries after a random rotation."""
    n_features = compared.items.shape[1]
    rotation = np.linalg.qr(np.random.default_rng(1000 + seed).standard_normal((n_features, n_features)))[0]
    return tuple((each @ rotation).astype(np.float32) for each in (compared.items, compared.queries))  # type: ignore


def faiss_metric(compared: Comparison) -> int:
    """The number of the metric in faiss."""
    import faiss

    return int(faiss.METRIC_INNER_PRODUCT if compared.metric == "ip" else faiss.METRIC_L2)


def faiss_index(compared: Comparison, factory: str) -> Peer:
    """The index that a text of faiss describes; of PQ and OPQ with another seed of k-means each time."""

    def found(seed: int) -> NDArray[np.int64]:
        import faiss

        index = faiss.index_factory(compared.items.shape[1], factory, faiss_metric(compared))
        inner = faiss.downcast_index(index.index) if factory.startswith("OPQ") else index
        if "PQ" in factory:
            inner.pq.cp.seed = 1234 + seed
        index.train(compared.items)
        index.add(compared.items)
        return np.asarray(index.search(compared.queries, K)[1])

    return found


def faiss_rabitq(compared: Comparison, bits: int, query_bits: int) -> Peer:
    """IndexRaBitQ of vectors that are turned before."""

    def found(seed: int) -> NDArray[np.int64]:
        import faiss

        items, queries = turned(compared, seed)
        index = faiss.IndexRaBitQ(items.shape[1], faiss_metric(compared), bits)
        index.qb = query_bits
        index.train(items)
        index.add(items)
        return np.asarray(index.search(queries, K)[1])

    return found


def faiss_turboquant(compared: Comparison, bits: int) -> Peer:
    """IndexScalarQuantizer of vectors of norm 1 that are turned before."""

    def found(seed: int) -> NDArray[np.int64]:
        import faiss

        items, queries = turned(compared, seed)
        kind = getattr(faiss.ScalarQuantizer, f"QT_{bits}bit_tqmse")
        index = faiss.IndexScalarQuantizer(items.shape[1], kind, faiss_metric(compared))
        index.train(items)
        index.add(items)
        return np.asarray(index.search(queries, K)[1])

    return found


def rabitqlib_ivf(compared: Comparison, bits: int) -> Peer:
    """IvfIndex with one cluster, so that every item is estimated; its rotation has no seed."""

    def found(seed: int) -> NDArray[np.int64]:  # noqa: ARG001
        import rabitqlib

        n, n_features = compared.items.shape
        index = rabitqlib.IvfIndex(n_features, n, 1, bits, compared.metric)
        index.build(compared.items, compared.items.mean(axis=0, keepdims=True), np.zeros(n, np.uint32), 1)
        return np.asarray(index.search(compared.queries, K, 1, high_accuracy=True, num_threads=1)[0]).astype(np.int64)

    return found


def sentence_transformers_binary(compared: Comparison, *, rescore: bool) -> Peer:
    """quantize_embeddings and semantic_search_faiss; rescoring there multiplies a query by the bits of all items."""

    @cache
    def of_any_seed() -> NDArray[np.int64]:
        from sentence_transformers.util.quantization import quantize_embeddings, semantic_search_faiss

        codes = quantize_embeddings(compared.items, precision="ubinary")
        n_candidates = len(codes) // K if rescore else 1
        found, _ = semantic_search_faiss(
            compared.queries,
            corpus_embeddings=codes,
            corpus_precision="ubinary",
            top_k=K,
            rescore=rescore,
            rescore_multiplier=n_candidates,
            exact=True,
        )
        return np.array([[hit["corpus_id"] for hit in hits] for hits in found])

    return lambda _: of_any_seed()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--features", type=int, default=384)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--metric", choices=["l2", "ip"], default="l2")
    parser.add_argument("--only", default="", help="only the rows whose name begins so")
    chosen = parser.parse_args()
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    compared = Comparison(chosen.items, chosen.features, chosen.queries, chosen.seeds, chosen.metric)
    d = chosen.features
    print(f"{chosen.items:,} x {d}, {chosen.queries} queries, {chosen.metric}, {chosen.seeds} seeds: recall@{K}")
    print(f"{'code, and the peer':<44} {'bits':>5}  {'hashbench':<17}  {'peer':<17}  difference")
    rows: list[tuple[str, str, int, Peer, dict[str, Setting], bool]] = [
        ("sign: sentence-transformers", "sign", d, sentence_transformers_binary(compared, rescore=False), {}, False),
        (
            "sign, asymmetric: the same, all rescored",
            "sign",
            d,
            sentence_transformers_binary(compared, rescore=True),
            {},
            True,
        ),
    ]
    rows += [
        (
            f"rabitq: IndexRaBitQ of faiss, {bits} bit, qb {q}",
            "rabitq",
            bits * d,
            faiss_rabitq(compared, bits, q),
            {"query_bits": q},
            True,
        )
        for bits, q in ((1, 0), (1, 4), (2, 0), (4, 0))
    ]
    rows += [
        (f"rabitq: IvfIndex of rabitqlib, {bits} bit", "rabitq", bits * d, rabitqlib_ivf(compared, bits), {}, True)
        for bits in (1, 2, 4)
    ]
    rows += [
        (f"turboquant: QT_{bits}bit_tqmse of faiss", "turboquant", bits * d, faiss_turboquant(compared, bits), {}, True)
        for bits in (1, 2, 4, 8)
    ]
    rows += [
        (f"scalar: SQ{bits} of faiss", "scalar", bits * d, faiss_index(compared, f"SQ{bits}"), {"clipped": 0.0}, True)
        for bits in (8, 4)
    ]
    rows += [
        (
            f"{method}: {text}{parts} of faiss",
            method,
            8 * parts,
            faiss_index(compared, f"{text}{parts}{rest}"),
            {"start": "random"} if method == "opq" else {},
            True,
        )
        for parts in (8, 16, 32, 64)
        for method, text, rest in (("pq", "PQ", "np"), ("opq", "OPQ", f",PQ{parts}np"))
    ]
    for name, method, bits, peer, given, asymmetric in rows:
        if name.startswith(chosen.only):
            compared.compare(name, method, bits, peer, asymmetric=asymmetric, **given)


if __name__ == "__main__":
    main()
