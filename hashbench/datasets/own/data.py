"""The user's data: items that are read block by block, and their labels; what is drawn of them."""

import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import StoredArray
from hashbench.datasets.neighbours import CHECKED
from hashbench.datasets.protocol import Metric
from hashbench.datasets.readers import Items
from hashbench.foundation.errors import HashbenchError, counted, printable, quietly, retold
from hashbench.relevance.labels import Labels, class_ids, class_names, combinations_note

MOST_PER_CLASS = 100
MOST_QUERIES = 1000
MOST_TRAINED = 20_000  # vectors without labels that methods learn from, unless more are asked for
K_NEAREST = 10  # relevant items of a query


@dataclass(frozen=True)
class FileOptions:
    """The options of ``hashbench dataset add`` about the data; each is for some formats only (see its help)."""

    items: str | None = None
    labels: str | None = None
    size: int | None = None
    header: bool | None = None
    value_max: int = 255
    metric: Metric | None = None  # of vectors without labels
    neighbours: str | None = None
    embed: str | None = None  # of texts


@dataclass(frozen=True, eq=False)
class OwnLabels:
    """Class ids int64[n] from 0, -1 for no class, or uint8[n, labels] of 0 and 1; ``names`` of 0, 1, ... or none.

    Without labels uint8[n, 0].

    ``notes`` are choices that were made, for the user to read.
    """

    labels: Labels
    names: list[str]
    notes: tuple[str, ...] = ()

    @property
    def is_multi(self) -> bool:
        """Whether items have several labels."""
        return self.kind == "multi"

    @property
    def kind(self) -> Literal["class", "multi", "none"]:
        """The word of the card."""
        if self.labels.ndim == 1:
            return "class"
        return "multi" if self.labels.shape[1] else "none"

    @property
    def counts(self) -> list[int]:
        """The number of items of each class or label."""
        labels = self.labels
        is_column = labels.ndim == 2
        counts = labels.sum(axis=0, dtype=np.int64) if is_column else np.bincount(labels[labels >= 0])
        return [int(count) for count in counts]

    def name(self, label: int) -> str:
        """The name of a class or label, or its number."""
        return self.names[label] if self.names else str(label)


class Spread:
    """The lowest and the highest value of each feature among the blocks that were added."""

    def __init__(self) -> None:
        self.ends: NDArray[np.float32] | None = None  # [2, d]

    def add(self, items: Items) -> None:
        """Adds a block [n, d]."""
        both = np.stack([items.min(axis=0), items.max(axis=0)])
        if self.ends is not None:
            both = np.stack([np.minimum(self.ends[0], both[0]), np.maximum(self.ends[1], both[1])])
        self.ends = both.astype(np.float32)

    @property
    def n_constant(self) -> int:
        """The number of features that are the same for all items."""
        return 0 if self.ends is None else int((self.ends[0] == self.ends[1]).sum())

    def notes(self, where: str) -> list[str]:
        """What is odd about the features, a line each."""
        if self.ends is None or not self.n_constant:
            return []
        n = self.n_constant
        d = self.ends.shape[1]
        return [f"{where}: {n:,} of {d:,} features are the same for all items, and tell none apart"]


@dataclass(frozen=True, eq=False)
class GivenNeighbours:
    """The nearest items of the queries as a file has them: rows of the database [q, k], and maybe their distances."""

    ids: StoredArray
    distances: StoredArray | None

    def note(self, n_queries: int) -> str:
        """How many of the queries were compared with what is computed."""
        number = f"{min(CHECKED, n_queries):,} of {n_queries:,} queries"
        too = "" if self.distances is None else ", with their distances"
        return f"{self.ids.where}: neighbours of {number} were checked{too}"


@dataclass(frozen=True, eq=False)
class OwnData:
    """Items of ``shape`` ([height, width, channels] images or [d] features) with labels; ``names`` [n] may be None.

    The last ``n_queries`` items are the queries; 0: the data say nothing of queries.
    """

    paths: Sequence[Path]  # of all items, or of the database and the queries
    shape: tuple[int, ...]
    labels: OwnLabels
    blocks: Callable[[], Iterator[Items]]  # in the order of the labels: uint8 of images, float32 of features
    names: NDArray[np.bytes_] | None = None
    n_ignored: int = 0
    n_queries: int = 0
    spread: Spread = field(default_factory=Spread)  # of features, complete when they were stored
    metric: Metric | None = None  # of vectors without labels, whose nearest are relevant
    given_neighbours: GivenNeighbours | None = None

    @property
    def notes(self) -> list[str]:
        """The choices that were made, and what is odd, a line each."""
        given = self.given_neighbours
        checked = [] if given is None else [given.note(self.n_queries)]
        return [*self.labels.notes, *self.spread.notes(str(self.paths[0])), *checked]

    @property
    def is_images(self) -> bool:
        """Whether the items are images."""
        return len(self.shape) == 3

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.labels.labels)

    @property
    def size_bytes(self) -> int:
        """The bytes that the stored items and labels take."""
        of_item = math.prod(self.shape) * (1 if self.is_images else 4)
        return self.n_items * of_item + self.labels.labels.nbytes


