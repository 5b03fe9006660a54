"""Reads the counts, the id lists and the codes in a bundle, from files that anybody may have made."""

from collections.abc import Set
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.learning.contract import CODES
from hashbench.learning.sparse.codes import SparseCodes, top_k
from hashbench.learning.sparse.evaluate import as_hamming
from hashbench.running.datasets.split import Split
from hashbench.running.runs.row import Row
from hashbench.scoring import histogram
from hashbench.scoring.codes import Codes, files
from hashbench.scoring.codes.distinct import DistinctCodes, count_distinct
from hashbench.scoring.codes.files import StoredArray, arrays_in
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.ranking import Ranked, Rankings
from hashbench.scoring.histogram.retrieval import CUTOFFS, Retrieval
from hashbench.scoring.histogram.sorted_searches import sorted_searches
from hashbench.scoring.relevance.labels import Relevance

MOST_BYTES = 4 << 30  # of one array in memory
MOST_COUNT = 1 << 40  # of items at a distance: a sum of such counts does not overflow

RETRIEVAL = {"n_items", "contingency", *(f"{name}_{k}" for name in ("relevant", "n_candidates") for k in CUTOFFS)}
LISTS = {"query_ids", "database_ids", "train_ids", "sha256"}
BINARY = {"query_codes", "database_codes", "n_bits", "layout"}
SPARSE = {"buckets", "d", "query_activations"}
BESIDE = {"query_labels", "database_labels", "query_ids", "database_ids", "dataset"}
BESIDE |= {files.BIT_WEIGHTS, files.QUERY_ACTIVATIONS}


def read_counts(path: Path) -> Histogram | Retrieval:
    """The histogram or, by the name of the file, the retrieval in it; raises HashbenchError unless it can be one."""
    if path.name.startswith("retrieval"):
        _arrays(path, RETRIEVAL)
        return Retrieval.load(path)
    arrays = _arrays(path, {"counts", "levels"})
    counts = arrays["counts"]
    levels = arrays["levels"]
    if len(counts.shape) != 3 or counts.shape[2:] != levels.shape or {counts.dtype.str, levels.dtype.str} != {"<i8"}:
        raise HashbenchError(f"{path}: counts {counts.shape}, levels {levels.shape}: integers [q, d, v] and [v] go")
    counted = Histogram(counts.whole(np.int64), levels.small().astype(np.int64))
    if not counted.levels.size or counted.levels[0] != 0 or (np.diff(counted.levels) <= 0).any():
        raise HashbenchError(f"{path}: its levels do not ascend from 0")
    fits = not counted.counts.size or 0 <= counted.counts.min() <= counted.counts.max() <= MOST_COUNT
    if not fits or len(np.unique(counted.counts.sum(axis=(1, 2)))) > 1:
        raise HashbenchError(f"{path}: its counts are negative, too large, or not of as many items for each query")
    return counted


def read_id_lists(path: Path) -> Split:
    """The id lists in a file; raises HashbenchError unless they have the checksum that is stored beside them."""
    arrays = _arrays(path, LISTS, {"validation_ids"})
    stated = str(arrays.pop("sha256").small())
    ids = {name: _ids(array) for name, array in arrays.items()}
    chosen = Split(ids["query_ids"], ids["database_ids"], ids["train_ids"])
    if "validation_ids" in ids:
        chosen = replace(chosen, validation_ids=ids["validation_ids"])
    if chosen.sha256 != stated:
        raise HashbenchError(f"{path}: its ids have SHA-256 {chosen.sha256}, and it says {stated[:64]}")
    return chosen


