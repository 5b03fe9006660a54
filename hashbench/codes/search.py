"""The nearest items of queries: found exhaustively, or approximately in the lists of faiss's inverted file."""

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import arrays_in
from hashbench.codes.nearest import neighbours_of, spread
from hashbench.codes.packed import Codes
from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.files import write_arrays
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar, with_bar

N_CHECKED = 100  # queries of an approximate search that are searched exhaustively too
PROBES = 32  # lists that a query looks into
ITERATIONS = 5  # of k-means: 10 take twice as long and gain half a percent of recall
TRAINING_ITEMS = 40  # items of k-means for each list: faiss warns about fewer than 39
ADD_ITEMS = 1 << 18  # items that are put into lists at a time
QUERY_BLOCK = 256  # queries of one call into faiss, which an interrupt cannot end

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class ListSearch:
    """An approximate search: ``n_lists`` in ``file``, ``probes`` of them a query; recall by ``n_checked`` queries."""

    n_lists: int | None = None
    probes: int = PROBES  # the lists nearest to a query; near items in others are missed, all distances are exact
    file: Path | None = None
    n_checked: int = N_CHECKED


@dataclass(frozen=True)
class Found:
    """The ``arrays`` that were found, rows of ``queries``, ``ids`` and ``distances`` [q, top], sizes and seconds."""

    arrays: dict[str, NDArray[Any]]
    summary: dict[str, Any]


def search(
    query: Codes, database: Codes, top: int, n_queries: int | None = None, lists: ListSearch | None = None
) -> Found:
    """The ``top`` nearest items, or all there are, of ``n_queries`` queries, evenly spread (None: all).

    Of all items, or of those in ``lists``.
    """
    top = min(top, len(database))
    rows = spread(len(query), n_queries or len(query))
    query = query[rows]
    if not len(query):
        raise HashbenchError("no queries: one or more are expected")
    if not len(database):
        raise HashbenchError("no items in the database: one or more are expected")
    found = _exhaustive(query, database, top) if lists is None else _in_lists(query, database, top, lists)
    sizes = {"n_queries": len(query), "n_items": len(database), "n_bits": query.n_bits, "top": top}
    return Found({"queries": rows, **found.arrays}, sizes | found.summary)


def _exhaustive(query: Codes, database: Codes, top: int) -> Found:
    started = time.perf_counter()
    found = neighbours_of(query, database, top, progress=True)
    seconds = time.perf_counter() - started
    names = {"ids": "items", "distances": "distances", "first": "first", "last": "last"}
    arrays = {name: np.stack([getattr(each, field) for each in found]) for name, field in names.items()}
    n_cut_ties = int((arrays["last"][:, -1] > top).sum())
    return Found(arrays, {"method": "exhaustive", "search_s": seconds, "n_cut_ties": n_cut_ties})


def _in_lists(query: Codes, database: Codes, top: int, options: ListSearch) -> Found:
    started = time.perf_counter()
    if options.file is not None and options.file.exists():
        lists = load(options.file, database)
        if options.n_lists not in (None, len(lists)):
            other = "leave --lists out or name another file"
            raise HashbenchError(f"{options.file}: has {len(lists)} lists, not {options.n_lists}: {other}")
    else:
        lists = make_lists(database, options.n_lists)
        if options.file is not None:
            save(lists, options.file)
    searched = InvertedFile(database, lists)
    built = time.perf_counter()
    probes = min(options.probes, len(lists))
    ids, distances = searched.search(query, top, probes)
    seconds = {"build_s": built - started, "search_s": time.perf_counter() - built}
    summary = {"method": "ivf", "lists": len(lists), "probes": probes, **seconds}
    if options.n_checked:
        rows = spread(len(query), options.n_checked)
        exact = _exhaustive(query[rows], database, top)
        found = recall(distances[rows], exact.arrays["distances"])
        exhaustive_s = exact.summary["search_s"] * len(query) / len(rows)
        summary |= {"recall": found, "n_checked": len(rows), "exhaustive_s": exhaustive_s}
    return Found({"ids": ids, "distances": distances}, summary)


@dataclass(frozen=True, eq=False)
class Lists:
    """The ``centroids`` of the lists, and ``list_of`` int32[n]: the list of each item."""

    centroids: Codes
    list_of: NDArray[np.int32]
    codes_sha256: str  # of the items

    def __len__(self) -> int:
        return len(self.centroids)


def make_lists(database: Codes, n_lists: int | None = None) -> Lists:
    """The lists of the items in ``database``, by faiss's k-means: ``n_lists``, or the square root of their number."""
    faiss = _faiss()
    n_lists = n_lists or max(1, round(len(database) ** 0.5))
    if n_lists > len(database):
        raise HashbenchError(f"--lists {n_lists}: the database has {len(database)} items: as many lists at most")
    some = np.random.default_rng(0).choice(len(database), min(len(database), TRAINING_ITEMS * n_lists), replace=False)
    quantizer = faiss.IndexBinaryFlat(_width(database))
    index = faiss.IndexBinaryIVF(quantizer, _width(database), n_lists)
    index.cp.niter, index.cp.min_points_per_centroid = ITERATIONS, 1
    with bar("train the lists", "step"):
        index.train(Codes(database.words[np.sort(some)], database.n_bits).bytes())
    centroids = faiss.vector_to_array(quantizer.xb).reshape(n_lists, -1).view("<u8").astype(np.uint64)
    list_of = np.empty(len(database), np.int32)
    for rows in with_bar(slices(len(database), ADD_ITEMS), "put into lists", "item", len(database), size=_n_rows):
        list_of[rows] = quantizer.search(database[rows].bytes(), 1)[1][:, 0]
    return Lists(Codes(centroids, database.n_bits), list_of, codes_sha256(database))


