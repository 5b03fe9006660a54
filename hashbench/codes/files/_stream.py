"""Reads a database piece by piece, where it does not fit into memory."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import _codes, _labels
from hashbench.codes.files._codes import Census
from hashbench.codes.files._labels import Ids, checked_ids, count_in, read_ids, rows_of
from hashbench.codes.files._layout import StoredCodes, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.codes.packed import Codes, block_items
from hashbench.foundation.errors import HashbenchError
from hashbench.relevance.labels import LabelRelevance, Labels


@dataclass
class CodeStream:
    """The queries in memory, and a database that is read anew by each call of ``pieces``.

    ``notes`` are empty until ``pieces`` has come to its end.
    """

    query: Codes
    query_labels: Labels
    n_database: int
    notes: tuple[str, ...] = field(default=(), init=False)
    _stored: StoredCodes = field(repr=False)
    _bit_order: str = field(repr=False)
    _query_census: Census = field(repr=False)
    _known: tuple[list[str], list[str], list[str]] = field(repr=False)  # notes of layout, of bits, of query labels
    _ids: Mapping[str, StoredArray] = field(repr=False)
    _names: NDArray[np.str_] | None = field(repr=False)  # of the classes of the queries, if labels are names

    def pieces(self) -> Iterator[tuple[Codes, LabelRelevance]]:
        """The database codes, some thousands at a time, each with the relevance of all queries to them.

        Raises HashbenchError like ``load``, perhaps only at the end: a fault of the file may show in its last byte,
        and what the values mean is known when all were read. Show no result before the last piece has come.
        """
        stored, n_bits = self._stored.database, self._stored.n_bits
        census, labels = Census(stored.where), _labels.LabelReader(self._stored.database_labels, self._names)
        slabs = _codes.packed_slabs(stored, n_bits, self._bit_order, census)
        n_items = block_items(n_bits)
        words = regrouped((slab.codes().words for slab in slabs), n_items)
        for piece, of in zip(words, regrouped(labels.pieces(), n_items), strict=True):  # strict: both to their ends
            yield Codes(piece, n_bits), _labels.relevance_between(self.query_labels, of)
        layout, bits, of_query = self._known
        values = _codes.interpret([self._query_census, census])
        self.notes = (*layout, *values, *bits, *of_query, *labels.notes())

    @property
    def class_names(self) -> NDArray[np.str_] | None:
        """The names of the class ids of the queries, where the file has names."""
        return self._names

    @property
    def query_ids(self) -> Ids | None:
        """The ids of the queries; None where the file does not name them."""
        return read_ids(self._ids.get("query_ids"), len(self.query))

    def ids_in_database(self) -> int | None:
        """The number of queries whose id a database item has too; None where the file does not name both."""
        query, database = self.query_ids, self._database_ids()
        if query is None or database is None:
            return None
        return count_in(query, (slab for _, slab in database.slabs()))

    def rows_in_database(self) -> NDArray[np.int64] | None:
        """As ``SavedCodes.rows_in_database``."""
        query, database = self.query_ids, self._database_ids()
        if query is None or database is None:
            return None
        return rows_of(query, (slab for _, slab in database.slabs()), database.where)

    def _database_ids(self) -> StoredArray | None:
        stored = self._ids.get("database_ids")
        return None if stored is None else checked_ids(stored, self.n_database)


def opened(
    codes: StoredCodes, layout_notes: list[str], bit_order: str | None, ids: Mapping[str, StoredArray]
) -> CodeStream:
    """The stream of stored codes; raises HashbenchError where the file does not store them item by item."""
    if not codes.database.by_rows:
        raise HashbenchError(
            f"{codes.database.where}: it cannot be read item by item, as the bits of an item are far apart: "
            "save items x bits as .npz, .npy or HDF5; this file cannot be combined with --stream"
        )
    n_bits = codes.n_bits
    query = _codes.packed(codes.query, n_bits)
    last_byte = query.last_byte()
    if bit_order is None and n_bits % 8 and is_packed(codes.database, n_bits):  # only its padding shows the bit order
        last_byte |= _codes.last_byte(codes.database, n_bits)
    order, bit_notes = _codes.choose_order(codes, last_byte, bit_order)
    query.put_in_order(order)
    labels = _labels.LabelReader(codes.query_labels)
    of_query = labels.whole()
    known = layout_notes, bit_notes, labels.notes()
    n_items = codes.database.shape[0]
    return CodeStream(query.codes(), of_query, n_items, codes, order, query.census, known, ids, labels.names)


def regrouped(pieces: Iterable[NDArray[Any]], n: int) -> Iterator[NDArray[Any]]:
    """The same rows in pieces of ``n``; the last piece may be shorter.

    >>> [piece.tolist() for piece in regrouped([np.arange(3), np.arange(3, 5)], 2)]
    [[0, 1], [2, 3], [4]]
    """
    held: list[NDArray[Any]] = []
    missing = n
    for piece in pieces:
        start = 0
        while start < len(piece):
            held.append(piece[start : start + missing])
            start, missing = start + missing, missing - len(held[-1])
            if not missing:
                yield np.concatenate(held)
                held, missing = [], n
    if held:
        yield np.concatenate(held)
