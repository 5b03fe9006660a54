"""The shards of a database: files that are counted one by one, by any process; their histograms add up to the whole."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from hashbench.foundation.errors import HashbenchError, quietly
from hashbench.foundation.files import file_sha256, matching, natural, resolved
from hashbench.running.jobs.task import Task
from hashbench.scoring.codes import files as saved_files
from hashbench.scoring.codes.files import Explicit, SavedCodes
from hashbench.scoring.evaluation.scorer import Scorer
from hashbench.scoring.evaluation.shard_total import Entry, Total


@dataclass(frozen=True)
class Place:
    """A file, and the key of the array in it, if the user named it."""

    path: Path
    key: str | None = None

    def __str__(self) -> str:
        if self.key is None:
            return str(self.path)
        return f"{self.path}:{self.key}"


@dataclass(frozen=True)
class Shard:
    """One part of a database: where its codes and its labels are; ``str()`` names it by the file of the codes."""

    codes: Place
    labels: Place

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its file, or the file of the codes and that of the labels."""
        return tuple(dict.fromkeys((self.codes.path, self.labels.path)))

    def __str__(self) -> str:
        return str(self.codes.path)

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Errors in the block name the shard."""
        try:
            yield
        except HashbenchError as error:
            if any(str(path) in str(error) for path in self.paths):
                raise
            raise HashbenchError(f"{self}: {error}") from None


def shards_of(codes: str, labels: str | None = None, besides: Path | None = None) -> list[Shard]:
    """The shards of ``PATTERN`` or ``PATTERN:KEY`` but ``besides``, by name; ``labels`` names other files of labels."""
    places_of_codes = _places("--shards", codes, besides)
    if labels is None:
        return [Shard(place, Place(place.path)) for place in places_of_codes]
    places_of_labels = _places("--shard-labels", labels, besides)
    if len(places_of_codes) != len(places_of_labels):
        both = f"--shards {codes}: {len(places_of_codes)} files, --shard-labels {labels}: {len(places_of_labels)}"
        raise HashbenchError(f"{both}: a file of labels for each file of codes is expected")
    return list(map(Shard, places_of_codes, places_of_labels))


def _places(option: str, pattern: str, besides: Path | None) -> list[Place]:
    left_out = None if besides is None else resolved(besides)
    before, _, key_after = pattern.rpartition(":")
    for names, key in ((pattern, None), (before, key_after)):
        if not names:
            continue
        paths = matching(str(Path(names).expanduser()))
        paths = [path for path in paths if resolved(path) != left_out]
        if paths:
            return [Place(path, key) for path in sorted(paths, key=natural)]
    raise HashbenchError(f"{option} {pattern}: no such file: a quoted pattern is expected, such as 'pieces/db-*.h5'")


@dataclass(frozen=True)
class Source:
    """Where the queries are, and how codes are read: what all shards share."""

    files: tuple[Path, ...]
    explicit: Explicit
    device: str = "auto"

    def opened(self, shard: Shard) -> SavedCodes:
        """The queries, and the shard as their database."""
        with shard.named_in_errors():
            explicit, _ = self._beside(shard)
            return saved_files.load(self.files, explicit=explicit, with_ids=False)

    def content_of(self, shard: Shard) -> Entry:
        """The entry of a shard that is not counted: its size by its headers, and the digests of its files."""
        with shard.named_in_errors():
            explicit, keys = self._beside(shard)
            n_items, n_bits = saved_files.shape_of(self.files, explicit=explicit)
            stated = saved_files.arrays_in(shard.codes.path).get("n_bits")
            if stated is not None and (stated_bits := stated().small().ravel()[0]) != n_bits:
                raise HashbenchError(f"{shard}: n_bits is {stated_bits}, but the codes are read as {n_bits} bits")
            sha256 = [quietly(str(path), partial(file_sha256, path)) for path in shard.paths]
            return Entry(file=str(shard), sha256=sha256, keys=keys, items=n_items, without_class=[0, 0], notes=[])

    def _beside(self, shard: Shard) -> tuple[Explicit, list[str]]:
        """The description of the files, with the shard as the database; and the keys of its two arrays."""
        codes = saved_files.array_at(str(shard.codes), "database_codes", "--shards ")
        labels = saved_files.array_at(str(shard.labels), "database_labels", "--shard-labels ")
        if codes.where == labels.where:
            advice = "name the labels with --shard-labels"
            raise HashbenchError(f"{codes.where}: one array cannot be both codes and labels: {advice}")
        layout = self.explicit.layout
        stated = saved_files.arrays_in(shard.codes.path).get("layout")
        if layout is None and stated is not None:
            layout = str(stated().small().item())  # type: ignore[assignment]  # one of them, or refused
        places = dict(self.explicit.places)
        keys = []
        for role, place, array in (("database_codes", shard.codes, codes), ("database_labels", shard.labels, labels)):
            places[role] = f"{place.path}:{array.name}"
            # an .npy has no key: there ``name`` is the name of the file
            keys.append("" if array.where == str(place.path) else array.name)
        return replace(self.explicit, places=places, layout=layout), keys


@dataclass(frozen=True)
class CountTask(Task):
    """Counts a shard against the queries, some thousands of items at a time."""

    source: Source
    shard: Shard
    content: Entry

    @property
    def name(self) -> str:
        """The shard."""
        return str(self.shard)

    def run(self) -> Total:
        """The total of this shard alone."""
        saved = self.source.opened(self.shard)
        with self.shard.named_in_errors():
            evidence = Scorer.of_saved(saved, device=self.source.device, progress=False).evidence
        counted = {"without_class": list(evidence.without_class), "notes": list(saved.notes)}
        return Total(evidence, query_sha256(saved), (self.content.model_copy(update=counted),))


def query_sha256(saved: SavedCodes) -> str:
    """The digest of the codes and the labels of the queries, however they are stored."""
    labels = saved.query_labels
    if labels.ndim == 2 and not (labels.sum(axis=1, dtype=np.int64) > 1).any():
        labels = np.where(labels.any(axis=1), labels.argmax(axis=1), -1)  # a reader may give the one or the other
    labels = labels.astype(np.int64)
    names = None if saved.class_names is None else saved.class_names.tolist()
    about = json.dumps([saved.query.shape, labels.shape, labels.dtype.kind, names])
    digest = hashlib.sha256(about.encode())
    digest.update(np.ascontiguousarray(saved.query.words, "<u8").tobytes())
    digest.update(np.ascontiguousarray(labels, "<i8").tobytes())
    return digest.hexdigest()
