"""The sum of what shards gave, and the file of ``--counts``, an .npz that holds it."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation import config
from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError, printable, quietly
from hashbench.foundation.files import holder_in, locked, require_output, resolved, write_holder
from hashbench.scoring.codes.files import arrays_in
from hashbench.scoring.evaluation.scores import Evidence

OPTION = "--counts"
SCHEMA = 1
NOT_COUNTS = "not a file that --counts wrote: name another file"

Count = Annotated[int, Field(ge=0)]


class Entry(Strict):
    """A shard: its name, its content and its items; and what was found when it was counted, with notes about it."""

    file: str
    sha256: list[str]  # of its files
    keys: list[str]  # of the arrays in them
    items: Annotated[int, Field(ge=1)]
    without_class: list[Count]  # queries and items
    notes: list[str]

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for the same shard under another name, and different for others."""
        return *self.sha256, *self.keys


@dataclass(frozen=True)
class Total:
    """The evidence of all shards in ``entries``, against the queries with this digest."""

    evidence: Evidence
    query_sha256: str
    entries: tuple[Entry, ...]

    @property
    def identities(self) -> dict[tuple[str, ...], Entry]:
        """The entries by what the shards are."""
        return {entry.identity: entry for entry in self.entries}

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes about all shards, each once."""
        return tuple(dict.fromkeys(note for entry in self.entries for note in entry.notes))

    def merged(self, other: "Total") -> "Total":
        """The total with other shards; this one cannot be used any more."""
        return replace(self, evidence=self.evidence.merged(other.evidence), entries=(*self.entries, *other.entries))


class _About(Strict):
    """All of the file that is not an array, as JSON."""

    schema_version: int
    query_sha256: str
    entries: Annotated[list[Entry], Field(min_length=1)]
    pending: list[list[str]] = []  # of a former option
    arrays_sha256: str


def write_total(path: Path, total: Total) -> None:
    """Writes the total, whole or not at all."""
    arrays = total.evidence.arrays()
    about = _About(
        schema_version=SCHEMA,
        query_sha256=total.query_sha256,
        entries=list(total.entries),
        pending=[],
        arrays_sha256=_sha256(arrays),
    )
    write_arrays(path, {"about": np.frombuffer(about.model_dump_json().encode(), np.uint8)} | arrays, "plain")


def read_total(path: Path) -> Total | None:
    """The total that ``write_total`` wrote; None without a file; raises HashbenchError for any other content."""
    if not path.exists():
        return None
    return quietly(str(path), lambda: _read(path), NOT_COUNTS)


def _read(path: Path) -> Total:
    stored = arrays_in(path)
    if not {"about", "counts", "levels"} <= stored.keys():
        raise HashbenchError(f"{path}: {NOT_COUNTS}")
    values = config.json_object(stored["about"]().whole().tobytes().decode())
    if (version := values.get("schema_version")) != SCHEMA:
        stated = printable(str(version))
        raise HashbenchError(f"{path}: has schema {stated}, but this version of hashbench reads schema {SCHEMA}")
    about = config.parse(_About, values, str(path))
    arrays = {name: stored[name]().whole() for name in stored if name != "about"}
    without_class = about.entries[0].without_class[0], sum(entry.without_class[1] for entry in about.entries)
    evidence = Evidence.of_arrays(arrays, without_class)
    n_items = sum(entry.items for entry in about.entries)
    counts = arrays["counts"]
    fits = counts.ndim == 3 and counts.shape[2] == len(arrays["levels"]) and evidence.n_items == n_items
    if _sha256(arrays) != about.arrays_sha256 or not fits or (counts.sum(axis=(1, 2)) != n_items).any():
        raise HashbenchError(f"{path}: damaged: its counts are not those of its shards: name another file")
    return Total(evidence, about.query_sha256, tuple(about.entries))


def _sha256(arrays: Mapping[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


@contextmanager
def locked_total(path: Path) -> Iterator[None]:
    """Holds the file for this process during the block; raises HashbenchError that says who holds it already."""
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
