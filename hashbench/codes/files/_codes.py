"""Packs stored codes slab by slab: the whole array of floats is never in memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._layout import StoredCodes, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.codes.packed import Codes, bit_order_of, reverse_bits
from hashbench.codes.values import CodeValues, interpret
from hashbench.foundation.errors import HashbenchError

Bytes = NDArray[np.uint8]


class Packer:
    """Packs the codes of one side slab by slab, and counts their values."""

    def __init__(self, stored: StoredArray, n_bits: int) -> None:
        self.stored = stored
        self.n_bits = n_bits
        self.is_packed = is_packed(stored, n_bits)  # in the file already
        self.values = CodeValues(stored.where)  # of codes that are packed, none

    def whole(self) -> Bytes:
        """All codes, uint8[n, bytes], padded to words; of codes that are packed in their file, as the file has them."""
        rows = self._room(self.stored.shape[0])
        for at, slab in self.stored.slabs():
            self._pack(rows, at, slab)
        return rows

    def slabs(self, bit_order: str) -> Iterator[Codes]:
        """The codes of an array that is read by rows, a slab at a time."""
        for _, slab in self.stored.slabs():
            rows = self._room(len(slab))
            self._pack(rows, (slice(None),), slab)
            yield self.codes(rows, bit_order)

    def codes(self, rows: Bytes, bit_order: str) -> Codes:
        """The codes in ``rows``; raises HashbenchError where bits beyond ``n_bits`` are set."""
        if self.is_packed:
            bit_order_of(self.stored.where, self.n_bits, self.last_byte(rows), bit_order)
            if bit_order == "big":
                reverse_bits(rows)
        return Codes(rows.view("<u8").astype(np.uint64, copy=False), self.n_bits)

    def last_byte(self, rows: Bytes) -> int:
        """The bitwise or of the last bytes of all rows; 0 for codes that are not packed in their file."""
        if not self.is_packed:
            return 0
        return last_byte_of(rows, self.n_bits)

    def _room(self, n_items: int) -> Bytes:
        return np.zeros((n_items, 8 * -(-self.n_bits // 64)), np.uint8)

    def _pack(self, rows: Bytes, at: tuple[slice, ...], slab: NDArray[np.generic]) -> None:
        """Packs one slab of whole rows or of whole columns, whose bits come lowest first."""
        is_of_columns = len(at) == 2
        if self.is_packed:
            first = at[1].start if is_of_columns else 0
            rows[at[0], first : first + slab.shape[1]] = slab
            return
        self.values.add(slab)
        bits = slab > 0  # type: ignore[operator]
        if is_of_columns:
            for column, set_bits in enumerate(bits.T, at[1].start):
                rows[:, column // 8] |= set_bits.view(np.uint8) << (column % 8)
        else:
            packed = np.packbits(bits, axis=1, bitorder="little")
            rows[at[0], : packed.shape[1]] = packed


def read(stored: StoredCodes, bit_order: str | None) -> tuple[Codes, Codes, list[str]]:
    """The query codes, the database codes and notes about their values; a bit is set where the value is > 0."""
    query = Packer(stored.query, stored.n_bits)
    database = Packer(stored.database, stored.n_bits)
    query_rows = query.whole()
    database_rows = database.whole()
    notes = interpret([query.values, database.values])
    last_byte = query.last_byte(query_rows) | database.last_byte(database_rows)
    chosen, more = choose_order(stored, last_byte, bit_order)
    return query.codes(query_rows, chosen), database.codes(database_rows, chosen), notes + more


def read_database(stored: StoredCodes, bit_order: str | None) -> tuple[Codes, list[str]]:
    """The database codes alone, and notes as those of ``read``."""
    side = Packer(stored.database, stored.n_bits)
    rows = side.whole()
    notes = interpret([side.values])
    chosen, more = choose_order(stored, side.last_byte(rows), bit_order)
    return side.codes(rows, chosen), notes + more


def choose_order(codes: StoredCodes, last_byte: int, bit_order: str | None) -> tuple[str, list[str]]:
    """The bit order of the packed codes, by the or of all rows' last bytes, and a note where the padding showed it."""
    sides = [stored for stored in (codes.query, codes.database) if is_packed(stored, codes.n_bits)]
    if not sides:
        return "little", []
    n_bits = codes.n_bits
    where = sides[0].where
    if bit_order is None and len(sides) == 1 and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --layout big or --layout little")
    chosen = bit_order_of(where, n_bits, last_byte, bit_order)
    if bit_order is None and chosen == "little" and n_bits > 1:
        return chosen, [f"{where}: packed with the lowest bit first, as the clear padding shows"]
    return chosen, []


def last_byte_of(rows: NDArray[np.generic], n_bits: int) -> int:
    """The bitwise or of the last bytes of packed codes."""
    return int(np.bitwise_or.reduce(rows[:, (n_bits - 1) // 8]))


def last_byte_in(stored: StoredArray, n_bits: int) -> int:
    """The bitwise or of the last bytes of all rows; reads the whole array."""
    last_byte = 0
    for _, slab in stored.slabs():
        last_byte |= last_byte_of(slab, n_bits)
    return last_byte
