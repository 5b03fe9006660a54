"""Recall@10 of hashbench's codes beside that of the libraries that make the same codes: one table, of the same vectors.

Run `python benchmarks/peers_of_codes.py [DATASET] [--items 20000] [--queries 500] [--seeds 5] [--metric l2|ip]`. The
vectors are drawn from a data set without labels (wordnet_minilm by default), or, for DATASET drawn, around random
centres. Recall is the share of the 10 nearest items by floats that are among the 10 nearest by codes, the mean over all
orders of ties for codes of hashbench; a library has its own order. The row of neighbours has the share of queries whose
10 nearest are those of faiss.knn. The next rows are hashbench's recall@m beside that of a search that rescores m
candidates, the mean and its standard error over 200 drawn orders of the ties. A library that is not installed is
skipped: faiss-cpu, rabitqlib and sentence-transformers are looked for. Writes
results/benchmarks/peers-of-codes-MACHINE.json. OPQ takes an hour or more: an interruption keeps the rows that are done,
and the same command goes on behind them.
"""

# ruff: noqa: PLC0415 (a library is imported where its codes are made)

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import _record
import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.config import Setting
from hashbench.learning.contract import ItemRows, SearchItems, TrainingData
from hashbench.learning.methods import METHODS
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.neighbours import nearest
from hashbench.running.datasets.store import open_dataset
from hashbench.running.runs.run import Run
from hashbench.scoring.codes import binarize
from hashbench.scoring.evaluation.scorer import score
from hashbench.scoring.histogram.ranking import Distances, hamming, weighted_hamming

K = 10
ORDERS = 200  # of ties that are drawn
RESCORED = 10  # queries at a time: the bits of all candidates of each are int64, 60 MB of 20,000 items
CANDIDATES = (10, 20, 40, 100)
Vectors = NDArray[np.float32]
Ids = NDArray[np.int64]
Peer = Callable[[int], Ids]  # from a seed to the 10 nearest items of each query


@dataclass(frozen=True)
class Compared:
    """A code of hashbench and the library that makes the same one."""

    name: str
    method: str
    bits: int
    peer: Peer
    asymmetric: bool = True
    given: dict[str, Setting] = field(default_factory=dict)
    is_random: bool = True  # whether a seed changes something