@dataclass(frozen=True, eq=False)
class RunCodes:
    """The codes of a run and what their file has beside them; ``weights`` are the learned weights of the bits."""

    query: Codes
    database: Codes
    distinct: DistinctCodes
    relevance: Relevance | None = None  # by the labels of the file; None: it has none
    weights: NDArray[np.float64] | None = None
    activations: NDArray[np.float32] | None = None  # of the queries
    ids: dict[str, NDArray[np.int64]] | None = None  # query_ids and database_ids

    def histogram(self, relevance: Relevance) -> Histogram:
        """The histogram of the codes; raises HashbenchError if ``relevance`` is of another number of items."""
        shape = len(self.query), len(self.database)
        if relevance.shape != shape:
            held, needed = (f"{n:,} queries and {items:,} items" for n, items in (shape, relevance.shape))
            raise HashbenchError(f"{CODES}: codes of {held}: {needed} are expected")
        _require_memory(f"{CODES}: its histogram", 8 * shape[0] * (self.query.n_bits + 1) * len(relevance.levels))
        return histogram.count(self.query, self.database, relevance, progress=True)

    def ranked(self, relevance: Relevance) -> dict[Ranked, Rankings]:
        """The rankings by the distances that the file gives beside Hamming's; HashbenchError if they can be none."""
        codes = self.query, self.database
        return sorted_searches(*codes, relevance, weights=self.weights, activations=self.activations, progress=True)


def read_codes(path: Path, row: Row) -> RunCodes:
    """The codes of the run of ``row`` in its file; raises an error unless they can be codes."""
    if "retrieval" in row.artefacts:
        return _sparse(path, row)
    arrays = _arrays(path, BINARY, BESIDE)
    relevance = None
    ids = None
    weights = None
    activations = None
    if "query_labels" in arrays:
        saved = files.load(path)
        query = saved.query
        database = saved.database
        relevance = saved.relevance
    else:
        query, database, _ = files.load_codes(path)
        ids = {name: _ids(array) for name, array in arrays.items() if name in ("query_ids", "database_ids")}
    if files.BIT_WEIGHTS in arrays:
        weights = files.weights_at(f"{path}:{files.BIT_WEIGHTS}", query)
    if files.QUERY_ACTIVATIONS in arrays:
        stored = arrays[files.QUERY_ACTIVATIONS]
        shape = (len(query), query.n_bits)
        if (stored.dtype.str, stored.shape) != ("<f4", shape):
            raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: float32 {shape} is expected")
        activations = stored.whole()
    distinct = DistinctCodes(queries=count_distinct(query.words), database=count_distinct(database.words))
    return RunCodes(query, database, distinct, relevance, weights, activations, ids)


def _sparse(path: Path, row: Row) -> RunCodes:
    """Sparse codes as binary codes of d bits, of which k are set."""
    arrays = _arrays(path, SPARSE)
    buckets = arrays["buckets"]
    activations = arrays["query_activations"]
    d = int(arrays["d"].small().item())
    k = buckets.shape[1]
    settings = row.config["settings"] | row.settings
    stated = (settings.get("d"), settings.get("k"))
    if stated != (d, k) or activations.shape[1:] != (d,):
        raise HashbenchError(f"{path}: codes of {k} of {d} buckets: the row says {stated[1]} of {stated[0]}")
    _require_memory(f"{path}: its codes", (buckets.shape[0] + activations.shape[0]) * d // 8)
    database = SparseCodes(buckets.whole(), d)
    query = top_k(activations.whole(), k)
    distinct = DistinctCodes(queries=query.n_distinct, database=database.n_distinct)
    return RunCodes(as_hamming(query), as_hamming(database), distinct)


def _arrays(path: Path, names: set[str], others: Set[str] = frozenset()) -> dict[str, StoredArray]:
    """The arrays of an .npz, of these ``names`` and perhaps some ``others``, that fit into memory; none is read yet."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise HashbenchError(f"{path}: not a .npz file")
    arrays = {name: array() for name, array in arrays_in(path).items()}
    if not names <= arrays.keys() <= names | others:
        held = ", ".join(sorted(arrays)) or "nothing"
        raise HashbenchError(f"{path}: it holds {held}: {', '.join(sorted(names))} go")
    for array in arrays.values():
        _require_memory(array.where, prod(map(int, array.shape)) * array.dtype.itemsize)
    return arrays


def _require_memory(where: str, n_bytes: int) -> None:
    if n_bytes > MOST_BYTES:
        raise HashbenchError(f"{where}: {n_bytes:,} bytes: {MOST_BYTES:,} at most")


def _ids(array: StoredArray) -> NDArray[Any]:
    if len(array.shape) != 1 or array.dtype.str != "<i8":
        raise HashbenchError(f"{array.where}: {array.dtype} of shape {array.shape}: ids, int64 [n], are expected")
    return array.whole(np.int64)
