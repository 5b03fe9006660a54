"""Time of counting by neighbours beside counting without labels, by classes and by a matrix of levels.

Run `python benchmarks/neighbour_counts.py`: 1,000 queries x 60,000 items of 128 bits, medians of 5 seconds, in turns.
Writes results/benchmarks/neighbour-counts-MACHINE.json.
"""

import statistics
import time

import _record
import numpy as np

from hashbench.scoring import histogram
from hashbench.scoring.codes import pack
from hashbench.scoring.relevance.distances import KnownRelevance
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

REPETITIONS = 5
QUERIES, ITEMS, BITS = 1000, 60_000, 128
CLASSES, K = 10, (10, 100)


def main() -> None:
    rng = np.random.default_rng(0)
    query, database = (pack(rng.integers(0, 2, (size, BITS), np.uint8)) for size in (QUERIES, ITEMS))
    ids = np.stack([rng.choice(ITEMS, max(K), replace=False) for _ in range(QUERIES)])
    near = {f"{k} neighbours": NeighbourRelevance(ids[:, :k], ITEMS) for k in K}
    level = near["10 neighbours"].block(slice(0, QUERIES), slice(0, ITEMS))
    cases: dict[str, Relevance] = {
        "without labels": near["10 neighbours"].unlabelled(),
        **near,
        "classes": ClassRelevance(*(rng.integers(0, CLASSES, size) for size in (QUERIES, ITEMS))),
        "matrix of levels": KnownRelevance(np.array([0, 1]), level),
    }
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(REPETITIONS + 1):
        for name, relevance in cases.items():
            started = time.perf_counter()
            histogram.count(query, database, relevance, kernel="numba")
            if turn:  # the first one compiles the kernels
                seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(of_case) for name, of_case in seconds.items()}
    for name, median in medians.items():
        print(f"{name:<18} {median:7.3f} s")
    _record.write("neighbour-counts", {"pairs": QUERIES * ITEMS, "bits": BITS, "median_s": medians})


if __name__ == "__main__":
    main()