class Comparison:
    """The vectors, their nearest items, and the recall of codes of hashbench and of others."""

    def __init__(self, items: Vectors, queries: Vectors, n_seeds: int, metric: Literal["l2", "ip"]) -> None:
        self.items, self.queries, self.n_seeds = items, queries, n_seeds
        self.metric: Literal["l2", "ip"] = metric
        self.true = nearest(queries, items, K, metric)[0]
        self.rows: list[dict[str, Any]] = []

    def recall(self, found: Ids) -> float:
        """The recall of the items [q, 10] that a library found."""
        return float((found[:, :, None] == self.true[:, None]).any(axis=2).mean())

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

    def ours(self, code: Compared, seed: int) -> float:
        """The recall of the codes of a method of hashbench, fitted to all items."""
        settings = Run.resolve("digits", "s1", code.method, {"bits": code.bits, **code.given}).settings
        with tempfile.TemporaryDirectory() as folder:
            labels = np.zeros(len(self.items), np.int64)
            data = TrainingData(self.items, labels, 1.0, seed, Path(folder), metric=self.metric)
            hasher: Any = METHODS.get(code.method).fit(settings, data)
        both = np.concatenate([self.queries, self.items])
        ids = np.split(np.arange(len(both)), [len(self.queries)])
        output = hasher.output(SearchItems("drawn", *(ItemRows(both, rows) for rows in ids)))
        if METHODS.get(code.method).group == "quantisation":
            return self.expected_recall(output.distances)
        if code.asymmetric:
            weights = np.abs(hasher.encode(self.queries))
            return self.expected_recall(weighted_hamming(output.query, output.database, weights))
        return self.expected_recall(hamming(output.query, output.database))

    def compare(self, code: Compared) -> None:
        """Adds and prints one row: the means over seeds, their deviations, and the difference of the means."""
        seeds = range(self.n_seeds if code.is_random else 1)
        try:
            theirs = [self.recall(code.peer(seed)) for seed in seeds]
        except ImportError as missing:
            print(f"{code.name:<44} skipped: {missing.name} is not installed", flush=True)
            return
        self.add(code.name, code.bits, [self.ours(code, seed) for seed in seeds], theirs)

    def add(self, name: str, bits: int, ours: list[float], theirs: list[float]) -> None:
        """Adds and prints one row."""
        means = [float(np.mean(values)) for values in (ours, theirs)]
        deviations = [float(np.std(values)) for values in (ours, theirs)]
        shown = "  ".join(f"{mean:.4f} +- {deviation:.4f}" for mean, deviation in zip(means, deviations, strict=True))
        print(f"{name:<44} {bits:>5}  {shown}  {means[0] - means[1]:+.4f}", flush=True)
        row = {"code": name, "bits": bits, "hashbench": means[0], "hashbench_deviation": deviations[0]}
        row |= {"peer": means[1], "peer_deviation": deviations[1], "difference": means[0] - means[1]}
        self.rows.append({key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()})

    def compare_neighbours(self) -> None:
        """The share of the 10 nearest that faiss.knn finds too: not all, for it ranks by distances in float32."""
        try:
            import faiss
        except ImportError as missing:
            print(f"neighbours: skipped: {missing.name} is not installed", flush=True)
            return
        found = faiss.knn(self.queries, self.items, K, faiss_metric(self))[1]
        self.add("neighbours: faiss.knn", 32 * self.items.shape[1], [1.0], [self.recall(found)])

    def compare_rescoring(self, bits: int) -> None:
        """recall@m of signs beside what rescoring m candidates finds, in drawn orders of the ties.

        The deviation beside the latter is the standard error of the mean over the orders.
        """
        activations = [vectors[:, :bits] for vectors in (self.queries, self.items)]
        names = ",".join(f"recall@{m}" for m in CANDIDATES)
        exact = score(*activations, neighbours=self.true, metrics=names)
        distances = hamming(*map(binarize, activations))
        random = np.random.default_rng(0)
        for m in CANDIDATES:
            drawn = np.zeros(ORDERS)
            for row in range(len(self.queries)):
                drawn += self._rescored(row, distances(slice(row, row + 1))[0], m, random)
            recalls = drawn / len(self.queries)
            self.add(f"recall@{m}: {ORDERS} drawn orders, rescored", bits, [exact[f"recall@{m}"]], [recalls.mean()])
            error = float(recalls.std(ddof=1) / np.sqrt(ORDERS))
            self.rows[-1] |= {"standard_error": round(error, 6)}
            print(f"{'':<50}  {self.rows[-1]['difference'] / max(error, 1e-12):+.1f} standard errors", flush=True)

    def _rescored(self, row: int, distance: NDArray[Any], m: int, random: np.random.Generator) -> NDArray[np.float64]:
        """The recall [orders] of one query whose first ``m`` items by codes are ordered again by the floats."""
        last = np.partition(distance, m - 1)[m - 1]
        nearer, tied = np.flatnonzero(distance < last), np.flatnonzero(distance == last)
        floats = np.full(len(distance), np.inf)
        near = np.concatenate([nearer, tied])
        vectors, query = self.items[near].astype(np.float64), self.queries[row].astype(np.float64)
        floats[near] = -(vectors @ query) if self.metric == "ip" else np.square(vectors - query).sum(axis=1)
        recalls = np.empty(ORDERS)
        for order in range(ORDERS):
            candidates = np.concatenate([nearer, random.choice(tied, m - len(nearer), replace=False)])
            kept = candidates[np.argsort(floats[candidates], kind="stable")[:K]]
            recalls[order] = np.isin(self.true[row], kept).mean()
        return recalls


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

    def found(seed: int) -> Ids:
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

    def found(seed: int) -> Ids:
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

    def found(seed: int) -> Ids:
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

    def found(seed: int) -> Ids:  # noqa: ARG001
        import rabitqlib

        n, n_features = compared.items.shape
        index = rabitqlib.IvfIndex(n_features, n, 1, bits, compared.metric)
        index.build(compared.items, compared.items.mean(axis=0, keepdims=True), np.zeros(n, np.uint32), 1)
        return np.asarray(index.search(compared.queries, K, 1, high_accuracy=True, num_threads=1)[0]).astype(np.int64)

    return found


