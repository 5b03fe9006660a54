"""The interface of methods: they fit a :class:`Hasher`, whose :class:`Output` saves and counts its own codes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.config import Strict
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.execution import DEFAULT, Execution
from hashbench.foundation.parallel import slices
from hashbench.foundation.progress import bar as progress_bar
from hashbench.learning.steps import Steps
from hashbench.scoring import histogram
from hashbench.scoring.codes import MAX_BITS, Codes, binarize, files
from hashbench.scoring.codes.distinct import DistinctCodes, count_distinct
from hashbench.scoring.histogram import Histogram
from hashbench.scoring.histogram.ranking import Distances, Ranked, Rankings
from hashbench.scoring.histogram.retrieval import Retrieval
from hashbench.scoring.histogram.sorted_searches import sorted_searches
from hashbench.scoring.metrics import Metrics, MetricValue, mean_values
from hashbench.scoring.relevance.distances import DistanceRelevance
from hashbench.scoring.relevance.labels import Labels, Relevance, from_labels

Floats = NDArray[np.float64]
Arrays = dict[str, NDArray[Any]]  # by name, one row an item
Precision = Literal["float32", "bfloat16"]

PIXELS = "pixels"  # the value of the setting `features` that means: the items themselves
CODES = "codes.npz"  # the file that an output saves in the folder of a run
NO_CODES = "its queries are no codes, so that nothing is searched by Hamming distance"
BLOCK_BYTES = 64 << 20  # the most bytes of items in memory at once
# The metrics in every row of codes; the saved histogram gives any other metric later, without a new run.
OF_CODES: tuple[str, ...] = ("ap", "ap_worst", "ap_best", "ap(norm=retrieved)@1000", "ap(norm=retrieved)@5000")
OF_CODES += ("ndcg", "ndcg@100", "precision@100", "precision@r2", "recall@100")
WHOLE_BATCHES = 1000  # items of a batch: a block is whole batches, so every bit is as if all were encoded at once


class CodeSettings(Strict):
    """The settings that every method has: the features that it hashes, and, in subclasses, the size of its codes."""

    features: str = PIXELS

    @property
    def size(self) -> str:
        """The size of the codes as it appears in the name of a run, such as ``32b``."""
        raise NotImplementedError

    @property
    def bytes_per_item(self) -> int | None:
        """The bytes that an item of the database takes, everything counted; None of sparse codes and of weights."""
        return None

    def precision_on(self, device: str, precision: str) -> Precision | None:  # noqa: ARG002
        """The floating point type in which the network is trained on ``device``; None if the method has no network."""
        return None


class BitSettings(CodeSettings):
    """The settings that every method of binary codes has."""

    bits: int = Field(ge=1, le=MAX_BITS)

    @property
    def size(self) -> str:  # noqa: D102  (as above)
        return f"{self.bits}b"

    @property
    def bytes_per_item(self) -> int:  # noqa: D102  (as above)
        return -(-self.bits // 8)


@dataclass(frozen=True, eq=False)
class ItemRows:
    """The rows ``ids`` of the ``items`` [n, ...] of a data set, which may not fit into memory."""

    items: NDArray[Any]
    ids: NDArray[np.int64]
    labels: Labels | None = None  # of the selected items; None if distances define relevance

    def __len__(self) -> int:
        return len(self.ids)

    def whole(self) -> NDArray[Any]:
        """All selected items in one array."""
        return self.items[self.ids]

    def blocks(self) -> Iterator[NDArray[Any]]:
        """The selected items, block by block. A block is a whole number of batches, at most 64 MiB or one batch."""
        batch_bytes = WHOLE_BATCHES * self.items.itemsize * math.prod(self.items.shape[1:])
        for rows in slices(len(self), WHOLE_BATCHES * max(1, BLOCK_BYTES // batch_bytes)):
            yield self.items[self.ids[rows]]


@dataclass(frozen=True, eq=False)
class SearchItems:
    """The queries and the database of one protocol of the data set ``dataset``."""

    dataset: str
    queries: ItemRows
    database: ItemRows


class Counts(Protocol):
    """Counts from which metrics are computed: ``SearchCounts``, or a classifier's ``Predictions``."""

    def save(self, path: Path) -> None:
        """Writes the counts as .npz, as a whole or not at all."""

    def sha256(self) -> str:
        """SHA-256 of the counts themselves, whatever the compression of the file."""

    def metrics(self, names: Iterable[str]) -> dict[str, MetricValue]:
        """The metrics that every row has of such counts, and those of ``names`` that are computed from them."""


@dataclass(frozen=True, eq=False)
class SearchCounts:
    """The counts of a search, and the metrics that every row has of them."""

    counts: Histogram | Retrieval
    usual: Sequence[str] = OF_CODES

    def save(self, path: Path) -> None:
        """Writes the counts."""
        self.counts.save(path)

    def sha256(self) -> str:
        """SHA-256 of the counts."""
        return self.counts.sha256()

    def metrics(self, names: Iterable[str]) -> dict[str, MetricValue]:
        """The ``usual`` metrics, and those of ``names`` that are computed from such counts."""
        parsed = Metrics.parse([*self.usual, *names], None)
        return mean_values(self.counts, parsed.where(lambda metric: metric.entry.source is type(self.counts)))