@dataclass(frozen=True)
class Rule:
    """The numbers of queries and training items: for each class (or label), or of all items; or which are queries."""

    queries_per_class: int | None = None
    train_per_class: int | None = None
    queries: int | None = None
    train: int | None = None
    seed: int = 0
    query_ids: str | None = None  # a file

    def __post_init__(self) -> None:
        if self._of_all and {self.queries_per_class, self.train_per_class} != {None}:
            raise HashbenchError("numbers a class (--queries-per-class, --train-per-class) or of all items: not both")

    @property
    def _of_all(self) -> bool:
        return {self.queries, self.train} != {None}

    def protocol(self, data: OwnData) -> dict[str, Any]:
        """The table of the card that declares the protocol; by default a tenth of a class, or of all, are queries."""
        labels = data.labels
        if data.metric is not None:
            return self._of_vectors(data, data.metric)
        if self.query_ids is not None or data.n_queries:
            return self._given(data)
        if self._of_all or (labels.is_multi and self.queries_per_class is self.train_per_class is None):
            queries = self.queries or min(MOST_QUERIES, max(1, len(labels.labels) // 10))
            train = self.train
            each = ""
            drawn = {"draw": "random", "queries": queries, "train": train or 0}
        else:
            each = " a label" if labels.is_multi else " a class"
            train = self.train_per_class
            queries = self.queries_per_class or _tenth(labels)
            of = each[3:]
            drawn = {"draw": f"per_{of}", f"queries_per_{of}": queries, f"train_per_{of}": train or 0}
        trained = f"{train:,} training items{each} in the database" if train else "the whole database is trained on"
        return {**drawn, "title": f"{queries:,} queries{each}; {trained}", "seed": self.seed}

    def _of_vectors(self, data: OwnData, metric: Metric) -> dict[str, Any]:
        """The protocol of vectors without labels: the nearest items of the database are relevant to a query."""
        if {self.queries_per_class, self.train_per_class} != {None}:
            raise HashbenchError("--queries-per-class, --train-per-class: the vectors have no classes: --queries N")
        if self.query_ids is not None or data.n_queries:
            protocol = self._given(data)
            n_queries = data.n_queries or len(protocol["query_ids"])
        else:
            n_queries = self.queries or min(MOST_QUERIES, max(1, data.n_items // 10))
            train = self.train or (MOST_TRAINED if data.n_items - n_queries > MOST_TRAINED else 0)
            trained = f"{train:,} items of the database are trained on" if train else "the whole database is trained on"
            protocol = {"draw": "random", "queries": n_queries, "train": train, "seed": self.seed}
            protocol |= {"title": f"{n_queries:,} queries; {trained}"}
        k = max(1, min(K_NEAREST, data.n_items - n_queries))
        relevant = f"relevant are the {k} nearest by {metric}"
        relevance = {"kind": "neighbours", "k": k, "metric": metric}
        return {**protocol, "title": f"{protocol['title']}; {relevant}", "relevance": relevance}

    def _given(self, data: OwnData) -> dict[str, Any]:
        """The protocol whose queries the data have, or a file of ids; all others are the database, and trained on."""
        if self != Rule(query_ids=self.query_ids) or (self.query_ids is not None and data.n_queries):
            raise HashbenchError("the queries are given: no other option draws queries or training items")
        n = data.n_items
        title = "{:,} queries, which are given; the whole database is trained on"
        if self.query_ids is None:
            rest = [0, n - data.n_queries]
            ranges = {"query": [rest[1], n], "database": rest, "train": rest}
            return {"draw": "parts", **ranges, "title": title.format(data.n_queries)}
        ids = _read_ids(Path(self.query_ids), data)
        return {"draw": "listed", "query_ids": ids, "title": title.format(len(ids))}


def _read_ids(path: Path, data: OwnData) -> list[int]:
    """The ids in a text file, sorted: on each line a row from 0, or the path of an image in its folder."""
    lines = quietly(str(path), lambda: path.read_text(encoding="utf-8")).splitlines()
    names = [] if data.names is None else [os.fsdecode(name) for name in data.names.tolist()]
    of_name = {name: number for number, name in enumerate(names)} or {str(row): row for row in range(data.n_items)}
    found: dict[int, int] = {}
    for n, line in enumerate((line.strip() for line in lines), 1):
        if line and line not in of_name:
            expected = f"a path in the folder, such as {names[0]}" if names else f"a row from 0 to {data.n_items - 1}"
            raise HashbenchError(f"{path}: line {n}: {printable(line, 60)}: {expected}, is expected")
        if line and (first := found.setdefault(of_name[line], n)) != n:
            raise HashbenchError(f"{path}: line {n}: {printable(line, 60)} is on line {first} too: once is expected")
    if not 0 < len(found) < data.n_items:
        raise HashbenchError(f"{path}: {len(found):,} queries of {data.n_items:,} items: some are, some are not")
    return sorted(found)


def _tenth(labels: OwnLabels) -> int:
    smallest = min(labels.counts)
    if smallest < 2:
        name = printable(labels.name(labels.counts.index(smallest)))
        advice = "leave the class out, or draw N queries from all items with --queries N"
        raise HashbenchError(f"class {name} has 1 item, and a class needs a query and an item to find: {advice}")
    return min(MOST_PER_CLASS, max(1, smallest // 10))


def read_labels(where: str, raw: NDArray[Any], n_items: int, names: Sequence[str] = ()) -> OwnLabels:
    """The labels in ``raw``: [n] or [n, 1] numbers or strings, or [n, labels] of 0 and 1, with ``names`` of columns."""
    if len(raw.shape) not in (1, 2) or raw.shape[0] != n_items:
        raise HashbenchError(f"{where}: labels of shape {raw.shape} for {n_items:,} items: one for each is expected")
    if n_items == 0:
        raise HashbenchError(f"{where}: no items: a row for each is expected")
    several = raw.ndim == 2 and raw.shape[1] > 1
    found = _of_columns(where, raw, list(names)) if several else _of_values(where, raw.reshape(-1))
    if len(found.counts) < 2:
        one = f"class {printable(found.name(0))}" if found.counts else "no label"
        negative = "" if several or not (found.labels < 0).any() else "; a negative number is no class: number from 0"
        raise HashbenchError(f"{where}: all items have {one}: two classes or more are expected{negative}")
    return found


def _of_values(where: str, values: NDArray[Any], no_class: str = "a negative number") -> OwnLabels:
    if values.dtype.kind in "SU":
        return _of_text(where, values)
    with np.errstate(invalid="ignore"):  # a float outside int64 becomes another number
        whole = values.astype(np.int64) if values.dtype.kind in "biuf" else None
    if whole is None or (whole != values).any():
        expected = "labels are whole numbers, strings, or columns of 0 and 1"
        raise HashbenchError(f"{where}: {expected}: others, or numbers beyond 64 bits, are in it")
    classes = np.unique(whole[whole >= 0])
    labels = np.where(whole < 0, -1, np.searchsorted(classes, whole))
    names = [] if (classes == np.arange(len(classes))).all() else [str(each) for each in classes]
    return OwnLabels(labels.astype(np.int64), names, _without_class(where, labels, no_class))


def _without_class(where: str, labels: Labels, sign: str) -> tuple[str, ...]:
    """A note about items without a class, if there are any; ``sign`` is what says it."""
    n = int((labels < 0).sum())
    whose = f"{counted(n, 'item')} of {len(labels):,}"
    return (f"{where}: {sign} is no class: {whose} are without one, and relevant to nothing",) if n else ()


def _of_text(where: str, values: NDArray[Any]) -> OwnLabels:
    """Strings that are all whole numbers are numbers, so that 10 comes after 9; the empty one is no class."""
    with retold(lambda _: f"{where}: labels are bytes that are not UTF-8", UnicodeDecodeError):
        text = np.char.strip(values.astype(np.str_) if values.dtype.kind == "U" else np.char.decode(values, "utf-8"))
    classes = class_names(text)
    if all(re.fullmatch(r"-?[0-9]{1,18}", name) for name in classes.tolist()):
        return _of_values(
            where, np.where(text == "", "-1", text).astype(np.int64), "a negative number or an empty text"
        )
    labels = class_ids(text, classes)
    note = combinations_note(classes.tolist())
    notes = _without_class(where, labels, "an empty text")
    return OwnLabels(labels, classes.tolist(), notes if note is None else (*notes, f"{where}: {note}"))


def _of_columns(where: str, raw: NDArray[Any], names: list[str]) -> OwnLabels:
    if raw.dtype.kind not in "biuf" or not ((raw == 0) | (raw == 1) | (raw == -1)).all():
        expected = f"labels [n, {raw.shape[1]}] are 0 or 1 (or -1 or 1) for each label"
        raise HashbenchError(f"{where}: {expected}: others are in it")
    columns = (raw == 1).astype(np.uint8)
    n_negative = int((raw == -1).sum())
    notes = [f"{where}: {n_negative} labels are -1, read as absent"] if n_negative else []
    if n_without := int((~columns.any(axis=1)).sum()):
        whose = f"{counted(n_without, 'item')} of {len(columns):,}"
        notes.append(f"{where}: {whose} have no label, and are relevant to nothing")
    if (empty := np.flatnonzero(~columns.any(axis=0))).size:
        raise HashbenchError(f"{where}: no item has label {names[empty[0]] if names else empty[0]}: leave it out")
    is_class = (columns.sum(axis=1, dtype=np.int64) == 1).all()
    return OwnLabels(columns.argmax(axis=1).astype(np.int64) if is_class else columns, names, tuple(notes))
