"""The file of ``--counts``: the total of the shards that are finished, in an .npz, written whole or not at all."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import arrays_in
from hashbench.evaluation.diagnostics import Tally
from hashbench.foundation import config
from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.files import atomic, holder_in, locked, require_output, resolved, write_holder
from hashbench.histogram import Histogram
from hashbench.shards._total import Entry, Total

OPTION = "--counts"
SCHEMA = 1
NOT_COUNTS = "not a file that --counts wrote: name another file"

Arrays = Mapping[str, NDArray[Any]]


class _About(Strict):
    """All of the file that is not an array, as JSON."""

    schema_version: int
    query_sha256: str
    entries: list[Entry]
    pending: list[list[str]]
    arrays_sha256: str


def write(path: Path, total: Total) -> None:
    """Writes the total, whole or not at all."""
    arrays = {"counts": total.histogram.counts, "levels": total.histogram.levels, **total.tally.arrays()}
    about = _About(
        schema_version=SCHEMA,
        query_sha256=total.query_sha256,
        entries=list(total.entries),
        pending=sorted(map(list, total.pending)),
        arrays_sha256=_sha256(arrays),
    )
    text = np.frombuffer(about.model_dump_json().encode(), np.uint8)
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, about=text, **arrays)


def read(path: Path) -> Total | None:
    """The total that ``write`` wrote; None where there is no file.

    Raises HashbenchError for a file that is damaged, of another schema or of something else. Nothing is unpickled.
    """
    if not path.exists():
        return None
    return quietly(str(path), lambda: _read(path), NOT_COUNTS)


def _read(path: Path) -> Total:
    stored = arrays_in(path)
    if not {"about", "counts", "levels"} <= stored.keys():
        raise HashbenchError(f"{path}: {NOT_COUNTS}")
    about = _about(path, stored["about"]().whole().tobytes().decode())
    arrays = {name: stored[name]().whole() for name in stored if name != "about"}
    total = Total(
        Histogram(arrays.pop("counts"), arrays.pop("levels")),
        Tally.of_arrays(arrays),
        about.query_sha256,
        tuple(about.entries),
        frozenset(map(tuple, about.pending)),
    )
    arrays |= {"counts": total.histogram.counts, "levels": total.histogram.levels}
    if _sha256(arrays) != about.arrays_sha256 or not _adds_up(total):
        raise HashbenchError(f"{path}: damaged: its counts are not those of its shards: name another file")
    return total


def _about(path: Path, text: str) -> _About:
    values = config.json_object(text)
    if (version := values.get("schema_version")) != SCHEMA:
        raise HashbenchError(f"{path}: of schema {printable(str(version))}; this version of hashbench has {SCHEMA}")
    return config.parse(_About, values, str(path))


def _adds_up(total: Total) -> bool:
    counts, tally = total.histogram.counts, total.tally
    shapes = counts.ndim == 3 and counts.shape[2] == len(total.histogram.levels)
    return shapes and bool((counts.sum(axis=(1, 2)) == total.n_items).all()) and tally.n_items == total.n_items


def _sha256(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@contextmanager
def held(path: Path | None) -> Iterator[None]:
    """Holds the file for this process during the block; raises HashbenchError that says who holds it already."""
    if path is None:
        yield
        return
    if path.suffix != ".npz":
        raise HashbenchError(f"{OPTION} {path}: a file that ends in .npz is expected")
    require_output(path, OPTION)
    place = resolved(path)
    holder = place.with_name(f".{place.name}.lock-holder.txt")
    busy = f"{path}: {holder_in(holder)} adds shards to it: wait for it"
    with locked(place.with_name(f".{place.name}.lock"), wait=False, busy=busy, instead=OPTION):
        write_holder(holder)
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
