"""The contract of learning: what a method is given (settings, training examples) and what it gives back (a hasher).

The codes of a protocol's queries and database are an :class:`Output`, which knows how it is saved and counted. So what
runs a method need not know whether its codes are bits or buckets.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from tqdm import tqdm

from hashbench import histogram
from hashbench.codes import MAX_BITS, Codes, binarize, files
from hashbench.codes.nearest import Neighbours, neighbours
from hashbench.config import Strict
from hashbench.files import atomic
from hashbench.histogram import Histogram
from hashbench.parallel import ALONE, DEFAULT_COMPUTE, ComputeOptions, ProcessGroup
from hashbench.relevance.distances import DistanceRelevance
from hashbench.relevance.labels import Labels, Relevance, from_labels

Precision = Literal["float32", "bfloat16"]

PIXELS = "pixels"  # the features that are the items themselves
CODES = "codes.npz"  # what an output saves in a run's folder
BLOCK_BYTES = 64 << 20  # of items, held together
WHOLE_BATCHES = 1000  # items: the deep hashers' batch; cut between two, the blocks give the bits that the whole gives


class CodeSettings(Strict):
    """What the settings of every method have: the size of its codes, and the features that it hashes."""

    features: str = PIXELS

    @property
    def size(self) -> str:
        """The size of the codes as the names of runs say it, such as ``32b``."""
        raise NotImplementedError

    def precision_on(self, device: str, compute: ComputeOptions) -> Precision | None:  # noqa: ARG002
        """The arithmetic in which a network is trained on ``device``; None where no network is trained."""
        return None


class BitSettings(CodeSettings):
    """What every method of binary codes declares."""

    bits: int = Field(ge=1, le=MAX_BITS)

    @property
    def size(self) -> str:
        """The number of bits."""
        return f"{self.bits}b"


@dataclass(frozen=True, eq=False)
class ItemRows:
    """Some items of a data set, which may be larger than memory: they are read block by block.

    ``items`` [n, ...] are those of the whole set, as the hasher takes them; ``ids`` are the rows that are meant, and
    ``labels`` theirs, in the same order. ``labels`` is None where relevance does not go by labels.
    """

    items: NDArray[Any]
    ids: NDArray[np.int64]
    labels: Labels | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, part: slice) -> "ItemRows":
        return ItemRows(self.items, self.ids[part], None if self.labels is None else self.labels[part])

    def whole(self) -> NDArray[Any]:
        """All of them at once."""
        return self.items[self.ids]

    def blocks(self) -> Iterator[NDArray[Any]]:
        """The items, a block at a time."""
        return (self.items[ids] for ids in self.blocks_of_ids())

    def blocks_of_ids(self) -> Iterator[NDArray[np.int64]]:
        """The ids of each block: whole batches, and at most 64 MiB of items where a batch is smaller than that."""
        batch_bytes = WHOLE_BATCHES * self.items.itemsize * math.prod(self.items.shape[1:])
        step = WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)
        for first in range(0, len(self.ids), step):
            yield self.ids[first : first + step]


@dataclass(frozen=True, eq=False)
class SearchItems:
    """The queries and the database of a protocol of the data set called ``dataset``."""

    dataset: str
    queries: ItemRows
    database: ItemRows


class Counts(Protocol):
    """What metrics are closed forms of: a histogram, or a retrieval."""

    def save(self, path: Path) -> None:
        """Writes it as .npz, whole or not at all."""
        ...

    def sha256(self) -> str:
        """Checksum of the content, whatever the file looks like."""
        ...


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the metrics of a run are closed forms of, by the name of its file: ``histogram``, ``retrieval``.

    ``database`` is of the queries among the database; ``test`` is of the queries among each other, themselves left out.
    """

    database: Mapping[str, Counts]
    test: Mapping[str, Counts] = field(default_factory=dict)

    def save(self, folder: Path) -> None:
        """Writes NAME.npz of the database and NAME_of_test.npz of the test."""
        for ending, counts in (("", self.database), ("_of_test", self.test)):
            for name, each in counts.items():
                each.save(folder / f"{name}{ending}.npz")


class Output(Protocol):
    """The codes that a hasher gives to the queries and the database of a protocol."""

    def save(self, folder: Path) -> None:
        """Writes codes.npz, whole or not at all."""
        ...

    def count(self, relevance: Relevance, *, progress: bool = False) -> Evidence:
        """Searches the database by the codes; ``relevance`` is that of its items to the queries."""
        ...


class Hasher(Protocol):
    """A fitted hash function."""

    def output(self, data: SearchItems, *, progress: bool = False) -> Output:
        """The codes of a protocol's queries and database; of the items, one block is held at a time."""
        ...

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes what ``hashbench encode`` gives of a protocol, and returns the files written."""
        ...

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes what ``hashbench encode`` gives of one's own items, which are called ``names``."""
        ...

    def nearest(self, queries: NDArray[Any], folder: Path, top: int) -> list[Neighbours]:
        """The nearest ``top`` items of the database that ``folder`` holds the codes of, for each query."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``, whole or not at all; one of its files is called ``hasher.*``."""
        ...


