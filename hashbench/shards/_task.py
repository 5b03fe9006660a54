"""What is done with one shard, in any process: its digest, and its counts. Tasks and results are picklable."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hashbench import histogram
from hashbench.codes import Codes
from hashbench.codes import files as saved_files
from hashbench.codes.files import CodeStream, Explicit, SavedCodes, StoredArray
from hashbench.evaluation.diagnostics import Tally
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import file_sha256
from hashbench.histogram import Histogram
from hashbench.histogram.device import for_pairs
from hashbench.relevance.labels import LabelRelevance, Labels
from hashbench.shards._shard import Place, Shard

Opened = SavedCodes | CodeStream
Pieces = Iterator[tuple[Codes, LabelRelevance]]


@dataclass(frozen=True)
class Source:
    """Where the queries are, and how codes are read: what all shards share."""

    files: tuple[Path, ...]
    explicit: Explicit
    streamed: bool | None = None  # None: where the file can be read item by item
    device: str = "auto"

    def opened(self, shard: Shard) -> Opened:
        """The queries, and the shard as their database."""
        with _named(shard):
            explicit, _ = self._beside(shard)
            return saved_files.opened(
                self.files, explicit=explicit, streamed=self.streamed, held_bytes=0, with_ids=False
            )

    def seen(self, shard: Shard) -> "Seen":
        """The size of the shard by its headers, and the digests of its files."""
        with _named(shard):
            explicit, keys = self._beside(shard)
            n_items, n_bits = saved_files.shape_of(self.files, explicit=explicit)
            _check_stated_bits(shard, n_bits)
            return Seen(tuple(map(_sha256, shard.paths)), keys, n_items, n_bits)

    def _beside(self, shard: Shard) -> tuple[Explicit, tuple[str, str]]:
        """What is said of the files, with the shard as the database; and the keys of its two arrays."""
        codes = saved_files.array_at(str(shard.codes), "database_codes", "--shards")
        labels = saved_files.array_at(str(shard.labels), "database_labels", "--shard-labels")
        if codes.where == labels.where:
            raise HashbenchError(
                f"{codes.where}: one array is no codes and labels: name the labels with --shard-labels"
            )
        places = {"database_codes": _place(shard.codes, codes), "database_labels": _place(shard.labels, labels)}
        layout = self.explicit.layout or _stated_layout(shard)
        return replace(self.explicit, **places, layout=layout), (_key(shard.codes, codes), _key(shard.labels, labels))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Seen:
    """What a shard is, whatever its name: the digests of its files and the keys in them; and its size."""

    sha256: tuple[str, ...]
    keys: tuple[str, str]
    n_items: int
    n_bits: int

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for the same shard under another name, and different for others."""
        return *self.sha256, *self.keys


@dataclass(frozen=True)
class Look:
    """The task that returns what a shard is."""

    source: Source
    shard: Shard

    def __call__(self) -> Seen:
        return self.source.seen(self.shard)


@dataclass(frozen=True)
class Counts:
    """What one shard adds to the total."""

    histogram: Histogram
    tally: Tally
    without_class: tuple[int, int]  # queries and items
    query_sha256: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Count:
    """The task that counts a shard against the queries, some thousands of items at a time."""

    source: Source
    shard: Shard

    def __call__(self) -> Counts:
        saved = self.source.opened(self.shard)
        device = for_pairs(self.source.device, len(saved.query) * saved.n_database, saved.query.n_bits)
        tally, without = Tally(saved.query.n_bits), _WithoutClass()
        with _named(self.shard):
            counted = histogram.count_blocks(
                saved.query, _tallied(saved, tally, without), n_items=saved.n_database, device=device
            )
        return Counts(counted, tally, without.found, query_sha256(saved), saved.notes)


def query_sha256(saved: Opened) -> str:
    """The digest of the codes and the labels of the queries, however they are stored."""
    labels = _as_ids(saved.query_labels)
    names = None if saved.class_names is None else saved.class_names.tolist()
    about = json.dumps([saved.query.shape, labels.shape, labels.dtype.kind, names])
    digest = hashlib.sha256(about.encode())
    digest.update(np.ascontiguousarray(saved.query.words, "<u8").tobytes())
    digest.update(np.ascontiguousarray(labels, "<i8").tobytes())
    return digest.hexdigest()


def _as_ids(labels: Labels) -> Labels:
    """Class ids, also for multi-hot labels of which no query has two: a reader may give the one or the other."""
    if labels.ndim == 1 or (labels.sum(axis=1, dtype=np.int64) > 1).any():
        return labels.astype(np.int64)
    return np.where(labels.any(axis=1), labels.argmax(axis=1), -1).astype(np.int64)


@dataclass
class _WithoutClass:
    """The number of queries and of items that have no class, or no label."""

    found: tuple[int, int] = (0, 0)


def _tallied(saved: Opened, tally: Tally, without: _WithoutClass) -> Pieces:
    """The pieces of the shard; what they tell is added to ``tally`` and to ``without``."""
    for codes, relevance in saved.pieces():
        tally.add(codes)
        queries, items = relevance.without_class()
        without.found = (queries, without.found[1] + items)
        yield codes, relevance


@contextmanager
def _named(shard: Shard) -> Iterator[None]:
    """Errors in the block name the shard."""
    try:
        yield
    except HashbenchError as error:
        if any(str(path) in str(error) for path in shard.paths):
            raise
        raise HashbenchError(f"{shard}: {error}") from None


def _place(place: Place, stored: StoredArray) -> str:
    return f"{place.path}:{stored.name}"


def _key(place: Place, stored: StoredArray) -> str:
    """The key of an array; empty for an .npy, which has none: there it is the name of the file."""
    return "" if stored.where == str(place.path) else stored.name


def _check_stated_bits(shard: Shard, n_bits: int) -> None:
    stated = _stated(shard, "n_bits")
    if stated is not None and stated.shape in ((), (1,), (1, 1)) and stated.small().ravel()[0] != n_bits:
        raise HashbenchError(f"{stated.where} is {stated.small().ravel()[0]}, but the codes are read as {n_bits} bits")


def _stated_layout(shard: Shard) -> str | None:
    stated = _stated(shard, "layout")
    return str(stated.small().item()) if stated is not None and stated.shape == () else None


def _stated(shard: Shard, name: str) -> StoredArray | None:
    arrays = saved_files.arrays_in(shard.codes.path)
    return arrays[name]() if name in arrays else None


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise HashbenchError(f"{path}: cannot be read: {error.strerror}") from None
