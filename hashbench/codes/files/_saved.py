"""Saved codes: in memory as a whole, or with a database that is read piece by piece, where it does not fit."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import _codes
from hashbench.codes.files._codes import Packer
from hashbench.codes.files._labels import Ids, LabelReader, checked_ids, count_in, relevance_between, rows_of
from hashbench.codes.files._layout import StoredCodes, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.codes.packed import Codes, block_items
from hashbench.codes.values import interpret
from hashbench.relevance.labels import LabelRelevance, Labels
from hashbench.relevance.neighbours import NeighbourRelevance


class _QueriesById:
    """Finds the queries among the items of the database by their ids."""

    query_ids: Ids | None

    def _pieces_of_ids(self) -> Iterable[Ids] | None:
        raise NotImplementedError

    def ids_in_database(self) -> int | None:
        """The number of queries whose id a database item has too; None where the file does not name both."""
        if self.query_ids is None or (pieces := self._pieces_of_ids()) is None:
            return None
        return count_in(self.query_ids, pieces)

    def rows_in_database(self) -> NDArray[np.int64] | None:
        """The row of each query in the database by its id, -1 for none; None where the file does not name both."""
        if self.query_ids is None or (pieces := self._pieces_of_ids()) is None:
            return None
        return rows_of(self.query_ids, pieces, "database_ids")


@dataclass(frozen=True)
class SavedCodes(_QueriesById):
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

    def pieces(self) -> Iterator[tuple[Codes, LabelRelevance | NeighbourRelevance]]:
        """The database codes and the relevance of all queries to them: a ``CodeStream`` of one piece."""
        yield self.database, self.relevance

    def _pieces_of_ids(self) -> Iterable[Ids] | None:
        if self.database_ids is None:
            return None
        return [self.database_ids]


@dataclass
class CodeStream(_QueriesById):
    """The queries, and a database that each call of ``pieces`` reads anew; ``notes`` are complete when it has ended."""

    query: Codes
    query_labels: Labels
    n_database: int
    query_ids: Ids | None
    class_names: NDArray[np.str_] | None  # of the class ids of the queries, where the file has names
    _stored: StoredCodes = field(repr=False)
    _bit_order: str = field(repr=False)
    _query_packer: Packer = field(repr=False)
    _notes_before: Sequence[str] = field(repr=False)  # those about the values
    _notes_after: Sequence[str] = field(repr=False)
    _ids: StoredArray | None = field(repr=False)  # of the database
    notes: tuple[str, ...] = field(default=(), init=False)

    def pieces(self) -> Iterator[tuple[Codes, LabelRelevance]]:
        """The database codes, some thousands at a time, each with the relevance of all queries to them.

        Raises HashbenchError like ``load``, perhaps only at the end: a fault of the file may show in its last byte,
        and what the values mean is known when all were read. Show no result before the last piece has come.
        """
        n_bits = self._stored.n_bits
        n_items = block_items(n_bits)
        packer = Packer(self._stored.database, n_bits)
        labels = LabelReader(self._stored.labels[1], self.class_names)
        words = regrouped((slab.words for slab in packer.slabs(self._bit_order)), n_items)
        pieces = zip(words, regrouped(labels.pieces(), n_items), strict=True)  # strict: both to their ends
        for piece_words, piece_labels in pieces:
            yield Codes(piece_words, n_bits), relevance_between(self.query_labels, piece_labels)
        values = interpret([self._query_packer.values, packer.values])
        self.notes = (*self._notes_before, *values, *self._notes_after, *labels.notes())

    def _pieces_of_ids(self) -> Iterable[Ids] | None:
        if self._ids is None:
            return None
        return (slab for _, slab in checked_ids(self._ids, self.n_database).slabs())


@dataclass(frozen=True)
class UnreadCodes:
    """Codes, labels and ids (of queries and database) in their files, before any value is read; notes on the layout."""

    codes: StoredCodes
    ids: Sequence[StoredArray | None]
    notes: list[str]
    bit_order: str | None

    def load(self) -> SavedCodes:
        """All of it in memory."""
        query, database, notes = _codes.read(self.codes, self.bit_order)
        query_labels = LabelReader(self.codes.labels[0])
        labels_of_queries = query_labels.whole()
        database_labels = LabelReader(self.codes.labels[1], query_labels.names)
        relevance = relevance_between(labels_of_queries, database_labels.whole())
        notes = [*self.notes, *notes, *query_labels.notes(), *database_labels.notes()]
        return SavedCodes(query, database, relevance, tuple(notes), *self.whole_ids(), class_names=query_labels.names)

    def whole_ids(self) -> tuple[Ids | None, Ids | None]:
        """The ids of the queries and of the database; None for a side without."""
        query_ids, database_ids = self.ids
        codes = self.codes
        return _whole_ids(query_ids, codes.query.shape[0]), _whole_ids(database_ids, codes.database.shape[0])

    def stream(self) -> CodeStream:
        """The queries in memory, and the database, which its file stores item by item, to be read."""
        codes = self.codes
        n_bits = codes.n_bits
        packer = Packer(codes.query, n_bits)
        rows = packer.whole()
        last_byte = packer.last_byte(rows)
        # only the padding of all codes shows the bit order
        if self.bit_order is None and n_bits % 8 and is_packed(codes.database, n_bits):
            last_byte |= _codes.last_byte_in(codes.database, n_bits)
        order, bit_notes = _codes.choose_order(codes, last_byte, self.bit_order)
        query = packer.codes(rows, order)
        labels = LabelReader(codes.labels[0])
        return CodeStream(
            query,
            labels.whole(),
            n_database=codes.database.shape[0],
            query_ids=_whole_ids(self.ids[0], len(query)),
            class_names=labels.names,
            _stored=codes,
            _bit_order=order,
            _query_packer=packer,
            _notes_before=self.notes,
            _notes_after=[*bit_notes, *labels.notes()],
            _ids=self.ids[1],
        )


def _whole_ids(stored: StoredArray | None, n_items: int) -> Ids | None:
    if stored is None:
        return None
    return checked_ids(stored, n_items).whole()


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
