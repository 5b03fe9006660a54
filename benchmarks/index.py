"""Query throughput of the bucket index, side by side with exhaustive search on the same cores.

Run as `python benchmarks/index.py`; medians of 5, taken in turns. 1,000,000 items of 256 clusters in d = 256 buckets,
k = 1, embeddings of width 256 as in the paper's models of that d; an item is in the bucket of its cluster, but for a
tenth of them, in one drawn at random. Exhaustive search is a batched matrix product and a selection, both with
NumPy's usual calls and as the index itself does it, in one bucket of everything: the faster is what the index is
compared with. Writes results/benchmarks/index-MACHINE.json. FAISS's inverted file joins where it is installed.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

import _record
import numpy as np

from hashbench import buckets, histogram
from hashbench.sparse import index_file, search
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Index, build

REPETITIONS = 5
ITEMS, D, WIDTH = 1_000_000, 256, 256
QUERIES = 10_000  # as many as CIFAR-100 has
FEW_QUERIES = 500  # of exhaustive search, whose time a query does not depend on it from here on
ONE_BY_ONE = 20
STRAY = 0.1  # of the items are in a bucket drawn at random
TOPS = (1, 16)

rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Timing:
    """What was timed, for how many nearest items, and queries a second at the median."""

    what: str
    top: int
    n_queries: int
    median_s: float
    fastest_s: float
    queries_per_s: float


@dataclass(frozen=True, eq=False)
class Drawn:
    """``embeddings`` float32[n, m], and ``activations`` float32[n, d], largest at the bucket."""

    embeddings: np.ndarray
    activations: np.ndarray


def draw(n: int, centres: np.ndarray) -> Drawn:
    cluster = rng.integers(0, D, n)
    embeddings = rng.standard_normal((n, WIDTH), np.float32)
    embeddings *= 0.7
    embeddings += centres[cluster]
    bucket = np.where(rng.random(n) < STRAY, rng.integers(0, D, n), cluster)
    activations = rng.random((n, D), np.float32)
    activations[np.arange(n), bucket] += 1
    return Drawn(embeddings, activations)


def numpy_search(items: np.ndarray, norms: np.ndarray, queries: np.ndarray, top: int) -> np.ndarray:
    """Squared distances by products of 64 queries with all items, the least by argpartition."""
    found = np.empty((len(queries), top), np.int64)
    for first in range(0, len(queries), 64):
        block = norms - 2 * (queries[first : first + 64] @ items.T)
        nearest = np.argpartition(block, top - 1, axis=1)[:, :top]
        order = np.take_along_axis(block, nearest, axis=1).argsort(axis=1)
        found[first : first + 64] = np.take_along_axis(nearest, order, axis=1)
    return found


def in_turns(what: dict[str, tuple[int, Callable[[], object]]], top: int) -> list[Timing]:
    """Each measured once, then each again: what else the machine does meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in what}
    for turn in range(REPETITIONS + 1):
        for name, (_, run) in what.items():
            started = time.perf_counter()
            run()
            if turn:  # the first is for compiling and for the pages of the file
                seconds[name].append(time.perf_counter() - started)
    found = []
    for name, (n_queries, _) in what.items():
        median = statistics.median(seconds[name])
        found.append(Timing(name, top, n_queries, median, min(seconds[name]), n_queries / median))
        print(f"top {top:>2}  {name:<52} {found[-1].queries_per_s:>12,.1f} queries a second", flush=True)
    return found


def faiss_search(items: np.ndarray, queries: np.ndarray, top: int) -> dict[str, tuple[int, Callable[[], object]]]:
    """FAISS's inverted file of as many lists, one list a query, centroids by its own k-means."""
    if find_spec("faiss") is None:
        return {}
    import faiss  # noqa: PLC0415

    faiss.omp_set_num_threads(histogram.available_cores())
    quantizer = faiss.IndexFlatL2(WIDTH)
    index = faiss.IndexIVFFlat(quantizer, WIDTH, D)
    index.train(items[:100_000])
    index.add(items)
    index.nprobe = 1
    return {"faiss IndexIVFFlat, 256 lists, 1 probe": (len(queries), lambda: index.search(queries, top))}


