"""Packs stored codes slab by slab: the whole array of floats is never in memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._layout import StoredPair, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.codes.packed import Codes, bit_order_of, reverse_bits
from hashbench.foundation.errors import HashbenchError

Bytes = NDArray[np.uint8]


@dataclass
class Census:
    """Counts of the values of an array of codes that are 0, negative and so on, made while it is packed."""

    where: str
    n_values: int = 0
    n_zero: int = 0
    n_negative: int = 0
    n_set: int = 0
    n_other: int = 0  # neither -1 nor 0 nor 1
    other: float = 0.0
    is_float: bool = False

    def add(self, slab: NDArray[np.generic]) -> None:
        """Counts the values of one slab."""
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
class Packer:
    """Packs codes slab by slab; ``rows`` uint8[n, bytes] are padded to words, the lowest bit of a byte comes first."""

    n_bits: int
    rows: Bytes
    is_packed: bool
    census: Census

    @staticmethod
    def empty(stored: StoredArray, n_bits: int, n_items: int | None = None) -> "Packer":
        """Room for the codes in ``stored``, or for ``n_items`` of them."""
        rows = np.zeros((stored.shape[0] if n_items is None else n_items, 8 * -(-n_bits // 64)), np.uint8)
        return Packer(n_bits, rows, is_packed(stored, n_bits), Census(stored.where))

    def add(self, at: tuple[slice, ...], slab: NDArray[np.generic]) -> None:
        """Packs one slab of whole rows or of whole columns, and counts its values."""
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
        """The bitwise or of the last bytes of all rows; 0 for codes that are not packed in their file."""
        return int(np.bitwise_or.reduce(self.rows[:, (self.n_bits - 1) // 8])) if self.is_packed else 0

    def put_in_order(self, bit_order: str) -> None:
        """Makes the first bit of a byte the lowest, in codes that are packed with ``bit_order`` in their file.

        Raises HashbenchError where bits beyond ``n_bits`` are set.
        """
        if self.is_packed:
            bit_order_of(self.census.where, self.n_bits, self.last_byte(), bit_order)
            if bit_order == "big":
                reverse_bits(self.rows)

    def codes(self) -> Codes:
        """The packed codes; to be called after the last slab."""
        return Codes(self.rows.view("<u8").astype(np.uint64, copy=False), self.n_bits)


def read(stored: StoredPair, bit_order: str | None) -> tuple[Codes, Codes, list[str]]:
    """The query codes, the database codes and notes about their values.

    A bit is set where the value is > 0. Codes that are packed in their file are read in ``bit_order``; without it, in
    the only order in which no bit beyond ``n_bits`` is set. Where both orders fit, no distance depends on it.
    """
    query, database = (packed(array, stored.n_bits) for array in (stored.query, stored.database))
    notes = interpret([query.census, database.census])
    chosen, more = choose_order(stored, query.last_byte() | database.last_byte(), bit_order)
    for side in (query, database):
        side.put_in_order(chosen)
    return query.codes(), database.codes(), notes + more


def packed_slabs(stored: StoredArray, n_bits: int, bit_order: str, census: Census) -> Iterator[Packer]:
    """The codes of an array that is read by rows, a slab at a time; the values are counted in ``census``."""
    for _, slab in stored.slabs():
        codes = Packer.empty(stored, n_bits, len(slab))
        codes.census = census
        codes.add((slice(0, len(slab)),), slab)
        codes.put_in_order(bit_order)
        yield codes


def packed(stored: StoredArray, n_bits: int) -> Packer:
    """The codes of a whole array, with a census of its values; packed bytes keep the bit order of their file."""
    codes = Packer.empty(stored, n_bits)
    for at, slab in stored.slabs():
        codes.add(at, slab)
    return codes


def interpret(counted: list[Census]) -> list[str]:
    """Notes about the values of queries and database.

    Values other than -1, 0 and +1 must be floats, some of them below 0, and -1 and 0 must not come without +1; raises
    HashbenchError otherwise. The census of packed codes has no values and is left out.
    """
    counted = [census for census in counted if census.n_values]
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


def choose_order(codes: StoredPair, last_byte: int, bit_order: str | None) -> tuple[str, list[str]]:
    """The bit order of the codes that are packed, and a note where the padding showed it.

    ``last_byte`` is the bitwise or of the last bytes of all packed rows.
    """
    sides = [stored for stored in (codes.query, codes.database) if is_packed(stored, codes.n_bits)]
    if not sides:
        return "little", []
    n_bits, where = codes.n_bits, sides[0].where
    if bit_order is None and len(sides) == 1 and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --bit-order big or --bit-order little")
    chosen = bit_order_of(where, n_bits, last_byte, bit_order)
    is_news = bit_order is None and chosen == "little" and n_bits > 1
    return chosen, [f"{where}: packed with the lowest bit first, as the clear padding shows"] if is_news else []


def last_byte(stored: StoredArray, n_bits: int) -> int:
    """The bitwise or of the last bytes of all rows; reads the whole array."""
    found = 0
    for _, slab in stored.slabs():
        found |= int(np.bitwise_or.reduce(slab[:, (n_bits - 1) // 8]))
    return found
