"""Packs stored codes slab by slab: the whole array of floats is never in memory."""

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.scoring.codes.files._layout import StoredCodes, is_packed
from hashbench.scoring.codes.files._stored import StoredArray
from hashbench.scoring.codes.packed import Codes, bit_order_of, from_bytes
from hashbench.scoring.codes.values import CodeValues, interpret

Bytes = NDArray[np.uint8]


def read(stored: StoredCodes, bit_order: str | None) -> tuple[Codes, Codes, list[str]]:
    """The query codes, the database codes and notes about their values; a bit is set where the value is > 0."""
    (query, database), notes = _read([stored.query, stored.database], stored.n_bits, bit_order)
    return query, database, notes


def read_database(stored: StoredCodes, bit_order: str | None) -> tuple[Codes, list[str]]:
    """The database codes alone, and notes as those of ``read``."""
    (database,), notes = _read([stored.database], stored.n_bits, bit_order)
    return database, notes


def _read(sides: list[StoredArray], n_bits: int, bit_order: str | None) -> tuple[list[Codes], list[str]]:
    values = [CodeValues(stored.where) for stored in sides]  # of codes that are packed in their file, none
    rows = [_packed(stored, n_bits, counted) for stored, counted in zip(sides, values, strict=True)]
    notes = interpret(values)
    packed = [stored for stored in sides if is_packed(stored, n_bits)]
    if not packed:
        return [from_bytes(side, n_bits, "little") for side in rows], notes
    where = packed[0].where
    if len(packed) < len(sides) and bit_order is None and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --layout big or --layout little")
    last_byte = 0
    for stored, side in zip(sides, rows, strict=True):
        if is_packed(stored, n_bits):
            last_byte |= int(np.bitwise_or.reduce(side[:, -1]))
    chosen = bit_order_of(where, n_bits, last_byte, bit_order)  # of all rows: only their padding shows it
    if bit_order is None and chosen == "little" and n_bits > 1:
        notes.append(f"{where}: packed with the lowest bit first, as the clear padding shows")
    orders = [chosen if is_packed(stored, n_bits) else "little" for stored in sides]
    return [from_bytes(side, n_bits, order) for side, order in zip(rows, orders, strict=True)], notes


def _packed(stored: StoredArray, n_bits: int, values: CodeValues) -> Bytes:
    """The codes, uint8[n, bytes]: as their file has them where they are packed in it, else the lowest bit first."""
    if is_packed(stored, n_bits):
        return stored.whole()
    rows = np.zeros((stored.shape[0], -(-n_bits // 8)), np.uint8)
    for at, slab in stored.slabs():
        values.add(slab)
        bits = slab > 0
        if len(at) == 1:
            rows[at] = np.packbits(bits, axis=1, bitorder="little")
        else:  # whole columns
            for column, set_bits in enumerate(bits.T, at[1].start):
                rows[:, column // 8] |= set_bits.view(np.uint8) << (column % 8)
    return rows