@dataclass(frozen=True, eq=False)
class Counted:
    """The counts of a run by name: ``histogram``, ``retrieval``."""

    database: Mapping[str, Counts]  # the queries search the database
    test: Mapping[str, Counts] = field(default_factory=dict)  # each query searches all other queries
    ranked: Mapping[Ranked, Iterable[Histogram]] = field(default_factory=dict)  # too large to be saved
    distinct: DistinctCodes | None = None  # None without codes
    weights_sha256: str | None = None  # of the file of weights that other runs can start from

    @property
    def by_name(self) -> dict[str, Counts]:
        """The counts of both searches; names of ``test`` end in ``_of_test``."""
        return {**self.database, **{f"{name}_of_test": counts for name, counts in self.test.items()}}

    def save(self, folder: Path) -> None:
        """Writes NAME.npz for each of ``by_name``."""
        for name, counts in self.by_name.items():
            counts.save(folder / f"{name}.npz")


class Output(Protocol):
    """The codes of the queries and the database of a protocol."""

    def save(self, folder: Path) -> None:
        """Writes codes.npz into ``folder``, as a whole or not at all."""

    def count(self, relevance: Relevance, *, progress: bool = False) -> Counted:
        """The counts from which metrics are computed; ``relevance`` is that of the database items to the queries."""


class Hasher(Protocol):
    """A fitted hash function."""

    def output(self, data: SearchItems, *, progress: bool = False) -> Output:
        """The codes of the queries and the database; one block of items is in memory at a time."""

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes the output of ``hashbench encode`` for a protocol and returns the paths of the files."""

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes the output of ``hashbench encode`` for the user's own items, which have these ``names``."""

    def save(self, folder: Path) -> None:
        """Writes the hasher into ``folder``, as a whole or not at all; one of its files is called ``hasher.*``."""


class BinaryHasher(ABC):
    """A hash function whose bits are the signs of its activations: a bit is 1 if the activation is above 0."""

    @property
    def bit_weights(self) -> Floats | None:
        """The learned weights of the bits, float64[bits], for the weighted Hamming distance; None if there are none."""
        return None

    @abstractmethod
    def encode(self, items: NDArray[Any], *, progress: bool = False) -> NDArray[np.float32]:
        """The activations float32[n, bits] of ``items``, which are as the data set stores them."""

    def as_steps(self) -> Steps | None:
        """The steps of NumPy from stored items to activations; None if the hash function is no such list."""
        return None

    def as_module(self) -> Any:
        """The module of PyTorch from stored items to activations; None if the hash function is not one."""
        return None

    def output(self, data: SearchItems, *, progress: bool = False) -> "BinaryOutput":
        """The binary codes of the queries and the database."""
        n_items = len(data.queries) + len(data.database)
        codes = list[Codes]()
        with progress_bar("encode", "item", n_items, shown=progress) as bar:
            for rows in (data.queries, data.database):
                blocks = list[Codes]()
                for items in rows.blocks():
                    blocks.append(binarize(self.encode(items)))
                    bar.update(len(items))
                codes.append(Codes(np.concatenate([block.words for block in blocks]), blocks[0].n_bits))
        query, database = codes
        return BinaryOutput(query, database, data, self.bit_weights)

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes the codes and labels of the queries and the database into one file."""
        self.output(data, progress=True).save_as(path)
        return [path]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes ``codes``, uint8[n, bits] of 0 and 1, ``names`` [n], and ``labels`` if the items have any."""
        save_own_codes(path, binarize(self.encode(rows.whole(), progress=True)), names, rows.labels)


def save_own_codes(path: Path, codes: Codes, names: Sequence[str], labels: NDArray[Any] | None) -> None:
    """Writes the codes of the user's own items, their names and any labels to the .npz ``path``."""
    arrays: dict[str, Any] = {"codes": codes.bits(), "names": np.array(names), "layout": "items-by-bits"}
    if labels is not None:
        arrays["labels"] = labels
    write_arrays(path, arrays)