def contenders(
    index: Index, everything: Index, items: np.ndarray, asked: Drawn, top: int
) -> dict[str, tuple[int, Callable[[], object]]]:
    few, norms = asked.embeddings[:FEW_QUERIES], everything.norms
    nothing = np.zeros((FEW_QUERIES, 1), np.float32)
    one_by_one = [asked.embeddings[q : q + 1] for q in range(ONE_BY_ONE)]
    return {
        f"index, {QUERIES:,} queries": (
            QUERIES,
            lambda: search.query(index, asked.activations, asked.embeddings, top),
        ),
        "index, 1,000 queries": (
            1000,
            lambda: search.query(index, asked.activations[:1000], asked.embeddings[:1000], top),
        ),
        "exhaustive, as the index does it": (FEW_QUERIES, lambda: search.query(everything, nothing, few, top)),
        "exhaustive, NumPy: product and argpartition": (FEW_QUERIES, lambda: numpy_search(items, norms, few, top)),
        "exhaustive, NumPy: query by query": (
            ONE_BY_ONE,
            lambda: [numpy_search(items, norms, query, top) for query in one_by_one],
        ),
        **faiss_search(items, asked.embeddings, top),
    }


def check(index: Index, everything: Index, asked: Drawn) -> dict[str, float]:
    """What is found agrees where it can: the candidates' nearest is the nearest of all in so many queries."""
    found = search.query(index, asked.activations[:FEW_QUERIES], asked.embeddings[:FEW_QUERIES], 1)
    truth = search.query(everything, np.zeros((FEW_QUERIES, 1)), asked.embeddings[:FEW_QUERIES], 1)
    assert (found.distances >= truth.distances).all()
    return {
        "suf": buckets.speed_up(found.n_candidates, len(index)),
        "recall_at_1": float((found.ids == truth.ids).mean()),
    }


def ratios(timings: list[Timing]) -> dict[str, float]:
    found = {}
    for top in TOPS:
        speed = {timing.what: timing.queries_per_s for timing in timings if timing.top == top}
        batched = max(speed[what] for what in speed if what.startswith("exhaustive") and "query by" not in what)
        for what, queries_per_s in speed.items():
            if what.startswith(("index", "faiss", "exhaustive, NumPy: query")):
                found[f"{what} / batched exhaustive search, top {top}"] = round(queries_per_s / batched, 3)
    return found


def resident_mib(field: str) -> float:
    if sys.platform != "linux":
        return 0.0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def main() -> None:
    centres = rng.standard_normal((D, WIDTH), np.float32)
    drawn, asked = draw(ITEMS, centres), draw(QUERIES, centres)
    items, codes = drawn.embeddings, top_k(drawn.activations, 1)
    del drawn
    everything = build(SparseCodes(np.zeros((ITEMS, 1), np.int32), 1), items)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.h5"
        started = time.perf_counter()
        index_file.save(build(codes, items), path)
        build_s = time.perf_counter() - started
        index, before = index_file.load(path), resident_mib("RssAnon:")
        search.query(index, asked.activations, asked.embeddings, 16)
        memory = {
            "index_file_mib": path.stat().st_size / 2**20,
            "kept_by_search_mib": resident_mib("RssAnon:") - before,
        }
        print(f"built and saved in {build_s:.1f} s; {memory}")
        timings: list[Timing] = []
        quality = check(index, everything, asked)
        for top in TOPS:
            timings += in_turns(contenders(index, everything, items, asked, top), top)
    if find_spec("faiss") is None:
        print("faiss is not installed: no comparison with its inverted file (extra search: pip install '.[search]')")
    times = ratios(timings)
    for what, ratio in times.items():
        print(f"{what}: {ratio:g} times")
    figures = {
        "repetitions": REPETITIONS,
        "items": ITEMS,
        "d": D,
        "k": 1,
        "width": WIDTH,
        "build_and_save_s": build_s,
        "memory": {**memory, "peak_mib": resident_mib("VmHWM:")},
        **quality,
        "timings": [asdict(timing) for timing in timings],
        "ratios": times,
    }
    _record.write("index", figures)


if __name__ == "__main__":
    main()
