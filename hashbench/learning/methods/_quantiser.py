"""Quantisation: an item is stored as numbers, and a query, which is no code, is compared with what they stand for."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from hashbench.foundation.arrays import write_arrays
from hashbench.foundation.progress import with_bar
from hashbench.learning.contract import Arrays, Floats, ItemRows, QuantisedOutput, SearchItems
from hashbench.learning.methods._shallow import FeatureHasher, FeatureSettings, FittedFunction
from hashbench.scoring.histogram.ranking import Distances


class QuantiserSettings(FeatureSettings):
    """An item is stored in ``bits``, and in ``n_factors`` numbers of float32 beside them. A query is no code."""

    bits: int = Field(ge=1)
    query: Literal["float"] = "float"

    n_factors: ClassVar[int] = 0

    @property
    def size(self) -> str:
        """The size of a stored item without its factors, such as ``32b``."""
        return f"{self.bits}b"

    @property
    def bytes_per_item(self) -> int:
        """The bytes of a stored item with its factors."""
        return -(-self.bits // 8) + 4 * self.n_factors


@dataclass(frozen=True, eq=False)
class QuantisingFunction(FittedFunction):
    """A function that stores items, and gives the distances of queries to stored items."""

    metric: NDArray[np.str_] | None = field(default=None, kw_only=True)  # "ip": inner products; "l2" or None: distances

    @abstractmethod
    def of_items(self, features: Floats) -> Arrays:
        """The arrays that are stored of items with ``features`` [n, d], by name; each has n rows."""

    @abstractmethod
    def of_queries(self, features: Floats) -> Arrays:
        """The arrays that distances need of queries with ``features`` [q, d], by name; each has q rows."""

    def prepared(self, items: Arrays) -> Arrays:
        """The arrays that a search keeps in memory of stored ``items``, computed once: here the same arrays."""
        return items

    @abstractmethod
    def distances(self, queries: Arrays, prepared: Arrays) -> Distances:
        """Squared distances, or (ip) minus inner products, to ``prepared`` items, up to a constant of the query."""


@dataclass(frozen=True, eq=False)
class QuantisingHasher(FeatureHasher):
    """The hasher of a quantiser."""

    function: QuantisingFunction

    def output(self, data: SearchItems, *, progress: bool = False) -> QuantisedOutput:
        """The arrays of the queries and of the database, and the distances between them."""
        queries = self._arrays(data.queries, self.function.of_queries, progress=progress)
        items = self._arrays(data.database, self.function.of_items, progress=progress)
        distances = self.function.distances(queries, self.function.prepared(items))
        return QuantisedOutput(queries, items, distances, data)

    def _arrays(self, rows: ItemRows, encode: Callable[[Floats], Arrays], *, progress: bool) -> Arrays:
        """The arrays that ``encode`` returns for the features of all ``rows``, encoded block by block."""
        whole: Arrays = {}
        first = 0
        blocks = chain.from_iterable(map(self.blocks, rows.blocks()))
        for block in with_bar(blocks, "encode", "item", len(rows), shown=progress, size=len):
            for name, array in encode(block).items():
                if name not in whole:
                    whole[name] = np.empty((len(rows), *array.shape[1:]), array.dtype)
                whole[name][first : first + len(block)] = array
            first += len(block)
        return whole

    def export(self, data: SearchItems, path: Path) -> list[Path]:
        """Writes the output and the labels into one file."""
        self.output(data, progress=True).save_as(path)
        return [path]

    def export_items(self, rows: ItemRows, names: Sequence[str], path: Path) -> None:
        """Writes what is stored of the items, ``names`` [n], and ``labels`` if the items have any."""
        stored = self._arrays(rows, self.function.of_items, progress=True)
        stored["names"] = np.array(names)
        if rows.labels is not None:
            stored["labels"] = rows.labels
        write_arrays(path, stored)
