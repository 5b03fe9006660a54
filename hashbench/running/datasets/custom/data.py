"""The user's data: items that are read block by block, and their labels; what is drawn of them."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, counted, printable, retold
from hashbench.running.datasets.neighbours import CHECKED
from hashbench.running.datasets.protocol import Metric
from hashbench.running.datasets.readers import Items
from hashbench.running.datasets.stored_file import label_counts
from hashbench.scoring.codes.files import StoredArray
from hashbench.scoring.relevance.labels import Labels, class_ids, class_names

WHOLE_DATABASE = "the whole database is trained on"
MOST_PER_CLASS = 100
MOST_QUERIES = 1000
MOST_TRAINED = 20_000  # vectors without labels that methods learn from, unless more are asked for
K_NEAREST = 10  # relevant items of a query
WHITE = 255  # the largest value of an image


@dataclass(frozen=True)
class FileOptions:
    """The options of ``hashbench dataset add`` about the data; each is for some formats only (see its help)."""

    items: str | None = None
    labels: str | None = None
    size: int | None = None
    metric: Metric | None = None  # of vectors without labels
    neighbours: str | None = None


@dataclass(frozen=True, eq=False)
class CustomLabels:
    """Class ids int64[n] from 0, -1 for no class, or uint8[n, labels] of 0 and 1; ``names`` of 0, 1, ... or none.

    Without labels uint8[n, 0].

    ``notes`` are choices that were made, for the user to read.
    """

    labels: Labels
    names: list[str]
    notes: tuple[str, ...] = ()

    @property
    def is_multi(self) -> bool:
        """True where items have several labels."""
        return self.kind == "multi"

    @property
    def kind(self) -> Literal["class", "multi", "none"]:
        """The word of the card."""
        if self.labels.ndim == 1:
            return "class"
        if self.labels.shape[1]:
            return "multi"
        return "none"

    @property
    def counts(self) -> list[int]:
        """The number of items of each class or label."""
        return label_counts(self.labels).tolist()

    def name(self, label: int) -> str:
        """The name of a class or label, or its number."""
        if not self.names:
            return str(label)
        return self.names[label]


class Spread:
    """The lowest and the highest value of each feature among the blocks that were added."""

    def __init__(self) -> None:
        self.ends: NDArray[np.float32] | None = None  # [2, d]

    def add(self, items: Items) -> None:
        """Adds a block [n, d]."""
        lowest = items.min(axis=0)
        highest = items.max(axis=0)
        if self.ends is not None:
            lowest = np.minimum(lowest, self.ends[0])
            highest = np.maximum(highest, self.ends[1])
        self.ends = np.stack([lowest, highest]).astype(np.float32)

    @property
    def n_constant(self) -> int:
        """The number of features that are the same for all items."""
        if self.ends is None:
            return 0
        lowest, highest = self.ends
        return int((lowest == highest).sum())

    def notes(self, where: str) -> list[str]:
        """Notes about features that tell no items apart, a line each."""
        if self.ends is None or not self.n_constant:
            return []
        n = self.n_constant
        d = self.ends.shape[1]
        return [f"{where}: {n:,} of {d:,} features are the same for all items, and tell none apart"]


@dataclass(frozen=True, eq=False)
class CustomData:
    """Items of ``shape`` ([height, width, channels] images or [d] features) with labels; ``names`` [n] may be None.

    The last ``n_queries`` items are the queries; 0: the data say nothing of queries.
    """

    paths: Sequence[Path]  # of all items, or of the database and the queries
    shape: tuple[int, ...]
    labels: CustomLabels
    blocks: Callable[[], Iterator[Items]]  # in the order of the labels: uint8 of images, float32 of features
    names: NDArray[np.bytes_] | None = None
    n_ignored: int = 0
    n_queries: int = 0
    spread: Spread = field(default_factory=Spread)  # of features, complete when they were stored
    metric: Metric | None = None  # of vectors without labels, whose nearest are relevant
    neighbours: StoredArray | None = None  # rows of the database [q, k], as a file has them

    @property
    def notes(self) -> list[str]:
        """The choices that were made, and what is odd, a line each."""
        notes = [*self.labels.notes, *self.spread.notes(str(self.paths[0]))]
        if self.neighbours is not None:
            n = self.n_queries
            notes.append(f"{self.neighbours.where}: neighbours of {min(CHECKED, n):,} of {n:,} queries were checked")
        return notes

    @property
    def is_images(self) -> bool:
        """True where the items are images."""
        return len(self.shape) == 3

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.labels.labels)

    @property
    def size_bytes(self) -> int:
        """The bytes that the stored items and labels take."""
        value_bytes = 1 if self.is_images else 4
        return self.n_items * math.prod(self.shape) * value_bytes + self.labels.labels.nbytes


@dataclass(frozen=True)
class Rule:
    """The numbers of queries and training items: for each class (or label), or of all items."""

    queries_per_class: int | None = None
    train_per_class: int | None = None
    queries: int | None = None
    train: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self._of_all and self._by_class:
            raise HashbenchError("numbers a class (--queries N/class, --train N/class) or of all items: not both")

    @property
    def _of_all(self) -> bool:
        return {self.queries, self.train} != {None}

    @property
    def _by_class(self) -> bool:
        return {self.queries_per_class, self.train_per_class} != {None}

    def protocol(self, data: CustomData) -> dict[str, Any]:
        """The table of the card that declares the protocol; by default a tenth of a class, or of all, are queries."""
        if data.metric is not None and self._by_class:
            raise HashbenchError("--queries N/class, --train N/class: the vectors have no classes: --queries N")
        if data.n_queries:
            protocol = self._with_known_queries(data)
        elif data.metric is not None or self._of_all or (data.labels.is_multi and not self._by_class):
            queries = self.queries or min(MOST_QUERIES, max(1, data.n_items // 10))
            train = self.train or 0
            if data.metric is not None and not train and data.n_items - queries > MOST_TRAINED:
                train = MOST_TRAINED
            protocol = self._drawn(queries, train)
        else:
            group = "class"
            if data.labels.is_multi:
                group = "label"
            protocol = self._drawn(self.queries_per_class or _tenth(data.labels), self.train_per_class or 0, group)
        if data.metric is None:
            return protocol
        n_queries = data.n_queries or protocol["queries"]
        k = max(1, min(K_NEAREST, data.n_items - n_queries))
        title = f"{protocol['title']}; relevant are the {k} nearest by {data.metric}"
        return {**protocol, "title": title, "relevance": {"kind": "neighbours", "k": k, "metric": data.metric}}

    def _drawn(self, queries: int, train: int, group: str = "") -> dict[str, Any]:
        """The protocol of queries and training items (0: the database) drawn from each group, or from all items."""
        per_group = ""
        sizes = {"queries": queries, "train": train}
        draw = "random"
        if group:
            per_group = f" a {group}"
            sizes = {f"{role}_per_{group}": n for role, n in sizes.items()}
            draw = f"per_{group}"
        trained = WHOLE_DATABASE
        if train:
            trained = f"{train:,} training items{per_group} in the database"
        return {"draw": draw, **sizes, "seed": self.seed, "title": f"{queries:,} queries{per_group}; {trained}"}

    def _with_known_queries(self, data: CustomData) -> dict[str, Any]:
        """The protocol whose queries are the last items; all others are the database, and trained on."""
        if self != Rule():
            raise HashbenchError("the queries are given: no other option draws queries or training items")
        n_database = data.n_items - data.n_queries
        database = [0, n_database]
        title = f"{data.n_queries:,} queries, which are given; {WHOLE_DATABASE}"
        parts = {"query": [n_database, data.n_items], "database": database, "train": database}
        return {"draw": "parts", **parts, "title": title}


def _tenth(labels: CustomLabels) -> int:
    smallest = min(labels.counts)
    if smallest < 2:
        name = printable(labels.name(labels.counts.index(smallest)))
        advice = "leave the class out, or draw N queries from all items with --queries N"
        raise HashbenchError(f"class {name} has 1 item, and a class needs a query and an item to find: {advice}")
    return min(MOST_PER_CLASS, max(1, smallest // 10))


def read_labels(where: str, raw: NDArray[Any]) -> CustomLabels:
    """The labels in ``raw``: [n] or [n, 1] numbers or strings, or [n, labels] of 0 and 1."""
    if raw.ndim == 2 and raw.shape[1] > 1:
        labels = _of_columns(where, raw)
    else:
        labels = _of_values(where, raw.reshape(-1))
    if len(labels.counts) < 2:
        only = "no label"
        if labels.counts:
            only = f"class {printable(labels.name(0))}"
        fault = f"all items have {only}: two classes or more are expected"
        if labels.labels.min() < 0:
            fault += "; a negative number is no class: number from 0"
        raise HashbenchError(f"{where}: {fault}")
    return labels


def _of_values(where: str, values: NDArray[Any], no_class: str = "a negative number") -> CustomLabels:
    if values.dtype.kind in "SU":
        return _of_text(where, values)
    expected = "labels are whole numbers, strings, or columns of 0 and 1"
    fault = f"{where}: {expected}: others, or numbers beyond 64 bits, are in it"
    if values.dtype.kind not in "biuf":
        raise HashbenchError(fault)
    with np.errstate(invalid="ignore"):  # a float outside int64 becomes another number
        whole = values.astype(np.int64)
    if (whole != values).any():
        raise HashbenchError(fault)
    classes = np.unique(whole[whole >= 0])
    labels = np.where(whole < 0, -1, np.searchsorted(classes, whole))
    names: list[str] = []
    if (classes != np.arange(len(classes))).any():
        names = list(map(str, classes))
    return CustomLabels(labels.astype(np.int64), names, _without_class(where, labels, no_class))


def _without_class(where: str, labels: Labels, sign: str) -> tuple[str, ...]:
    """A note about items without a class, if there are any; ``sign`` is what says it."""
    n = int((labels < 0).sum())
    if not n:
        return ()
    items = f"{counted(n, 'item')} of {len(labels):,}"
    return (f"{where}: {sign} is no class: {items} are without one, and relevant to nothing",)


def _of_text(where: str, values: NDArray[Any]) -> CustomLabels:
    """Strings that are all whole numbers are numbers, so that 10 comes after 9; the empty one is no class."""
    with retold(lambda _: f"{where}: labels are bytes that are not UTF-8", UnicodeDecodeError):
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
    text = np.char.strip(values)
    classes = class_names(text)
    if all(re.fullmatch(r"-?[0-9]{1,18}", name) for name in classes.tolist()):
        return _of_values(
            where, np.where(text == "", "-1", text).astype(np.int64), "a negative number or an empty text"
        )
    labels = class_ids(text, classes)
    return CustomLabels(labels, classes.tolist(), _without_class(where, labels, "an empty text"))


def _of_columns(where: str, raw: NDArray[Any]) -> CustomLabels:
    if raw.dtype.kind not in "biuf" or not ((raw == 0) | (raw == 1) | (raw == -1)).all():
        expected = f"labels [n, {raw.shape[1]}] are 0 or 1 (or -1 or 1) for each label"
        raise HashbenchError(f"{where}: {expected}: others are in it")
    columns = (raw == 1).astype(np.uint8)
    notes = []
    if n_negative := int((raw == -1).sum()):
        notes.append(f"{where}: {n_negative} labels are -1, read as absent")
    if n_without := int((~columns.any(axis=1)).sum()):
        whose = f"{counted(n_without, 'item')} of {len(columns):,}"
        notes.append(f"{where}: {whose} have no label, and are relevant to nothing")
    if (empty := np.flatnonzero(~columns.any(axis=0))).size:
        raise HashbenchError(f"{where}: no item has label {empty[0]}: leave it out")
    labels: Labels = columns
    if (columns.sum(axis=1, dtype=np.int64) == 1).all():
        labels = columns.argmax(axis=1).astype(np.int64)
    return CustomLabels(labels, [], tuple(notes))
