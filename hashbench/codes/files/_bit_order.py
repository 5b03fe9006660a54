"""Which bit of a packed byte comes first: the user says it, or the padding shows it."""

import numpy as np

from hashbench.codes.bit_order import check
from hashbench.codes.files._layout import StoredPair, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.foundation.errors import HashbenchError


def choose(codes: StoredPair, last_byte: int, bit_order: str | None) -> tuple[str, list[str]]:
    """The bit order of the codes that are packed, and a note where the padding showed it.

    ``last_byte`` is the bitwise or of the last bytes of all packed rows.
    """
    sides = [stored for stored in (codes.query, codes.database) if is_packed(stored, codes.n_bits)]
    if not sides:
        return "little", []
    n_bits, where = codes.n_bits, sides[0].where
    if bit_order is None and len(sides) == 1 and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --bit-order big or --bit-order little")
    chosen = check(where, n_bits, last_byte, bit_order)
    is_news = bit_order is None and chosen == "little" and n_bits > 1
    return chosen, [f"{where}: packed with the lowest bit first, as the clear padding shows"] if is_news else []


def needs_padding(stored: StoredArray, n_bits: int, bit_order: str | None) -> bool:
    """Whether the bit order of ``stored`` can only be seen from its padding."""
    return bit_order is None and n_bits % 8 != 0 and is_packed(stored, n_bits)


def last_byte(stored: StoredArray, n_bits: int) -> int:
    """The bitwise or of the last bytes of all rows; reads the whole array."""
    found = 0
    for _, slab in stored.slabs():
        found |= int(np.bitwise_or.reduce(slab[:, (n_bits - 1) // 8]))
    return found