class BinaryHasher(ABC):
    """A hash function whose bits are the signs of its activations."""

    @abstractmethod
    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """Activations float32[n, bits] of ``items`` (as the data set stores them); a bit is activation > 0."""

    def output(self, data: SearchItems, *, progress: bool = False) -> "BinaryOutput":
        """The binary codes of queries and database."""
        query, database = self.encode_blocks(data, progress=progress)
        return BinaryOutput(joined(query), joined(database), data)

    def encode_blocks(self, data: SearchItems, *, progress: bool = False) -> tuple[list[Codes], list[Codes]]:
        """The codes of queries and database, a list of blocks each."""
        total = len(data.queries) + len(data.database)
        with tqdm(total=total, desc="encode", unit="item", disable=not progress, leave=False, delay=2) as bar:
            return self._blocks_of(data.queries, bar), self._blocks_of(data.database, bar)

    def _blocks_of(self, rows: ItemRows, bar: "tqdm[None]") -> list[Codes]:
        blocks = []
        for items in rows.blocks():
            blocks.append(binarize(self.encode(items)))
            bar.update(len(items))
        return blocks

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes codes and labels of queries and database into one file."""
        self.output(data, progress=True).save_as(path)
        return [path]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes ``codes``, uint8 of 0 and 1, items x bits, and ``names``."""
        packed = binarize(self.encode(rows.whole(), progress=True))
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, codes=packed.bits(), names=np.array(names))

    def nearest(self, queries: NDArray[Any], folder: Path, top: int) -> list[Neighbours]:
        """By Hamming distance from the codes in codes.npz."""
        database = files.load(folder / CODES).database
        query = binarize(self.encode(queries))
        return [neighbours(query[q : q + 1], database, top) for q in range(len(query))]


def joined(blocks: Sequence[Codes]) -> Codes:
    """One set of codes of several; there is at least one."""
    return Codes(np.concatenate([block.words for block in blocks]), blocks[0].n_bits)


@dataclass(frozen=True, eq=False)
class BinaryOutput:
    """The binary codes of a protocol's queries and database, in the order of the ids."""

    query: Codes
    database: Codes
    data: SearchItems

    def save(self, folder: Path) -> None:
        """Writes codes.npz."""
        self.save_as(folder / CODES)

    def save_as(self, path: Path) -> None:
        """Writes the codes with their labels, whole or not at all: what ``hashbench eval`` reads.

        Where relevance goes by distance no label says it. Then the ids and the data set's name stand in place of the
        labels, and only a run scores the codes.
        """
        queries, database = self.data.queries, self.data.database
        if queries.labels is None or database.labels is None:
            self._save_with_ids(path)
        else:
            relevance = from_labels(queries.labels, database.labels)
            files.save(path, files.SavedCodes(self.query, self.database, relevance))

    def _save_with_ids(self, path: Path) -> None:
        with atomic(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(
                file,
                query_codes=self.query.bits(),
                database_codes=self.database.bits(),
                query_ids=self.data.queries.ids,
                database_ids=self.data.database.ids,
                n_bits=self.query.n_bits,
                layout="items-by-bits",
                dataset=self.data.dataset,
            )

    def count(self, relevance: Relevance, *, progress: bool = False) -> Evidence:
        """The histogram of Hamming distances and levels."""
        return Evidence({"histogram": self.histogram(relevance, progress=progress)})

    def histogram(self, relevance: Relevance, *, progress: bool = False) -> Histogram:
        """The histogram of the codes, with ``relevance`` between these queries and this database."""
        if not isinstance(relevance, DistanceRelevance):
            return histogram.count(self.query, self.database, relevance, progress=progress)
        pieces = ((self.database[part], known) for part, known in relevance.pieces())
        return histogram.count_blocks(self.query, pieces, progress=progress)


@dataclass(frozen=True)
class TrainingData:
    """Everything a method may use to fit: the training examples, never the queries."""

    items: NDArray[Any]  # uint8 images [n, H, W, C] or float32 features [n, d]
    labels: Labels  # class ids [n], or multi-hot [n, labels]
    value_max: float  # the item value that means 1.0
    seed: int
    folder: Path  # for checkpoints and the training log
    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0
    group: ProcessGroup = ALONE  # the processes that fit together; only the first writes
    compute: ComputeOptions = DEFAULT_COMPUTE
    weights: str | None = None  # a file of pretrained weights, where it is not the official one in its place
    base: Hasher | None = None  # the hasher that this one starts from
    relevance: DistanceRelevance | None = None  # of the training examples to each other, where labels do not say it


@dataclass(frozen=True)
class SavedHasher:
    """The folder in which a fitted hasher was saved, the device to load it to, and the hasher that it starts from."""

    folder: Path
    device: str = "auto"
    base: Hasher | None = None
