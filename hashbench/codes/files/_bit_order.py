"""Which bit of a packed byte comes first: the user says it, or the padding shows it."""

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._layout import StoredCodes, is_packed
from hashbench.codes.files._stored import StoredArray
from hashbench.errors import HashbenchError

REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
ROWS = 1 << 16  # reversed at a time


def choose(codes: StoredCodes, last_byte: int, bit_order: str | None) -> tuple[str, list[str]]:
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


def check(where: str, n_bits: int, last_byte: int, bit_order: str | None) -> str:
    """The bit order in which no bit beyond ``n_bits`` is set; big where that holds for both.

    Raises HashbenchError where it holds for neither, or not for ``bit_order``.
    """
    used = n_bits % 8 or 8
    clear = {"big": not last_byte & (0xFF >> used), "little": not last_byte >> used}
    chosen = bit_order or next((order for order, fits in clear.items() if fits), None)
    if chosen is None or not clear[chosen]:
        raise HashbenchError(
            f"{where}: bits beyond n_bits = {n_bits} are set: pack with numpy.packbits(bits, axis=1), highest bit "
            "first, or say --bit-order little"
        )
    return chosen


def needs_padding(stored: StoredArray, n_bits: int, bit_order: str | None) -> bool:
    """Whether the bit order of ``stored`` can only be seen from its padding."""
    return bit_order is None and n_bits % 8 != 0 and is_packed(stored, n_bits)


def last_byte(stored: StoredArray, n_bits: int) -> int:
    """The bitwise or of the last bytes of all rows; reads the whole array."""
    found = 0
    for _, slab in stored.slabs():
        found |= int(np.bitwise_or.reduce(slab[:, (n_bits - 1) // 8]))
    return found


def reverse(rows: NDArray[np.uint8]) -> None:
    """Makes the highest bit of each byte the lowest, in place."""
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        part[...] = REVERSED.take(part)