@dataclass(frozen=True, eq=False)
class BinaryOutput:
    """The binary codes of the queries and the database of a protocol, in the order of their ids."""

    query: Codes
    database: Codes
    data: SearchItems
    weights: Floats | None = None  # learned weights of the bits, float64[bits]
    activations: NDArray[np.float32] | None = None  # [q, bits], of the queries, for the asymmetric distance

    @property
    def beside(self) -> dict[str, NDArray[Any]]:
        """What the distances need beside the codes, by the names in the file: weights and activations."""
        arrays = {files.BIT_WEIGHTS: self.weights, files.QUERY_ACTIVATIONS: self.activations}
        return {name: array for name, array in arrays.items() if array is not None}

    def save(self, folder: Path) -> None:
        """Writes codes.npz."""
        self.save_as(folder / CODES)

    def save_as(self, path: Path) -> None:
        """Writes the codes and the labels, which ``hashbench eval`` reads; without labels the ids and the data set."""
        queries = self.data.queries
        database = self.data.database
        if queries.labels is not None and database.labels is not None:
            relevance = from_labels(queries.labels, database.labels)
            return files.save(path, files.SavedCodes(self.query, self.database, relevance, beside=self.beside))
        arrays = {
            "query_codes": self.query.bits(),
            "database_codes": self.database.bits(),
            "n_bits": self.query.n_bits,
            "query_ids": queries.ids,
            "database_ids": database.ids,
            "dataset": self.data.dataset,
            "layout": "items-by-bits",
        }
        return write_arrays(path, self.beside | arrays)

    def count(self, relevance: Relevance, *, progress: bool = False) -> Counted:
        """The histogram of Hamming distances and relevance levels, and the rankings by distances that are sorted."""
        codes = (self.query, self.database)
        w = self.weights
        z = self.activations
        ranked = sorted_searches(*codes, relevance, weights=w, activations=z, progress=progress)
        distinct = DistinctCodes(queries=count_distinct(self.query.words), database=count_distinct(self.database.words))
        counted = histogram.count(*codes, relevance, progress=progress)
        return Counted({"histogram": SearchCounts(counted)}, ranked=ranked, distinct=distinct)


@dataclass(frozen=True, eq=False)
class QuantisedOutput:
    """Items as a quantiser stores them, and queries, which are no codes, as their distances to these need them."""

    queries: Arrays
    items: Arrays
    distances: Distances
    data: SearchItems

    def save(self, folder: Path) -> None:
        """Writes codes.npz."""
        self.save_as(folder / CODES)

    def save_as(self, path: Path) -> None:
        """Writes the arrays as ``query_NAME`` and ``database_NAME``, and the labels; without labels the ids."""
        arrays: Arrays = {f"query_{name}": array for name, array in self.queries.items()}
        arrays |= {f"database_{name}": array for name, array in self.items.items()}
        for side, rows in (("query", self.data.queries), ("database", self.data.database)):
            if rows.labels is None:
                arrays[f"{side}_ids"] = rows.ids
            else:
                arrays[f"{side}_labels"] = rows.labels
        write_arrays(path, arrays, "plain")  # such numbers hardly compress

    def count(self, relevance: Relevance, *, progress: bool = False) -> Counted:
        """The rankings by asymmetric distances; nothing is counted by Hamming distance."""
        return Counted({}, ranked={"asymmetric": Rankings(self.distances, relevance, progress)})


@dataclass(frozen=True)
class TrainingData:
    """Everything that a method gets to fit a hasher: the training examples, never the queries."""

    items: NDArray[Any]  # uint8 images [n, H, W, C] or float32 features [n, d]
    labels: Labels  # class ids [n], or multi-hot [n, labels]
    value_max: float  # the stored value that means 1.0: 255 for uint8 images
    seed: int
    folder: Path  # where checkpoints and the training log are written
    ids: NDArray[np.int64] | None = None  # the numbers of the items in their data set; None: 0, 1, 2, ...
    execution: Execution = DEFAULT
    base: Hasher | None = None  # the fitted hasher of the method's `base`; None if it has none
    relevance: DistanceRelevance | None = None  # among the training examples, if distances define it; None: labels do
    metric: Literal["l2", "ip"] = "l2"  # by which the nearest items are wanted; ip: the largest inner products
    copies: NDArray[Any] | None = None  # [c, n, d]: features of augmented copies of the items; None: there are none
    # the seed that the user gave: from it comes what a run must share with its base, such as the centres of the classes
    given_seed: int = 0
    evaluate: Callable[["Hasher"], dict[str, float]] | None = None  # the AP of items that are not the queries, by name
    # called after each step, with the network and the number of its items: a clock, which may end the training
    after_step: Callable[[Any, int], None] | None = None


class DamagedHasher(HashbenchError):  # noqa: N818  (what is found, as TrainingFailed is what happened)
    """The files of a saved hasher are damaged, or some of them are missing."""


class TrainingFailed(HashbenchError):  # noqa: N818  (a result, not a fault: it is stored as a failed row)
    """Training failed, for example because the loss is not finite; the run is stored as a failed row."""


class TimeIsOver(Exception):  # noqa: N818  (neither a fault nor a result)
    """The training stopped at a checkpoint, because ``Execution.stop_at`` came; the same command continues."""


@dataclass(frozen=True)
class SavedHasher:
    """A hasher on disk: its folder, the device to load it to, and the hasher of the method's ``base`` if it has one."""

    folder: Path
    device: str = "auto"
    base: Hasher | None = None
