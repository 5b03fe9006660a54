"""The codes of a run, read again: their histogram, their distinct codes, and their weighted rankings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.bundle.counts import checked_arrays, read_ids, require_memory
from hashbench.codes import Codes, files, pack
from hashbench.codes.distinct import DistinctCodes, count_distinct
from hashbench.codes.files import StoredArray
from hashbench.contract import CODES, histogram_of
from hashbench.datasets.card import load_card
from hashbench.datasets.protocol import Percentiles
from hashbench.datasets.relevance import relevance_of
from hashbench.datasets.split import Split
from hashbench.datasets.store import open_dataset
from hashbench.foundation.errors import HashbenchError
from hashbench.histogram import Histogram
from hashbench.histogram.ranking import WeightedRankings
from hashbench.relevance.labels import Relevance
from hashbench.runs.row import Row
from hashbench.sparse.codes import SparseCodes, top_k
from hashbench.sparse.evaluate import as_hamming

BINARY = {"query_codes", "database_codes", "n_bits", "layout"}
SPARSE = {"buckets", "d", "query_activations"}
BESIDE = frozenset({"query_labels", "database_labels", "query_ids", "database_ids", "dataset", files.BIT_WEIGHTS})


class NotHere(HashbenchError):  # noqa: N818  (what is missing, as DamagedHasher)
    """What is needed to count the codes again is not on this machine."""


@dataclass(frozen=True, eq=False)
class RunCodes:
    """The codes of a run and what stands beside them in their file; ``weights`` are the learned weights of the bits."""

    query: Codes
    database: Codes
    distinct: DistinctCodes
    relevance: Relevance | None = None  # by the labels of the file; None: it has none
    weights: NDArray[np.float64] | None = None
    query_ids: NDArray[np.int64] | None = None
    database_ids: NDArray[np.int64] | None = None

    def histogram(self, relevance: Relevance) -> Histogram:
        """The histogram of the codes; raises HashbenchError if ``relevance`` is of another number of items."""
        shape = len(self.query), len(self.database)
        if relevance.shape != shape:
            raise HashbenchError(f"{CODES}: codes of {_sides(shape)}: {_sides(relevance.shape)} are expected")
        require_memory(f"{CODES}: its histogram", 8 * shape[0] * (self.query.n_bits + 1) * len(relevance.levels))
        return histogram_of(self.query, self.database, relevance, progress=True)

    def weighted(self, relevance: Relevance) -> WeightedRankings | None:
        """The rankings by the weighted Hamming distance; None if no weights were learned."""
        if self.weights is None:
            return None
        return WeightedRankings(self.query, self.database, self.weights, relevance, progress=True)


def read_codes(path: Path, row: Row) -> RunCodes:
    """The codes of the run of ``row`` in its file; raises HashbenchError unless they can be codes."""
    if "retrieval" in row.artefacts:
        return _sparse(path, row)
    arrays = checked_arrays(path, BINARY, BESIDE)
    weights = files.weights_at(files.BIT_WEIGHTS, [path], _n_bits(arrays)) if files.BIT_WEIGHTS in arrays else None
    if "query_labels" in arrays:
        saved = files.load(path)
        return RunCodes(saved.query, saved.database, _distinct(saved.query, saved.database), saved.relevance, weights)
    query, database = (_packed(arrays[name]) for name in ("query_codes", "database_codes"))
    ids = [read_ids(arrays[name]) if name in arrays else None for name in ("query_ids", "database_ids")]
    return RunCodes(query, database, _distinct(query, database), None, weights, *ids)


def _n_bits(arrays: dict[str, StoredArray]) -> int:
    return int(arrays["query_codes"].shape[-1]) if arrays["query_codes"].shape else 0


def _packed(stored: StoredArray) -> Codes:
    if len(stored.shape) != 2 or stored.dtype != np.uint8:
        raise HashbenchError(f"{stored.where}: {stored.dtype} of shape {stored.shape}: bits, uint8 [n, bits] go")
    return pack(stored.whole())


def _distinct(query: Codes, database: Codes) -> DistinctCodes:
    return DistinctCodes(queries=count_distinct(query.words), database=count_distinct(database.words))


def _sparse(path: Path, row: Row) -> RunCodes:
    """Sparse codes as binary codes of d bits, of which k are set."""
    arrays = checked_arrays(path, SPARSE)
    d, k = (_number(row.settings.get(name, row.config["settings"].get(name)), path, name) for name in ("d", "k"))
    n_codes = sum(arrays[name].shape[0] for name in ("buckets", "query_activations") if arrays[name].shape)
    require_memory(f"{path}: its codes", n_codes * d // 8)
    buckets, activations = arrays["buckets"].whole(), arrays["query_activations"].whole()
    if int(arrays["d"].small().item()) != d or activations.ndim != 2 or activations.shape[1] != d:
        raise HashbenchError(f"{path}: codes of other than the {d} buckets that the row says")
    database, query = SparseCodes(buckets, d), top_k(activations, k)
    distinct = DistinctCodes(queries=query.n_distinct, database=database.n_distinct)
    return RunCodes(as_hamming(query), as_hamming(database), distinct)


def _number(value: Any, path: Path, name: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise HashbenchError(f"{path}: sparse codes, and the row says no {name}")
    return value


def relevance_here(row: Row, ids: Split | None) -> Relevance:
    """The relevance of the database to the queries of a run, from the data set on this machine.

    Raises NotHere where that has not what is needed.
    """
    if ids is None:
        raise NotHere("the id lists are not in the bundle")
    try:
        card = load_card(row.dataset)
        data, rule = open_dataset(card), card.protocol(row.protocol)
    except HashbenchError as error:
        raise NotHere(str(error)) from None
    if data.sha256 != row.data_sha256:
        raise NotHere(f"the data set {row.dataset} here is not the one of the row")
    if isinstance(rule.relevance, Percentiles) and rule.relevance.features is not None:
        raise NotHere(f"relevance goes by distances of features, {rule.relevance.features}")
    return relevance_of(data, ids, rule)


def _sides(shape: tuple[int, int]) -> str:
    return f"{shape[0]:,} queries and {shape[1]:,} items"
