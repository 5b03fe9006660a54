"""Query throughput of the bucket index, compared with exhaustive search and with FAISS on the same cores.

Run `python benchmarks/index.py`; figures are medians of 5, and the searches alternate. There are 1,000,000 items in 256
clusters and d = 256 buckets, with k = 1 and embeddings of width 256, as in the paper's models with that d. Nine tenths
of the items are in the bucket of their cluster, the others in a random bucket. Queries come in batches of 10,000, of
1,000, and one by one. The time of a search runs from the activations or the embedding of a query to the ids found.

Exhaustive search is a batched matrix product and a selection, in two forms: by NumPy's usual calls, and by the index
with a single bucket. The others are compared with the faster of the two.

If FAISS is installed (extra search), its inverted file is measured in three forms, each with 256 lists. The first has
the lists of the index and probes one list for each query, so that both search the same candidates and find the same
items. The second does the same by big_batch_search, which groups queries by list as the index does. The third has lists
from FAISS's own k-means and probes as many as it needs to reach the recall of the index. Writes
results/benchmarks/index-MACHINE.json.
"""

import io
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import _record
import numpy as np

from hashbench.foundation import parallel
from hashbench.metrics.suf import speed_up
from hashbench.sparse import index_file, search
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.index import Index, build

REPETITIONS = 5
ITEMS, D, WIDTH = 1_000_000, 256, 256
QUERIES = 10_000  # as many as CIFAR-100 has
FEW_QUERIES = 500  # of exhaustive search, whose time a query does not depend on it from here on
BATCHES = (QUERIES, 1000, 1)
ALONE = 100  # queries that are asked one by one
ALONE_EXHAUSTIVE = 20
STRAY = 0.1  # of the items are in a bucket drawn at random
TOPS = (1, 16)
TRAINING = 100_000  # items that FAISS makes its own lists from
FOR_FAISS = "faiss, the lists of the index"

rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Timing:
    """The name of a search, the number of nearest items, and the median of the queries per second."""

    what: str
    batch: int  # queries in a batch
    top: int
    n_queries: int
    median_s: float
    fastest_s: float
    queries_per_s: float

    @property
    def case(self) -> str:
        """The batch size and number of results, as text."""
        return f"{'one by one' if self.batch == 1 else f'batches of {self.batch:,}'}, top {self.top}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """``embeddings`` float32[n, m], and ``activations`` float32[n, d], whose largest is that of the item's bucket."""

    embeddings: np.ndarray
    activations: np.ndarray

    def __getitem__(self, rows: slice) -> "Drawn":
        return Drawn(self.embeddings[rows], self.activations[rows])


Search = Callable[[Drawn, int], np.ndarray]  # of these queries, the ids [q, top]


@dataclass(frozen=True)
class Contender:
    """A search and the sizes of its batches; ``alone`` is the number of queries in the test of single queries."""

    search: Search
    batches: tuple[int, ...] = BATCHES
    alone: int = ALONE

    def runs(self, asked: Drawn, top: int) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """(batch size, number of queries, function that searches them) for each batch size."""
        for batch in self.batches:
            n_queries = max(batch, self.alone) if batch == 1 else batch
            parts = [asked[first : first + batch] for first in range(0, n_queries, batch)]
            yield batch, n_queries, lambda parts=parts: [self.search(part, top) for part in parts]


def draw(n: int, centres: np.ndarray) -> Drawn:
    cluster = rng.integers(0, D, n)
    embeddings = rng.standard_normal((n, WIDTH), np.float32)
    embeddings *= 0.7
    embeddings += centres[cluster]
    bucket = np.where(rng.random(n) < STRAY, rng.integers(0, D, n), cluster)
    activations = rng.random((n, D), np.float32)
    activations[np.arange(n), bucket] += 1
    return Drawn(embeddings, activations)


def numpy_search(items: np.ndarray, norms: np.ndarray) -> Search:
    """Exhaustive search: squared distances from products of 64 queries with all items, the least by argpartition."""

    def nearest(asked: Drawn, top: int) -> np.ndarray:
        found = np.empty((len(asked.embeddings), top), np.int64)
        for first in range(0, len(found), 64):
            block = norms - 2 * (asked.embeddings[first : first + 64] @ items.T)
            nearest = np.argpartition(block, top - 1, axis=1)[:, :top]
            order = np.take_along_axis(block, nearest, axis=1).argsort(axis=1)
            found[first : first + 64] = np.take_along_axis(nearest, order, axis=1)
        return found

    return nearest


