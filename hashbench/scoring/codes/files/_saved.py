"""Saved codes: those of queries and of a database, with the relevance between them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.scoring.codes.files import _codes, _labels
from hashbench.scoring.codes.files._labels import Ids
from hashbench.scoring.codes.files._layout import StoredCodes
from hashbench.scoring.codes.files._stored import StoredArray
from hashbench.scoring.codes.packed import Codes
from hashbench.scoring.relevance.labels import LabelRelevance, Labels
from hashbench.scoring.relevance.neighbours import NeighbourRelevance


@dataclass(frozen=True)
class SavedCodes:
    """The codes of queries and of a database, the relevance between them, and warnings for a report, a line each."""

    query: Codes
    database: Codes
    relevance: LabelRelevance | NeighbourRelevance
    notes: tuple[str, ...] = ()
    query_ids: Ids | None = None
    database_ids: Ids | None = None
    beside: Mapping[str, NDArray[Any]] = field(default_factory=dict)  # other arrays of the file that is written
    class_names: NDArray[np.str_] | None = None  # of the class ids of the queries, where the file has names

    @property
    def labels(self) -> tuple[Labels, Labels]:
        """The labels of the queries and of the database, which there are unless neighbours are the relevance."""
        assert not isinstance(self.relevance, NeighbourRelevance), "codes with neighbours have no labels"
        return self.relevance.query_labels, self.relevance.database_labels

    @property
    def query_labels(self) -> Labels:
        """The labels of the queries."""
        return self.labels[0]

    @property
    def n_neighbours(self) -> int | None:
        """The number of neighbours that are relevant to a query; None where labels are the relevance."""
        if isinstance(self.relevance, NeighbourRelevance):
            return self.relevance.ids.shape[1]
        return None

    @property
    def n_database(self) -> int:
        """Number of items in the database."""
        return len(self.database)

    def ids_in_database(self) -> int | None:
        """The number of queries whose id a database item has too; None where the file does not name both."""
        if self.query_ids is None or self.database_ids is None:
            return None
        known = set(self.database_ids.tolist())
        return sum(item in known for item in self.query_ids.tolist())

    def rows_in_database(self) -> NDArray[np.int64] | None:
        """The row of each query in the database by its id, -1 for none; None where the file does not name both."""
        if self.query_ids is None or self.database_ids is None:
            return None
        return _labels.rows_of(self.query_ids, self.database_ids, "database_ids")


@dataclass(frozen=True)
class UnreadCodes:
    """Codes, labels and ids (of queries and database) in their files, before any value is read; notes on the layout."""

    codes: StoredCodes
    ids: Sequence[StoredArray | None]
    notes: list[str]
    bit_order: str | None

    def load(self) -> SavedCodes:
        """All of it in memory."""
        (query, database), notes = self.read_codes()
        query_labels, names, query_notes = _labels.read(self.codes.labels[0])
        database_labels, _, database_notes = _labels.read(self.codes.labels[1], names)
        relevance = _labels.relevance_between(query_labels, database_labels)
        notes = [*self.notes, *notes, *query_notes, *database_notes]
        return SavedCodes(query, database, relevance, tuple(notes), *self.whole_ids(), class_names=names)

    def read_codes(self) -> tuple[list[Codes], list[str]]:
        """The codes of the queries and of the database, and notes about their values."""
        return _codes.read(self.codes.sides, self.codes.n_bits, self.bit_order)

    def whole_ids(self) -> tuple[Ids | None, Ids | None]:
        """The ids of the queries and of the database; None for a side without."""
        query_ids, database_ids = self.ids
        query, database = self.codes.sides
        return _labels.checked_ids(query_ids, query.shape[0]), _labels.checked_ids(database_ids, database.shape[0])


def regrouped(pieces: Iterable[NDArray[Any]], n: int) -> Iterator[NDArray[Any]]:
    """Regroups rows into pieces of ``n``; the last piece may be shorter."""
    held: list[NDArray[Any]] = []
    missing = n
    for piece in pieces:
        start = 0
        while start < len(piece):
            held.append(piece[start : start + missing])
            start += missing
            missing -= len(held[-1])
            if not missing:
                yield np.concatenate(held)
                held = []
                missing = n
    if held:
        yield np.concatenate(held)