def sentence_transformers_binary(compared: Comparison, *, rescore: bool) -> Peer:
    """quantize_embeddings and semantic_search_faiss; rescoring there multiplies a query by the bits of all items."""

    @cache
    def of_any_seed() -> Ids:
        from sentence_transformers.util.quantization import quantize_embeddings, semantic_search_faiss

        codes = quantize_embeddings(compared.items, precision="ubinary")
        n_candidates = len(codes) // K if rescore else 1
        nearest_items = []
        for queries in np.array_split(compared.queries, -(-len(compared.queries) // RESCORED)):
            found, _ = semantic_search_faiss(
                queries,
                corpus_embeddings=codes,
                corpus_precision="ubinary",
                top_k=K,
                rescore=rescore,
                rescore_multiplier=n_candidates,
                exact=True,
            )
            nearest_items += [[hit["corpus_id"] for hit in hits] for hits in found]
        return np.array(nearest_items)

    return lambda _: of_any_seed()


def codes(compared: Comparison) -> Iterator[Compared]:
    """The codes that are compared, each with its peer."""
    d = compared.items.shape[1]
    binary = {rescore: sentence_transformers_binary(compared, rescore=rescore) for rescore in (False, True)}
    yield Compared("sign: sentence-transformers", "sign", d, binary[False], asymmetric=False, is_random=False)
    yield Compared("sign, asymmetric: the same, all rescored", "sign", d, binary[True], is_random=False)
    for bits, query_bits in ((1, 0), (1, 4), (2, 0), (4, 0)):
        name = f"rabitq: IndexRaBitQ of faiss, {bits} bit, qb {query_bits}"
        peer = faiss_rabitq(compared, bits, query_bits)
        yield Compared(name, "rabitq", bits * d, peer, given={"query_bits": query_bits})
    for bits in (1, 2, 4):
        name = f"rabitq: IvfIndex of rabitqlib, {bits} bit"
        yield Compared(name, "rabitq", bits * d, rabitqlib_ivf(compared, bits))
    for bits in (1, 2, 4, 8):
        name = f"turboquant: QT_{bits}bit_tqmse of faiss"
        yield Compared(name, "turboquant", bits * d, faiss_turboquant(compared, bits))
    for bits in (8, 4):
        name, peer = f"scalar: SQ{bits} of faiss", faiss_index(compared, f"SQ{bits}")
        yield Compared(name, "scalar", bits * d, peer, given={"clipped": 0.0}, is_random=False)
    for parts in (8, 16, 32, 64):
        yield Compared(f"pq: PQ{parts} of faiss", "pq", 8 * parts, faiss_index(compared, f"PQ{parts}np"))
    for parts in (8, 16, 32, 64):
        opq = cache(faiss_index(compared, f"OPQ{parts},PQ{parts}np"))
        for start in ("none", "random") if parts == 8 else ("none",):
            given: dict[str, Setting] = {"start": start}
            yield Compared(f"opq, start {start}: OPQ{parts} of faiss", "opq", 8 * parts, opq, given=given)


def drawn_vectors(n: int, n_features: int) -> Vectors:
    """Vectors around 50 random centres, with features of unlike variances, as embeddings have, of norm 1."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((50, n_features))
    scale = np.linspace(1.5, 0.5, n_features)
    vectors = (centres[random.integers(0, 50, n)] + 1.2 * random.standard_normal((n, n_features))) * scale + 0.3
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def vectors_of(name: str, n: int) -> Vectors:
    """``n`` different rows of the data set, at random."""
    if name == "drawn":
        return drawn_vectors(n, 384)
    items = open_dataset(load_card(name)).items
    return np.asarray(items[np.random.default_rng(0).permutation(len(items))[:n]], np.float32)


def stored_rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that an interrupted call of the same command has written."""
    path = _record.path_of("peers-of-codes")
    if not path.is_file():
        return []
    stored = json.loads(path.read_text())
    is_same = all(stored.get(key) == value for key, value in record.items())
    return list(stored["rows"]) if is_same else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", nargs="?", default="wordnet_minilm")
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--metric", choices=["l2", "ip"], default="l2")
    parser.add_argument("--only", default="", help="only the rows whose name begins so; nothing is written")
    chosen = parser.parse_args()
    os.environ["TRANSFORMERS_OFFLINE"] = "1"
    queries, items = np.split(vectors_of(chosen.dataset, chosen.items + chosen.queries), [chosen.queries])
    compared = Comparison(items, queries, chosen.seeds, chosen.metric)
    what = f"{chosen.dataset}: {len(items):,} x {items.shape[1]}, {len(queries)} queries, {chosen.metric}"
    print(f"{what}, {chosen.seeds} seeds: recall@{K}")
    print(f"{'code, and the peer':<44} {'bits':>5}  {'hashbench':<17}  {'peer':<17}  difference")
    record = {**vars(chosen), "k": K}
    compared.rows = [] if chosen.only else stored_rows(record)
    done = {row["code"] for row in compared.rows}
    try:
        if "neighbours".startswith(chosen.only) and not any(name.startswith("neighbours") for name in done):
            compared.compare_neighbours()
        if "recall".startswith(chosen.only) and not any(name.startswith(f"recall@{CANDIDATES[-1]}:") for name in done):
            compared.compare_rescoring(64)
        for code in codes(compared):
            if code.name.startswith(chosen.only) and code.name not in done:
                compared.compare(code)
    finally:
        if not chosen.only:
            _record.write("peers-of-codes", {**record, "rows": compared.rows})


if __name__ == "__main__":
    main()
