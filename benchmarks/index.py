"""Query throughput of the bucket index, side by side with exhaustive search and with FAISS on the same cores.

Run as `python benchmarks/index.py`; medians of 5, taken in turns. 1,000,000 items of 256 clusters in d = 256 buckets,
k = 1, embeddings of width 256 as in the paper's models of that d; an item is in the bucket of its cluster, but for a
tenth of them, in one drawn at random. Queries come in batches of 10,000, of 1,000, and one by one. Each search is timed
with all that it does for a query, from its activations or its embedding to the numbers of the items found.

Exhaustive search is a batched matrix product and a selection, both with NumPy's usual calls and as the index itself
does it, in one bucket of everything: the faster is what the others are compared with.

FAISS joins where it is installed (extra search), as an inverted file of as many lists, three times: with the lists that
the index has, one probed a query, so that both look at the same candidates and find the same items; the same by its
big_batch_search, which groups queries by list as the index does; and with lists by its own k-means, where as many are
probed as it takes to find no less than the index does. Writes results/benchmarks/index-MACHINE.json.
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

from hashbench import parallel
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
    """What was timed, for how many nearest items, and queries a second at the median."""

    what: str
    batch: int  # queries asked together
    top: int
    n_queries: int
    median_s: float
    fastest_s: float
    queries_per_s: float

    @property
    def case(self) -> str:
        """How it was asked."""
        return f"{'one by one' if self.batch == 1 else f'batches of {self.batch:,}'}, top {self.top}"


@dataclass(frozen=True, eq=False)
class Drawn:
    """``embeddings`` float32[n, m], and ``activations`` float32[n, d], largest at the bucket."""

    embeddings: np.ndarray
    activations: np.ndarray

    def __getitem__(self, rows: slice) -> "Drawn":
        return Drawn(self.embeddings[rows], self.activations[rows])


Search = Callable[[Drawn, int], np.ndarray]  # of these queries, the ids [q, top]


@dataclass(frozen=True)
class Contender:
    """A search, and how many queries it is asked together; of those asked one by one, ``alone``."""

    search: Search
    batches: tuple[int, ...] = BATCHES
    alone: int = ALONE

    def runs(self, asked: Drawn, top: int) -> Iterator[tuple[int, int, Callable[[], object]]]:
        """(batch, queries, what asks them) for each size of a batch."""
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
    """Squared distances by products of 64 queries with all items, the least by argpartition."""

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
    """FAISS's inverted file with the items in the lists that they have in the index."""
    import faiss  # noqa: PLC0415
    from faiss.contrib import ivf_tools  # noqa: PLC0415

    quantizer = faiss.IndexFlatL2(WIDTH)
    quantizer.add(np.zeros((D, WIDTH), np.float32))  # never asked: which list is said of each item and each query
    lists = faiss.IndexIVFFlat(quantizer, WIDTH, D)
    ivf_tools.add_preassigned(lists, items, codes.buckets[:, 0].astype(np.int64))
    return lists


def faiss_search(lists: Any) -> Search:
    """One list a query, that of its largest activation.

    The queries are shared out among threads here, one run of them each, as FAISS does it where it finds the lists
    itself; told the lists, it searches in the thread that calls it.
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
        with redirect_stdout(io.StringIO()):  # it reports a list a line with verbose=0, and less with 1
            return big_batch_search(lists, asked.embeddings, top, verbose=1, q_assign=probed)[1]

    return nearest


def faiss_own_lists(items: np.ndarray) -> Any:
    """FAISS's inverted file with as many lists, by its own k-means."""
    import faiss  # noqa: PLC0415

    lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(WIDTH), WIDTH, D)
    lists.train(items[:TRAINING])
    lists.add(items)
    return lists


def probe_enough(lists: Any, asked: Drawn, truth: np.ndarray, wanted: float) -> int:
    """How many lists FAISS must probe, and now does, to find as much of the truth as is wanted."""
    lists.nprobe = 1
    while lists.nprobe < D and recall(lists.search(asked.embeddings, truth.shape[1])[1], truth) < wanted:
        lists.nprobe *= 2
    return int(lists.nprobe)


def recall(found: np.ndarray, truth: np.ndarray) -> float:
    """The share of the nearest items of all, [q, top], that was found."""
    return float((truth[:, :, None] == found[:, None, :]).any(axis=2).mean())


def in_turns(contenders: dict[str, Contender], asked: Drawn, top: int) -> list[Timing]:
    """Each measured once, then each again: what else the machine does meets all of them."""
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
    """The recall of each; what looks at the same candidates finds the same, but for rounding."""
    found = {name: contender.search(few, truth.shape[1]) for name, contender in contenders.items()}
    for name, ids in found.items():
        if name.startswith(FOR_FAISS):
            assert recall(ids, found["index"]) > 0.999, f"{name}: not what the index finds"
    return {name: recall(ids, truth) for name, ids in found.items()}


def ratios(timings: list[Timing]) -> dict[str, float]:
    """How many times as many queries a second as batched exhaustive search does, and the index as FAISS does."""
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
    """The figures for each number of nearest items: what is found, and how fast."""
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