class InvertedFile:
    """The inverted file of a database and its ``lists``; both are in memory: 16 bytes an item of 64 bits."""

    def __init__(self, database: Codes, lists: Lists) -> None:
        faiss = _faiss()
        self.n_bits, self.n_lists, self.n_items = database.n_bits, len(lists), len(database)
        self._quantizer = faiss.IndexBinaryFlat(_width(database))  # faiss keeps no reference to it
        self._quantizer.add(lists.centroids.bytes())
        self._index = faiss.IndexBinaryIVF(self._quantizer, _width(database), len(lists))
        self._index.is_trained = True
        for rows in slices(len(database), ADD_ITEMS):
            items, assigned = database[rows].bytes(), lists.list_of[rows].astype(np.int64)
            pointers = faiss.swig_ptr(items), None, faiss.swig_ptr(assigned)
            self._index.add_core(len(items), *pointers)

    def search(self, query: Codes, top: int, probes: int = PROBES) -> tuple[Ints, Ints]:
        """(ids, distances) int64[q, top] of the nearest items in ``probes`` lists, nearest first; ties may be cut."""
        if query.n_bits != self.n_bits or not 1 <= top <= self.n_items or not 1 <= probes <= self.n_lists:
            due = f"{self.n_bits} bits, a top of 1 to {self.n_items} and 1 to {self.n_lists} probes are expected"
            raise HashbenchError(f"queries of {query.n_bits} bits, top {top}, probes {probes}: {due}")
        parts = with_bar(slices(len(query), QUERY_BLOCK), "search", "query", len(query), size=_n_rows)
        blocks = [self._nearest(query[rows].bytes(), top, probes) for rows in parts]
        ids, distances = (np.concatenate(parts).astype(np.int64) for parts in zip(*blocks, strict=True))
        order = np.lexsort((ids, distances))
        return np.take_along_axis(ids, order, axis=1), np.take_along_axis(distances, order, axis=1)

    def _nearest(self, query: Bytes, top: int, probes: int) -> tuple[Ints, Ints]:
        self._index.nprobe = probes
        distances, ids = self._index.search(query, top)
        few = np.flatnonzero((ids < 0).any(axis=1))  # faiss fills up with -1: twice as many lists are looked into
        if len(few):
            ids[few], distances[few] = self._nearest(query[few], top, min(2 * probes, self.n_lists))
        return ids, distances


def recall(found: Ints, exact: Ints) -> float:
    """The mean share of the nearest items that was found, by the ``distances`` [q, top] of both; any tied items do."""
    return float((found <= exact[:, -1:]).mean())


def codes_sha256(codes: Codes) -> str:
    """SHA-256 of codes and of their number of bits."""
    digest = hashlib.sha256(f"{codes.n_bits} ".encode())
    for rows in slices(len(codes), ADD_ITEMS):
        digest.update(codes[rows].bytes().data)
    return digest.hexdigest()


def save(lists: Lists, path: Path) -> None:
    """Writes lists to the .npz ``path``, as a whole or not at all."""
    arrays = {"centroids": lists.centroids.words, "list_of": lists.list_of, "codes_sha256": lists.codes_sha256}
    write_arrays(path, "plain", **arrays)


def load(path: Path, database: Codes) -> Lists:
    """The lists in ``path``, which ``save`` wrote for this ``database``; raises HashbenchError for anything else."""
    # each number is checked before faiss sees it; a file of faiss is never read, for its reader trusts the file
    arrays = {name: array() for name, array in arrays_in(path).items()}
    kinds = {"centroids": "u", "list_of": "i", "codes_sha256": "U"}
    if any(name not in arrays or arrays[name].dtype.kind != kind for name, kind in kinds.items()):
        raise _damaged(path)
    centroids, list_of, sha256 = (arrays[name].whole() for name in kinds)
    if str(sha256) != codes_sha256(database):
        raise HashbenchError(f"{path}: the lists of other codes than these: name another file to be written")
    fits = centroids.ndim == 2 and len(centroids) and centroids.shape[1] == database.words.shape[1]
    if not fits or list_of.shape != (len(database),) or list_of.min() < 0 or list_of.max() >= len(centroids):
        raise _damaged(path)
    return Lists(Codes(centroids.astype(np.uint64), database.n_bits), list_of.astype(np.int32), str(sha256))


def _damaged(path: Path) -> HashbenchError:
    return HashbenchError(f"{path}: not lists that hashbench search --index wrote, or damaged: remove it")


def _n_rows(rows: slice) -> int:
    return int(rows.stop - rows.start)


def _width(codes: Codes) -> int:
    """The number of bits that faiss sees, a multiple of 64; it takes multiples of 8."""
    return 64 * codes.words.shape[1]


def _faiss() -> Any:
    with retold(lambda _: f"--method ivf needs faiss: {how_to_install('search')}", ImportError):
        import faiss
    faiss.omp_set_num_threads(available_cores())
    return faiss