def in_one_bucket(everything: Index) -> Search:
    def nearest(asked: Drawn, top: int) -> np.ndarray:
        return search.query(everything, np.zeros((len(asked.embeddings), 1)), asked.embeddings, top).ids

    return nearest


def faiss_lists(items: np.ndarray, codes: SparseCodes) -> Any:
    """FAISS's inverted file, with each item in the list of its bucket in the index."""
    import faiss  # noqa: PLC0415
    from faiss.contrib import ivf_tools  # noqa: PLC0415

    quantizer = faiss.IndexFlatL2(WIDTH)
    quantizer.add(np.zeros((D, WIDTH), np.float32))  # not used: the list of each item and query is given
    lists = faiss.IndexIVFFlat(quantizer, WIDTH, D)
    ivf_tools.add_preassigned(lists, items, codes.buckets[:, 0].astype(np.int64))
    return lists


def faiss_search(lists: Any) -> Search:
    """A search of FAISS that probes one list for each query, that of its largest activation.

    If the lists are given, FAISS searches only in the calling thread. So the queries are divided among threads here, as
    FAISS does when it finds the lists itself.
    """
    from faiss.contrib import ivf_tools  # noqa: PLC0415

    pool = ThreadPoolExecutor(parallel.available_cores())

    def nearest(asked: Drawn, top: int) -> np.ndarray:
        probed = asked.activations.argmax(axis=1).astype(np.int64)[:, None]
        cuts = np.linspace(0, len(probed), min(len(probed), parallel.available_cores()) + 1).astype(int)
        parts = [slice(*pair) for pair in pairwise(cuts)]

        def job(rows: slice) -> np.ndarray:
            return ivf_tools.search_preassigned(lists, asked.embeddings[rows], top, probed[rows])[1]

        return job(parts[0]) if len(parts) == 1 else np.concatenate(list(pool.map(job, parts)))

    return nearest


def faiss_grouped(lists: Any) -> Search:
    from faiss.contrib.big_batch_search import big_batch_search  # noqa: PLC0415

    def nearest(asked: Drawn, top: int) -> np.ndarray:
        probed = asked.activations.argmax(axis=1).astype(np.int32)[:, None]
        with redirect_stdout(io.StringIO()):  # it prints a line for each list with verbose=0, and less with 1
            return big_batch_search(lists, asked.embeddings, top, verbose=1, q_assign=probed)[1]

    return nearest


def faiss_own_lists(items: np.ndarray) -> Any:
    """FAISS's inverted file with the same number of lists, from its own k-means."""
    import faiss  # noqa: PLC0415

    lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(WIDTH), WIDTH, D)
    lists.train(items[:TRAINING])
    lists.add(items)
    return lists


def probe_enough(lists: Any, asked: Drawn, truth: np.ndarray, wanted: float) -> int:
    """The number of lists that FAISS must probe to reach the wanted recall; sets it to that number."""
    lists.nprobe = 1
    while lists.nprobe < D and recall(lists.search(asked.embeddings, truth.shape[1])[1], truth) < wanted:
        lists.nprobe *= 2
    return int(lists.nprobe)


def recall(found: np.ndarray, truth: np.ndarray) -> float:
    """The recall: the share of the true nearest items, [q, top], that was found."""
    return float((truth[:, :, None] == found[:, None, :]).any(axis=2).mean())


def in_turns(contenders: dict[str, Contender], asked: Drawn, top: int) -> list[Timing]:
    """The timings of all searches; they alternate, so that other programs disturb them alike."""
    runs = [(name, *run) for name, contender in contenders.items() for run in contender.runs(asked, top)]
    seconds: list[list[float]] = [[] for _ in runs]
    for turn in range(REPETITIONS + 1):
        for times, (_, _, _, run) in zip(seconds, runs, strict=True):
            started = time.perf_counter()
            run()
            if turn:  # the first is for compiling and for the pages of the file
                times.append(time.perf_counter() - started)
    found = []
    for times, (name, batch, n_queries, _) in zip(seconds, runs, strict=True):
        median = statistics.median(times)
        found.append(Timing(name, batch, top, n_queries, median, min(times), n_queries / median))
        print(f"{name:<44} {found[-1].case:<28} {found[-1].queries_per_s:>12,.1f} queries a second", flush=True)
    return found


def contenders_of(index: Index, everything: Index, items: np.ndarray, codes: SparseCodes) -> dict[str, Contender]:
    return {
        "index": Contender(lambda asked, top: search.query(index, asked.activations, asked.embeddings, top).ids),
        "exhaustive, as the index does it": Contender(in_one_bucket(everything), (FEW_QUERIES,)),
        "exhaustive, NumPy: product and argpartition": Contender(
            numpy_search(items, everything.norms), (FEW_QUERIES, 1), ALONE_EXHAUSTIVE
        ),
        **faiss_contenders(items, codes),
    }


