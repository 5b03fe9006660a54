"""Stored codes, packed piece by piece: never the whole array of floats."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import _bit_order
from hashbench.codes.files._layout import Arranged, is_packed
from hashbench.codes.files._stored import Stored
from hashbench.codes.packed import Codes
from hashbench.errors import HashbenchError

Bytes = NDArray[np.uint8]


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
        """All bits that are set in some row's last byte; 0 for codes that did not come packed."""
        return int(np.bitwise_or.reduce(self.rows[:, (self.n_bits - 1) // 8])) if self.is_packed else 0

    def put_in_order(self, bit_order: str) -> None:
        """Makes the first bit of packed bytes the lowest, which ``bit_order`` says where it is now.

        Raises HashbenchError where bits beyond ``n_bits`` are set.
        """
        if self.is_packed:
            _bit_order.check(self.census.where, self.n_bits, self.last_byte(), bit_order)
            if bit_order == "big":
                _bit_order.reverse(self.rows)

    def codes(self) -> Codes:
        """The codes, once all is added."""
        return Codes(self.rows.view("<u8").astype(np.uint64, copy=False), self.n_bits)


def read(arranged: Arranged, bit_order: str | None) -> tuple[Codes, Codes, list[str]]:
    """The query codes, the database codes and what there is to say about their values.

    A bit is set where the value is > 0. Packed codes keep the bits that ``bit_order`` says; without it, the one order
    whose padding is clear, and where both are (whole bytes) it changes no distance.
    """
    query, database = (packed(stored, arranged.n_bits) for stored in (arranged.query, arranged.database))
    notes = interpret([query.census, database.census])
    chosen, more = _bit_order.choose(arranged, query.last_byte() | database.last_byte(), bit_order)
    for side in (query, database):
        side.put_in_order(chosen)
    return query.codes(), database.codes(), notes + more


def packed_slabs(stored: Stored, n_bits: int, bit_order: str, census: Census) -> Iterator[Packed]:
    """The codes of an array that comes row by row, a slab at a time; ``census`` is added to."""
    for _, slab in stored.slabs():
        codes = Packed.empty(stored, n_bits, len(slab))
        codes.census = census
        codes.add((slice(0, len(slab)),), slab)
        codes.put_in_order(bit_order)
        yield codes


def packed(stored: Stored, n_bits: int) -> Packed:
    """The codes of a whole array, with a census of its values; packed bytes are still in their own order of bits."""
    codes = Packed.empty(stored, n_bits)
    for at, slab in stored.slabs():
        codes.add(at, slab)
    return codes


def interpret(counted: list[Census]) -> list[str]:
    """Notes about values; raises HashbenchError where binarising at > 0 would not be what was meant.

    A census of nothing, that of packed codes, says nothing.
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
