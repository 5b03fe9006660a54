"""Vectors without labels in a file of the user: those that are nearest to a query are relevant to it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.running.datasets.audit import byte_keys
from hashbench.running.datasets.custom.data import CustomData, CustomLabels, FileOptions
from hashbench.running.datasets.custom.expected import divided, norms_of
from hashbench.running.datasets.custom.files import ITEMS, key_of, require_numbers
from hashbench.running.datasets.custom.vector_files import arrays_of, vector_columns
from hashbench.running.datasets.protocol import Metric
from hashbench.running.datasets.readers import as_float32
from hashbench.scoring.codes.files import StoredArray, attributes_of

PAIRS = (("train", "test"), ("database", "queries"), ("base", "query"), ("items", "queries"))
UNIT = 1e-3  # a norm that differs from 1 by no more is 1
# the attribute ``distance`` of the files of ann-benchmarks and VIBE; bits as 0 and 1 have Hamming's order by l2
DISTANCES: dict[str, Metric] = {"angular": "cosine", "cosine": "cosine", "normalized": "cosine", "hamming": "l2"}
DISTANCES |= {"euclidean": "l2", "l2": "l2", "ip": "ip", "dot": "ip"}


def _odd_notes(where: str, keys: NDArray[np.uint64], n_queries: int, norms: tuple[float, float]) -> Iterator[str]:
    """Notes about queries that are vectors of the database, by their ``keys``, and about norms that were not 1."""
    n_base = len(keys) - n_queries
    if n_shared := np.isin(keys[n_base:], keys[:n_base]).sum():
        fault = "are vectors of the database, the nearest to themselves: other queries tell more"
        yield f"{where}: {n_shared:,} of the {n_queries:,} queries {fault}"
    lowest, highest = norms
    if lowest < 1 - UNIT or highest > 1 + UNIT:
        yield f"{where}: norms from {lowest:.4g} to {highest:.4g}: stored with norm 1, for cosine"


def read(paths: Sequence[Path], options: FileOptions) -> CustomData:
    """The vectors of one file, or the database and the queries in two, or in two arrays of one.

    With the metric ``cosine`` they get norm 1. Raises HashbenchError for arrays that are no vectors.
    """
    stored = _arrays(paths, options)
    for vectors in stored:
        require_numbers(vectors, (2,), "vectors [n, d] of numbers, or labels of images (--labels KEY or FILE),")
    _, d = stored[0].shape
    n_items = sum(vectors.shape[0] for vectors in stored)
    n_queries = sum(vectors.shape[0] for vectors in stored[1:])
    if stored[-1].shape[1] != d:
        raise HashbenchError(
            f"{stored[-1].where}: queries of {stored[-1].shape[1]:,} numbers, and the database has {d:,}"
        )
    metric, reason = _metric(paths[0], stored, options.metric)
    note = f"{paths[0]}: no labels: relevant are the nearest by {metric} ({reason}); --labels names labels"
    odd: list[str] = []

    def blocks() -> Iterator[NDArray[np.float32]]:
        keys = []
        lowest = 1.0
        highest = 1.0
        for vectors in stored:
            for block in _float32_blocks(vectors):
                items = block
                if metric == "cosine":
                    norms = norms_of(block)
                    lowest = min(lowest, float(norms.min()))
                    highest = max(highest, float(norms.max()))
                    if not lowest:
                        raise HashbenchError(
                            f"{vectors.where}: a vector has norm 0, and no cosine: leave it out, or --metric l2"
                        )
                    items = divided(block, norms)
                keys.append(byte_keys(items))
                yield items
        odd.extend(_odd_notes(str(paths[0]), np.concatenate(keys), n_queries, (lowest, highest)))

    return CustomData(
        paths,
        (d,),
        CustomLabels(np.zeros((n_items, 0), np.uint8), [], (note,)),
        blocks,
        n_queries=n_queries,
        odd=odd,
        metric=metric,
    )


def _arrays(paths: Sequence[Path], options: FileOptions) -> list[StoredArray]:
    """The vectors: of the database and, if there are any, of the queries."""
    arrays = arrays_of(paths[0])
    by_name = {key.lower(): key for key in arrays}
    pair = next((keys for keys in PAIRS if by_name.keys() >= set(keys)), None)
    if pair is not None and len(paths) == 1 and options.items is None:
        return [arrays[by_name[key]]() for key in pair]
    return [_vectors_in(path, options.items) for path in paths]


def _vectors_in(path: Path, key: str | None) -> StoredArray:
    arrays = arrays_of(path)
    columns = vector_columns(path, arrays)
    if key is None and len(columns) == 1:
        key = columns[0]
    return arrays[key_of(path, arrays, key, ITEMS, "say --items KEY")]()


def _metric(path: Path, stored: Sequence[StoredArray], chosen: Metric | None) -> tuple[Metric, str]:
    """The metric and where it comes from: as chosen, as the file says, or by the norms."""
    if chosen is not None:
        return chosen, "--metric"
    stated = None
    if path.suffix.lower() in (".h5", ".hdf5"):
        stated = attributes_of(path).get("distance")
    if stated is not None:
        if stated.lower() not in DISTANCES:
            known = ", ".join(sorted(DISTANCES))
            raise HashbenchError(f"{path}: distance {printable(stated)}: one of {known}, or --metric")
        return DISTANCES[stated.lower()], f"its distance is {printable(stated)}"
    for vectors in stored:
        for block in _float32_blocks(vectors):
            if (np.abs(norms_of(block) - 1) > UNIT).any():
                return "l2", f"in {vectors.where} not all norms are 1 within {UNIT}"
    return "cosine", f"all norms are 1 within {UNIT}"


def _float32_blocks(stored: StoredArray) -> Iterator[NDArray[np.float32]]:
    for rows in stored.row_slabs():
        yield as_float32(stored.where, rows)
