"""Stored codes, packed piece by piece: never the whole array of floats."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.codes import Codes
from hashbench.errors import HashbenchError
from hashbench.saved_codes._layout import Arranged, is_packed
from hashbench.saved_codes._stored import Stored

Bytes = NDArray[np.uint8]
REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)


@dataclass
class Census:
    """Which values an array of codes holds, counted while it is packed."""

    where: str
    n_values: int = 0
    n_zero: int = 0
    n_negative: int = 0
    n_set: int = 0
    n_other: int = 0  # neither -1 nor 0 nor 1
    other: float = 0.0
    is_float: bool = False

    def add(self, slab: NDArray[np.generic]) -> None:
        """Counts the values of one piece."""
        ones, zeros, negative = slab == 1, slab == 0, slab < 0  # type: ignore[operator]
        known = ones | zeros | (slab == -1)
        self.n_values += slab.size
        self.n_zero += int(np.count_nonzero(zeros))
        self.n_negative += int(np.count_nonzero(negative))
        n_other = slab.size - int(np.count_nonzero(known))
        self.n_set += slab.size - int(np.count_nonzero(zeros)) - int(np.count_nonzero(negative))
        if n_other and not self.n_other:
            self.other = slab[~known].flat[0].item()
        self.n_other += n_other
        self.is_float = slab.dtype.kind == "f"


@dataclass
class Packed:
    """Codes being packed: lowest bit of the first byte first, rows padded to words."""

    n_bits: int
    rows: Bytes
    is_packed: bool
    census: Census

    @staticmethod
    def empty(stored: Stored, n_bits: int, n_items: int | None = None) -> "Packed":
        """No codes yet, with room for those of ``stored``, or for ``n_items`` of them."""
        rows = np.zeros((stored.shape[0] if n_items is None else n_items, 8 * -(-n_bits // 64)), np.uint8)
        return Packed(n_bits, rows, is_packed(stored, n_bits), Census(stored.where))

    def add(self, at: tuple[slice, ...], slab: NDArray[np.generic]) -> None:
        """Packs one piece of whole rows or of whole columns."""
        first = at[1].start if len(at) == 2 else 0
        if self.is_packed:
            self.rows[at[0], first : first + slab.shape[1]] = slab
            return
        self.census.add(slab)
        bits = slab > 0  # type: ignore[operator]
        if len(at) == 1:
            packed = np.packbits(bits, axis=1, bitorder="little")
            self.rows[at[0], : packed.shape[1]] = packed
        else:
            for column, set_bits in enumerate(bits.T, first):
                self.rows[:, column // 8] |= set_bits.view(np.uint8) << (column % 8)

    def last_byte(self) -> int:
        """All bits that are set in some row's last byte."""
        return int(np.bitwise_or.reduce(self.rows[:, (self.n_bits - 1) // 8]))

    def reverse(self) -> None:
        """Makes the highest bit of each byte the first."""
        for start in range(0, len(self.rows), 1 << 16):
            self.rows[start : start + (1 << 16)] = REVERSED[self.rows[start : start + (1 << 16)]]

    def codes(self) -> Codes:
        """The codes, once all is added."""
        return Codes(self.rows.view("<u8").astype(np.uint64, copy=False), self.n_bits)


def read(arranged: Arranged, bit_order: str | None) -> tuple[Codes, Codes, list[str]]:
    """The query codes, the database codes and what there is to say about their values.

    A bit is set where the value is > 0. Packed codes keep the bits that ``bit_order`` says; without it, the one order
    whose padding is clear, and where both are (whole bytes) it changes no distance.
    """
    sides = [packed(stored, arranged.n_bits) for stored in (arranged.query, arranged.database)]
    notes = interpret([side.census for side in sides if not side.is_packed])
    notes += _order([side for side in sides if side.is_packed], len(sides), bit_order)
    return sides[0].codes(), sides[1].codes(), notes


def packed(stored: Stored, n_bits: int) -> Packed:
    """The codes of a whole array, with a census of its values; packed bytes are still in their own order of bits."""
    codes = Packed.empty(stored, n_bits)
    for at, slab in stored.slabs():
        codes.add(at, slab)
    return codes


def interpret(counted: list[Census]) -> list[str]:
    """Notes about values; raises HashbenchError where binarising at > 0 would not be what was meant."""
    others = [census for census in counted if census.n_other]
    if others and not (any(census.n_negative for census in others) and all(census.is_float for census in others)):
        raise HashbenchError(
            f"{others[0].where}: {others[0].other} is in it; 0 and 1, or -1 and +1, are expected, or real values "
            "on both sides of 0, or packed bytes with --bits"
        )
    negative = any(census.n_negative for census in counted)
    if negative and any(census.n_zero for census in counted) and not any(census.n_set for census in counted):
        raise HashbenchError(f"{counted[0].where}: -1 and 0 and no +1 are in it: 0 and 1, or -1 and +1, are expected")
    return [note for census in counted if (note := _note(census))]


def _note(census: Census) -> str:
    zeros = f"{census.n_zero} of {census.n_values} values are exactly 0, and those bits are not set"
    if census.n_other:
        return f"{census.where}: real values, binarised at > 0; {zeros}"
    return f"{census.where}: codes of -1 and +1 with zeros: {zeros}" if census.n_negative and census.n_zero else ""


def _order(sides: list[Packed], n_sides: int, bit_order: str | None) -> list[str]:
    if not sides:
        return []
    n_bits, where = sides[0].n_bits, sides[0].census.where
    if bit_order is None and len(sides) < n_sides and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --bit-order big or --bit-order little")
    chosen = order_of(where, n_bits, sides[0].last_byte() | sides[-1].last_byte(), bit_order)
    if chosen == "big":
        for side in sides:
            side.reverse()
    is_news = bit_order is None and chosen == "little" and n_bits > 1
    return [f"{where}: packed with the lowest bit first, as the clear padding shows"] if is_news else []


def order_of(where: str, n_bits: int, last_byte: int, bit_order: str | None) -> str:
    """The order of bits in a byte in which no bit beyond ``n_bits`` is set; big where both are possible."""
    used = n_bits % 8 or 8
    clear = {"big": not last_byte & (0xFF >> used), "little": not last_byte >> used}
    chosen = bit_order or next((order for order, fits in clear.items() if fits), None)
    if chosen is None or not clear[chosen]:
        raise HashbenchError(
            f"{where}: bits beyond n_bits = {n_bits} are set: pack with numpy.packbits(bits, axis=1), highest bit "
            "first, or say --bit-order little"
        )
    return chosen
