"""The approximate Hamming search of `hashbench search --method ivf`, compared with exhaustive search.

Run `python benchmarks/hamming_search.py [ITEMS ...]`; without arguments for 100,000 and 1,000,000 items, and with
10000000 for ten million, which takes more than ten times as long. The codes have 64 bits and lie in clusters of
about 1,000 items. In the wide clusters an item differs from its centre in 11 bits on average, in the narrow ones in
1.6, so that many items have the same code, as learned codes do. The queries are drawn in the same way.

Exhaustive search is done in two ways: by hashbench, which also counts the ranks of tied items, and by faiss
(IndexBinaryFlat). Up to 100,000 items, two other indexes of faiss are measured: its graph (IndexBinaryHNSW) and its
hash tables (IndexBinaryMultiHash). Figures are medians of 5, and the searches alternate; each size has a process of its
own, so that its peak of memory is its own. An item counts as found if it is no farther than the last of the exhaustive
search. Writes results/benchmarks/hamming-search-MACHINE.json.
"""

import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import _record
import numpy as np

from hashbench.codes import Codes
from hashbench.codes.nearest import neighbours_of
from hashbench.codes.search import InvertedFile, Lists, load, make_lists, recall, save
from hashbench.foundation import parallel

try:
    import faiss
except ImportError:
    raise SystemExit("faiss is not installed: nothing to compare (extra search: pip install '.[search]')") from None

REPETITIONS = 5
SIZES = (100_000, 1_000_000)
BITS = 64
CLUSTER = 1000  # items of a cluster on average
FLIPPED = {"wide": (2.0, 10.0), "narrow": (1.0, 40.0)}  # of the beta distribution of a cluster's share of flipped bits
QUERIES, EXHAUSTIVE_QUERIES, ALONE = 1000, 100, 50  # the last: asked one by one
TOPS = (10, 100)
PROBES = (8, 32, 128)
OTHERS_UP_TO = 100_000  # items: the graph takes long to build
NOTHING = 1 << 20  # the distance where faiss found too few items

Search = Callable[[Codes, int], np.ndarray]  # of these queries, the distances [q, top]


