"""Exact nearest neighbours of vectors: hashbench beside faiss.knn, on the same cores.

Run `python benchmarks/neighbours.py [ITEMS DIMENSIONS]` with faiss installed (extra search); by default 100,000 x 384
and 117,659 x 384, the size of wordnet_minilm. 1,000 queries, 100 neighbours each. The two alternate, and the ratio is
the median of the ratios of 5 pairs, so that other work on the machine falls on both. Seconds are of the clock and of
the processor, where threads that wait and spin count too. The share of equal ids is below 1 because faiss ranks by
distances in float32. Writes results/benchmarks/neighbours-MACHINE.json.
"""

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import _record
import faiss
import numpy as np

from hashbench.foundation.parallel import available_cores
from hashbench.running.datasets.neighbours import nearest

PAIRS, QUERIES, K = 5, 1000, 100
SIZES = ((100_000, 384), (117_659, 384))
METRICS = {"l2": faiss.METRIC_L2, "ip": faiss.METRIC_INNER_PRODUCT, "cosine": faiss.METRIC_INNER_PRODUCT}


def timed(search: Callable[[], np.ndarray]) -> tuple[np.ndarray, float, float]:
    """The ids, seconds of the clock, and seconds of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    ids = search()
    return ids, time.perf_counter() - clock, time.process_time() - processor


def measured(n: int, d: int) -> dict[str, Any]:
    """The medians for ``n`` drawn vectors of norm 1, by metric."""
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((n + QUERIES, d), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    queries, items = vectors[:QUERIES], vectors[QUERIES:]
    figures = dict[str, Any]()
    for metric, of_faiss in METRICS.items():
        nearest(queries[:10], items[:1000], K, metric)  # compiles what is compiled
        pairs = []
        for _ in range(PAIRS):
            theirs = timed(lambda kind=of_faiss: faiss.knn(queries, items, K, kind)[1])
            ours = timed(lambda name=metric: nearest(queries, items, K, name)[0])
            pairs.append((ours, theirs))
        equal = float((pairs[0][0][0] == pairs[0][1][0]).mean())
        median = {
            "hashbench_s": statistics.median(ours[1] for ours, _ in pairs),
            "faiss_s": statistics.median(theirs[1] for _, theirs in pairs),
            "ratio": statistics.median(ours[1] / theirs[1] for ours, theirs in pairs),
            "processor_ratio": statistics.median(ours[2] / theirs[2] for ours, theirs in pairs),
            "equal_ids": equal,
        }
        figures[metric] = {name: round(value, 4) for name, value in median.items()}
        print(f"{n:,} x {d}, {metric}: {figures[metric]}", flush=True)
    return figures


def main(sizes: Sequence[tuple[int, int]]) -> None:
    faiss.omp_set_num_threads(available_cores())
    found = [{"items": n, "dimensions": d, "metrics": measured(n, d)} for n, d in sizes]
    _record.write("neighbours", {"queries": QUERIES, "k": K, "sizes": found})


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main([(given[0], given[1])] if given else SIZES)
