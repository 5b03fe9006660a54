"""Vectors without labels in a file of the user: those that are nearest to a query are relevant to it."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, counted, printable
from hashbench.running.datasets.audit import byte_keys
from hashbench.running.datasets.custom.data import CustomData, CustomLabels, FileOptions, Spread
from hashbench.running.datasets.custom.expected import divided, norms_of
from hashbench.running.datasets.custom.files import ITEMS, key_of
from hashbench.running.datasets.custom.vector_files import arrays_of, vector_columns
from hashbench.running.datasets.protocol import Metric
from hashbench.running.datasets.readers import as_float32
from hashbench.scoring.codes.files import StoredArray, attributes_of, parted

PAIRS = (("train", "test"), ("database", "queries"), ("base", "query"), ("items", "queries"))
NEIGHBOURS = ("neighbors", "neighbours")
UNIT = 1e-3  # a norm that differs from 1 by no more is 1
# the attribute ``distance`` of the files of ann-benchmarks and VIBE; bits as 0 and 1 have Hamming's order by l2
DISTANCES: dict[str, Metric] = {"angular": "cosine", "cosine": "cosine", "normalized": "cosine", "hamming": "l2"}
DISTANCES |= {"euclidean": "l2", "l2": "l2", "ip": "ip", "dot": "ip"}


class VectorSpread(Spread):
    """Keeps the norms before they became 1 too, and a key of each vector to find repeated ones.

    The last ``n_queries`` vectors are queries.
    """

    def __init__(self, n_queries: int) -> None:
        super().__init__()
        self.n_queries = n_queries
        self.keys: list[NDArray[np.uint64]] = []
        self.lowest = np.inf
        self.highest = 0.0

    def add(self, items: NDArray[Any]) -> None:
        """Adds a block [n, d]."""
        super().add(items)
        self.keys.append(byte_keys(items))

    def notes(self, where: str) -> list[str]:
        """Notes about constant features, repeated vectors and other norms than 1, a line each."""
        lines = super().notes(where)
        keys = np.concatenate(self.keys)
        n_base = len(keys) - self.n_queries
        base = np.unique(keys[:n_base])
        if n_repeated := n_base - len(base):
            lines.append(f"{where}: {n_repeated:,} of {counted(n_base, 'vector')} repeat another: they tie")
        if n_shared := np.isin(keys[n_base:], base).sum():
            fault = "are vectors of the database, the nearest to themselves: other queries tell more"
            lines.append(f"{where}: {n_shared:,} of the {self.n_queries:,} queries {fault}")
        if self.lowest < 1 - UNIT or self.highest > 1 + UNIT:
            lines.append(f"{where}: norms from {self.lowest:.4g} to {self.highest:.4g}: stored with norm 1, for cosine")
        return lines


def read(paths: Sequence[Path], options: FileOptions) -> CustomData:
    """The vectors of one file, or the database and the queries in two, or in two arrays of one.

    With the metric ``cosine`` they get norm 1. Raises HashbenchError for arrays that are no vectors.
    """
    stored, neighbours, attributes = _arrays(paths, options)
    for vectors in stored:
        _require_vectors(vectors)
    _, d = stored[0].shape
    n_items = sum(vectors.shape[0] for vectors in stored)
    n_queries = sum(vectors.shape[0] for vectors in stored[1:])
    if stored[-1].shape[1] != d:
        raise HashbenchError(
            f"{stored[-1].where}: queries of {stored[-1].shape[1]:,} numbers, and the database has {d:,}"
        )
    if neighbours is not None and not n_queries:
        raise HashbenchError(f"{neighbours.where}: neighbours of queries that are not given: --queries FILE")
    metric, reason = _metric(stored, options.metric, attributes)
    note = f"{paths[0]}: no labels: relevant are the nearest by {metric} ({reason}); --labels names labels"
    spread = VectorSpread(n_queries)
    blocks = [partial(_blocks, vectors, metric, spread) for vectors in stored]
    return CustomData(
        paths,
        (d,),
        CustomLabels(np.zeros((n_items, 0), np.uint8), [], (note,)),
        lambda: chain.from_iterable(of_part() for of_part in blocks),
        n_queries=n_queries,
        spread=spread,
        metric=metric,
        neighbours=neighbours,
    )


def _arrays(
    paths: Sequence[Path], options: FileOptions
) -> tuple[list[StoredArray], StoredArray | None, dict[str, str]]:
    """The vectors (of the database and, if there are any, of the queries), their neighbours, and attributes."""
    neighbours = None
    if options.neighbours is not None:
        path, key = parted(options.neighbours)
        arrays = arrays_of(path)
        neighbours = arrays[key_of(path, arrays, key, NEIGHBOURS, f"say --neighbours {path}:KEY")]()
    arrays = arrays_of(paths[0])
    by_name = {key.lower(): key for key in arrays}
    pair = next((keys for keys in PAIRS if by_name.keys() >= set(keys)), None)
    if pair is not None and len(paths) == 1 and options.items is None:
        stored = [arrays[by_name[key]]() for key in pair]
        if neighbours is None:
            neighbours = next((arrays[by_name[key]]() for key in NEIGHBOURS if key in by_name), None)
    else:
        stored = [_vectors_in(path, options.items) for path in paths]
    attributes = {}
    if paths[0].suffix.lower() in (".h5", ".hdf5"):
        attributes = attributes_of(paths[0])
    return stored, neighbours, attributes


def _vectors_in(path: Path, key: str | None) -> StoredArray:
    arrays = arrays_of(path)
    columns = vector_columns(path, arrays)
    if key is None and len(columns) == 1:
        key = columns[0]
    return arrays[key_of(path, arrays, key, ITEMS, "say --items KEY")]()


def _require_vectors(stored: StoredArray) -> None:
    shape = stored.shape
    kind = stored.dtype.kind
    fault = None
    if len(shape) > 2:
        fault = f"images of shape {shape} need labels: name them with --labels KEY or --labels FILE"
    elif len(shape) != 2 or 0 in shape:
        fault = f"shape {shape}: vectors [n, d] are expected"
    elif kind not in "biuf":
        fault = f"{stored.dtype}: numbers are expected"
    if fault is not None:
        raise HashbenchError(f"{stored.where}: {fault}")


def _metric(stored: Sequence[StoredArray], chosen: Metric | None, attributes: dict[str, str]) -> tuple[Metric, str]:
    """The metric and where it comes from: as chosen, as the file says, or by the norms."""
    if chosen is not None:
        return chosen, "--metric"
    if (stated := attributes.get("distance")) is not None:
        if stated.lower() not in DISTANCES:
            known = ", ".join(sorted(DISTANCES))
            raise HashbenchError(f"{stored[0].where}: distance {printable(stated)}: one of {known}, or --metric")
        return DISTANCES[stated.lower()], f"its distance is {printable(stated)}"
    for vectors in stored:
        for block in _float32_blocks(vectors):
            if (np.abs(norms_of(block) - 1) > UNIT).any():
                return "l2", f"in {vectors.where} not all norms are 1 within {UNIT}"
    return "cosine", f"all norms are 1 within {UNIT}"


def _blocks(stored: StoredArray, metric: Metric, spread: VectorSpread) -> Iterator[NDArray[np.float32]]:
    """The vectors in float32, of norm 1 for cosine."""
    first = 0
    for vectors in _float32_blocks(stored):
        block = vectors
        if metric == "cosine":
            norms = norms_of(vectors)
            if not norms.all():
                row = first + int(np.argmin(norms))
                raise HashbenchError(
                    f"{stored.where}: row {row} has norm 0, and no cosine: leave it out, or --metric l2"
                )
            spread.lowest = min(spread.lowest, float(norms.min()))
            spread.highest = max(spread.highest, float(norms.max()))
            block = divided(vectors, norms)
        first += len(block)
        yield block


def _float32_blocks(stored: StoredArray) -> Iterator[NDArray[np.float32]]:
    for rows in stored.row_slabs():
        yield as_float32(stored.where, rows)