def draw(n: int, flipped: tuple[float, float], rng: np.random.Generator) -> tuple[Codes, Codes]:
    """The codes of ``QUERIES`` queries and of ``n`` items."""
    centres = rng.integers(0, 2**64, n // CLUSTER, dtype=np.uint64)
    share = rng.beta(*flipped, len(centres)).astype(np.float32)
    cluster = rng.integers(0, len(centres), n + QUERIES)
    words = centres[cluster]
    for bit in range(BITS):
        words ^= (rng.random(len(words), np.float32) < share[cluster]).astype(np.uint64) << np.uint64(bit)
    return Codes(words[:QUERIES, None], BITS), Codes(words[QUERIES:, None], BITS)


def exhaustive(database: Codes) -> Search:
    return lambda query, top: np.stack([found.distances for found in neighbours_of(query, database, top)])


def exhaustive_by_faiss(database: Codes) -> Search:
    index = faiss.IndexBinaryFlat(BITS)
    index.add(database.words.view(np.uint8))
    return by_faiss(index)


def approximate(index: InvertedFile, probes: int) -> Search:
    return lambda query, top: index.search(query, top, min(probes, index.n_lists))[1]


def others(database: Codes) -> tuple[dict[str, Search], dict[str, float]]:
    """The searches of other indexes of faiss, and the seconds to build each."""
    indexes = {
        "hnsw, 16 links, ef 64": faiss.IndexBinaryHNSW(BITS, 16),
        "hash tables": faiss.IndexBinaryMultiHash(BITS, 4, 16),
    }
    indexes["hnsw, 16 links, ef 64"].hnsw.efSearch = 64
    indexes["hash tables"].nflip = 1  # codes that differ in one bit of a quarter
    built_s = {
        name: timed(lambda index=index: index.add(database.words.view(np.uint8)))[1] for name, index in indexes.items()
    }
    return {name: by_faiss(index) for name, index in indexes.items()}, built_s


def by_faiss(index: Any) -> Search:
    def search(query: Codes, top: int) -> np.ndarray:
        distances, ids = index.search(query.words.view(np.uint8), top)
        return np.where(ids < 0, NOTHING, distances)

    return search


def resident_mib(field: str) -> float:
    if sys.platform != "linux":
        return 0.0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = run()
    return result, time.perf_counter() - started


def built(database: Codes) -> tuple[InvertedFile, dict[str, float]]:
    """The index, and what it costs: seconds to build it and to load it again, the size of its file."""
    lists, lists_s = timed(lambda: make_lists(database))
    index, filled_s = timed(lambda: InvertedFile(database, lists))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lists.npz"
        save(lists, path)
        size = path.stat().st_size / 2**20
        again, load_s = timed(lambda: load(path, database))
    assert isinstance(again, Lists)
    assert len(again) == len(lists)
    return index, {
        "lists": len(lists),
        "build_s": lists_s + filled_s,
        "load_and_fill_s": load_s + filled_s,
        "file_mib": size,
    }


def in_turns(searches: dict[str, Search], query: Codes, top: int) -> dict[str, dict[str, float]]:
    """The milliseconds that a query takes in a batch and alone, by search; they alternate, to be disturbed alike."""
    runs: dict[tuple[str, str], tuple[int, Callable[[], Any]]] = {}
    for name, search in searches.items():
        batch = query[: EXHAUSTIVE_QUERIES if name.startswith("exhaustive") else QUERIES]
        runs[name, "batch_ms"] = len(batch), lambda batch=batch, search=search: search(batch, top)
        alone = [query[q : q + 1] for q in range(ALONE)]
        runs[name, "alone_ms"] = ALONE, lambda alone=alone, search=search: [search(each, top) for each in alone]
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
    for turn in range(REPETITIONS + 1):
        for key, (n, run) in runs.items():
            spent = timed(run)[1] / n
            seconds[key] += [spent] if turn else []  # the first warms up
    found: dict[str, dict[str, float]] = {name: {} for name in searches}
    for (name, how), times in seconds.items():
        found[name][how] = 1000 * statistics.median(times)
    return found


def measure(n: int, kind: str) -> dict[str, Any]:
    """All figures of ``n`` items in clusters of one kind."""
    faiss.omp_set_num_threads(parallel.available_cores())
    query, database = draw(n, FLIPPED[kind], np.random.default_rng(0))
    index, cost = built(database)
    own = {"exhaustive": exhaustive(database), "exhaustive, faiss": exhaustive_by_faiss(database)}
    searches = own | {f"ivf, {probes} probes": approximate(index, probes) for probes in PROBES}
    more, more_s = others(database) if n <= OTHERS_UP_TO else ({}, {})
    searches |= more
    recalls: dict[str, dict[str, float]] = {name: {} for name in searches}
    for top in TOPS:
        exact = searches["exhaustive, faiss"](query, top)
        for name, search in searches.items():
            some = EXHAUSTIVE_QUERIES if name == "exhaustive" else QUERIES
            recalls[name][f"recall@{top}"] = recall(search(query[:some], top), exact[:some])
    assert all(share == 1 for name in own for share in recalls[name].values()), "exhaustive search misses nothing"
    times = in_turns(searches, query, TOPS[0])
    peak_mib = resident_mib("VmHWM:")
    cost["memory_mib"] = len(faiss.serialize_index_binary(index._index)) / 2**20  # a copy, so after the peak
    return {
        "items": n,
        "clusters": kind,
        "distinct_codes": len(np.unique(database.words)),
        "index": cost,
        "others_build_s": more_s,
        "searches": {name: recalls[name] | times[name] for name in searches},
        "peak_mib": peak_mib,
    }


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    cases = []
    spawn = multiprocessing.get_context("spawn")
    for n in sizes:
        for kind in FLIPPED:
            with ProcessPoolExecutor(1, mp_context=spawn) as alone:
                cases.append(alone.submit(measure, n, kind).result())
            show(cases[-1])
    figures = {"repetitions": REPETITIONS, "bits": BITS, "top_of_the_times": TOPS[0], "faiss": faiss.__version__}
    _record.write("hamming-search", {**figures, "cases": cases})


def show(case: dict[str, Any]) -> None:
    cost = case["index"]
    print(f"{case['items']:,} items, {case['clusters']} clusters, {case['distinct_codes']:,} distinct codes:", end=" ")
    print(f"{cost['lists']:,} lists built in {cost['build_s']:.1f} s, {cost['memory_mib']:.0f} MiB", flush=True)
    for name, one in case["searches"].items():
        quality = ", ".join(f"@{top} {one[f'recall@{top}']:.4f}" for top in TOPS)
        print(f"  {name:<21} {one['batch_ms']:9.4f} ms a query, {one['alone_ms']:9.4f} ms alone, recall {quality}")


if __name__ == "__main__":
    main()