def faiss_contenders(items: np.ndarray, codes: SparseCodes) -> dict[str, Contender]:
    if find_spec("faiss") is None:
        print("faiss is not installed: no comparison with its inverted file (extra search: pip install '.[search]')")
        return {}
    import faiss  # noqa: PLC0415

    faiss.omp_set_num_threads(parallel.available_cores())
    lists = faiss_lists(items, codes)
    return {
        FOR_FAISS: Contender(faiss_search(lists)),
        f"{FOR_FAISS}, big_batch_search": Contender(faiss_grouped(lists), BATCHES[:-1]),
    }


def qualities(contenders: dict[str, Contender], few: Drawn, truth: np.ndarray) -> dict[str, float]:
    """The recall of each search; those with the same candidates must find the same items, up to rounding."""
    found = {name: contender.search(few, truth.shape[1]) for name, contender in contenders.items()}
    for name, ids in found.items():
        if name.startswith(FOR_FAISS):
            assert recall(ids, found["index"]) > 0.999, f"{name}: not what the index finds"
    return {name: recall(ids, truth) for name, ids in found.items()}


def ratios(timings: list[Timing]) -> dict[str, float]:
    """The speed-ups in queries per second: of each search over exhaustive search, and of the index over FAISS."""
    found = {}
    speed = {(timing.what, timing.case): timing.queries_per_s for timing in timings}
    for timing in timings:
        batched = max(
            other.queries_per_s
            for other in timings
            if other.what.startswith("exhaustive") and other.batch > 1 and other.top == timing.top
        )
        found[f"{timing.what} / batched exhaustive, {timing.case}"] = round(timing.queries_per_s / batched, 3)
        if timing.what.startswith("faiss"):
            by_index = speed["index", timing.case] / timing.queries_per_s
            found[f"index / {timing.what}, {timing.case}"] = round(by_index, 3)
    return found


def resident_mib(field: str) -> float:
    if sys.platform != "linux":
        return 0.0
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def compared(contenders: dict[str, Contender], own_lists: Any, asked: Drawn) -> dict[str, Any]:
    """The recall and the speed for each number of nearest items."""
    timings: list[Timing] = []
    quality: dict[str, dict[str, float]] = {}
    probes: dict[str, int] = {}
    for top in TOPS:
        few, case = asked[:FEW_QUERIES], f"top {top}"
        truth = contenders["exhaustive, as the index does it"].search(few, top)
        quality[case] = qualities(contenders, few, truth)
        entered = dict(contenders)
        if own_lists is not None:
            probes[case] = probe_enough(own_lists, few, truth, quality[case]["index"])
            own = Contender(lambda asked, top: own_lists.search(asked.embeddings, top)[1])
            entered["faiss, its own lists"] = own
            quality[case]["faiss, its own lists"] = recall(own.search(few, top), truth)
        timings += in_turns(entered, asked, top)
    return {"recall": quality, "faiss_probes_of_its_own_lists": probes, "timings": timings}


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
        found = search.query(index, asked.activations, asked.embeddings, 16)
        memory = {
            "index_file_mib": path.stat().st_size / 2**20,
            "kept_by_search_mib": resident_mib("RssAnon:") - before,
        }
        print(f"built and saved in {build_s:.1f} s; {memory}")
        contenders = contenders_of(index, everything, items, codes)
        own_lists = faiss_own_lists(items) if FOR_FAISS in contenders else None
        figures = compared(contenders, own_lists, asked)
    times = ratios(figures["timings"])
    for what, ratio in times.items():
        print(f"{what}: {ratio:g} times")
    _record.write(
        "index",
        {
            "repetitions": REPETITIONS,
            "items": ITEMS,
            "d": D,
            "k": 1,
            "width": WIDTH,
            "build_and_save_s": build_s,
            "memory": {**memory, "peak_mib": resident_mib("VmHWM:")},
            "suf": speed_up(found.n_candidates, len(index)),
            "faiss": faiss_version(),
            **figures,
            "timings": [asdict(timing) for timing in figures["timings"]],
            "ratios": times,
        },
    )


def faiss_version() -> str | None:
    if find_spec("faiss") is None:
        return None
    import faiss  # noqa: PLC0415

    return str(faiss.__version__)


if __name__ == "__main__":
    main()
