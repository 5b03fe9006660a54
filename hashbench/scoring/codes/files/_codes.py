"""Packs stored codes slab by slab: the whole array of floats is never in memory."""

from collections.abc import Sequence

import numpy as np

from hashbench.scoring.codes.files._stored import StoredArray
from hashbench.scoring.codes.packed import Codes, from_bytes, is_packed, unsigned
from hashbench.scoring.codes.values import CodeValues, interpret

SIGNED = "int8, read as packed bytes less 128, as sentence-transformers' binary precision has them"


def read(sides: Sequence[StoredArray], n_bits: int, bit_order: str | None) -> tuple[list[Codes], list[str]]:
    """The codes of each side, [items, bits] or packed, and notes about their values; a value > 0 sets its bit."""
    values = [CodeValues(stored.where) for stored in sides]
    codes = [_packed(stored, n_bits, bit_order, counted) for stored, counted in zip(sides, values, strict=True)]
    notes = interpret(values)
    for stored in sides:
        if stored.dtype == np.int8 and is_packed(stored, n_bits):
            notes.append(f"{stored.where}: {SIGNED}")
    return codes, notes


def _packed(stored: StoredArray, n_bits: int, bit_order: str | None, values: CodeValues) -> Codes:
    if is_packed(stored, n_bits):
        return from_bytes(stored.where, unsigned(stored.whole()), n_bits, bit_order)
    rows = np.zeros((stored.shape[0], -(-n_bits // 8)), np.uint8)
    for at, slab in stored.slabs():
        values.add(slab)
        bits = slab > 0
        if len(at) == 1:
            rows[at] = np.packbits(bits, axis=1, bitorder="little")
        else:  # whole columns
            for column, set_bits in enumerate(bits.T, at[1].start):
                rows[:, column // 8] |= set_bits.view(np.uint8) << (column % 8)
    return from_bytes(stored.where, rows, n_bits, "little")
