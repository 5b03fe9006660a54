"""What a search by the codes of a run costs on this machine, and what it finds without floats of the items."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation import provenance
from hashbench.foundation.arrays import open_arrays
from hashbench.foundation.config import Strict, parse
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.foundation.parallel import training_threads
from hashbench.learning.contract import CODES, BinaryHasher, Hasher, ItemRows, SearchItems
from hashbench.learning.methods import QuantisingHasher
from hashbench.running.datasets.neighbours import StoredRows
from hashbench.running.datasets.protocol import Metric, Neighbours
from hashbench.running.runs.data import RunData, open_data
from hashbench.running.runs.guard import load_hasher
from hashbench.running.runs.row import Row
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring.codes import Codes, pack
from hashbench.scoring.codes.files import QUERY_ACTIVATIONS
from hashbench.scoring.evaluation.reordered import reordered_recall
from hashbench.scoring.histogram.estimates import by_activations
from hashbench.scoring.histogram.ranking import hamming
from hashbench.scoring.relevance.neighbours import NeighbourRelevance

FILE = "search_cost.json"
# items that are encoded, so many times
N_ENCODED = 2000
N_TIMES = 3
# that are timed: fewer where they take more seconds
N_QUERIES = 20
MOST_S = 1.0
Array = NDArray[Any]


class SearchCost(Strict):
    """Times on one thread of ``cpu``; ``query_ms`` by the query, bits or float, with ``candidates`` rescored."""

    cpu: str
    k: int
    candidates: int
    encode_us: float
    query_ms: dict[str, float]
    without_floats: float | None = None  # recall at k: candidates by Hamming distance, ordered by query times bits


def search_cost(run: Run, row: Row, store: Store, candidates: int) -> SearchCost:
    """The cost that is kept in the folder of the run; it is measured where there is none of so many candidates."""
    rule = run.protocol.relevance
    assert isinstance(rule, Neighbours)
    path = store.run_folder(row.run) / FILE
    if (kept := _read(path)) is not None and (kept.k, kept.candidates) == (rule.k, candidates):
        return kept
    data = open_data(run)
    hasher = load_hasher(row, store, run=run)
    with open_arrays(path.with_name(CODES)) as stored:
        arrays: dict[str, Array] = {name: stored[name] for name in stored.files}
    cost = _measured(data, hasher, arrays, rule, candidates)
    write_text(path, json.dumps(cost.model_dump()) + "\n")
    return cost


def _read(path: Path) -> SearchCost | None:
    """What is kept; None where it is missing or damaged."""
    try:
        return parse(SearchCost, json.loads(path.read_text(encoding="utf-8")), str(path))
    except (OSError, ValueError, HashbenchError):
        return None


def _measured(data: RunData, hasher: Hasher, arrays: dict[str, Array], rule: Neighbours, candidates: int) -> SearchCost:
    """The times of the codes that the run has saved."""
    queries = StoredRows(data.compared.items, data.ids.query_ids)
    database = StoredRows(data.compared.items, data.ids.database_ids)
    floats = _Floats(queries, database, rule, candidates)
    without_floats = None
    if isinstance(hasher, BinaryHasher):
        query = pack(arrays["query_codes"])
        items = pack(arrays["database_codes"])
        z = arrays[QUERY_ACTIVATIONS]
        by_bits = hamming(query, items)
        by_query = {
            "bits": lambda number: by_bits(slice(number, number + 1))[0],
            "float": _asymmetric(query, items, z),
        }
        relevance = data.relevance
        assert isinstance(relevance, NeighbourRelevance)
        without_floats = float(np.nanmean(reordered_recall(query, items, z, relevance.ids, candidates)))
    else:
        by_query = {"float": _estimates(cast("QuantisingHasher", hasher), arrays)}
    with training_threads(1):
        query_ms = {name: floats.milliseconds(distances) for name, distances in by_query.items()}
        encode_us = _encode_us(data, hasher)
    return SearchCost(
        cpu=str(provenance.hardware("cpu")["cpu"]),
        k=rule.k,
        candidates=candidates,
        encode_us=encode_us,
        query_ms=query_ms,
        without_floats=without_floats,
    )


def _encode_us(data: RunData, hasher: Hasher) -> float:
    """Microseconds to encode an item: the median of some times that many are encoded together."""
    items = data.search_items
    ids = items.database.ids[:N_ENCODED]
    few = SearchItems(items.dataset, ItemRows(data.items, items.queries.ids[:1]), ItemRows(data.items, ids))
    seconds = []
    for _ in range(N_TIMES):
        started = time.perf_counter()
        hasher.output(few)
        seconds.append(time.perf_counter() - started)
    return median(seconds) / len(ids) * 1e6


def _asymmetric(query: Codes, database: Codes, activations: Array) -> Callable[[int], Array]:
    """The distances of one query: of several together the items would be decoded once."""

    def distances(number: int) -> Array:
        one = slice(number, number + 1)
        return by_activations(activations[one], query[one], database)(slice(0, 1))[0]

    return distances


def _estimates(hasher: QuantisingHasher, arrays: dict[str, Array]) -> Callable[[int], Array]:
    """The estimates of one query: of several together the items would be decoded once."""
    items = {name.removeprefix("database_"): array for name, array in arrays.items() if name.startswith("database_")}
    prepared = hasher.function.prepared(items)
    queries = {name.removeprefix("query_"): array for name, array in arrays.items() if name.startswith("query_")}

    def distances(number: int) -> Array:
        one = {name: array[number : number + 1] for name, array in queries.items()}
        return hasher.function.distances(one, prepared)(slice(0, 1))[0]

    return distances


class _Floats:
    """The floats by which the first candidates of a query are ordered again."""

    def __init__(self, queries: StoredRows, database: StoredRows, rule: Neighbours, candidates: int) -> None:
        self.queries = queries[slice(0, N_QUERIES)].astype(np.float32)
        self.database = database
        self.k = rule.k
        self.metric = rule.metric
        self.candidates = min(candidates, database.shape[0])

    def milliseconds(self, distances: Callable[[int], Array]) -> float:
        """The median time of a query: the distances to all items, the first candidates, and their order by floats."""
        seconds = list[float]()
        for number, query in enumerate(self.queries):
            started = time.perf_counter()
            candidates = np.argpartition(distances(number), self.candidates - 1)[: self.candidates]
            items = self.database[candidates].astype(np.float32)
            candidates = candidates[np.argsort(_floats_between(query, items, self.metric))[: self.k]]
            seconds.append(time.perf_counter() - started)
            if sum(seconds) > MOST_S:
                break
        return median(seconds) * 1e3


def _floats_between(query: Array, items: Array, metric: Metric) -> Array:
    if metric == "l2":
        items -= query
        return np.einsum("nd,nd->n", items, items)
    products: Array = -(items @ query)
    if metric == "cosine":
        return products / np.linalg.norm(items, axis=1)
    return products
