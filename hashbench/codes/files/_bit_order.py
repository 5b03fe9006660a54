"""Which bit of a packed byte comes first: said, or seen from the padding."""

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files._layout import Arranged, is_packed
from hashbench.codes.files._stored import Stored
from hashbench.errors import HashbenchError

REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
ROWS = 1 << 16  # reversed together


def choose(arranged: Arranged, last_byte: int, bit_order: str | None) -> tuple[str, list[str]]:
    """The order of bits in whichever codes are packed, and a note where it was seen from the padding.

    ``last_byte`` has all bits that are set in some packed row's last byte.
    """
    sides = [stored for stored in (arranged.query, arranged.database) if is_packed(stored, arranged.n_bits)]
    if not sides:
        return "little", []
    n_bits, where = arranged.n_bits, sides[0].where
    if bit_order is None and len(sides) == 1 and n_bits > 1:
        raise HashbenchError(f"{where}: packed, beside codes that are not: say --bit-order big or --bit-order little")
    chosen = check(where, n_bits, last_byte, bit_order)
    is_news = bit_order is None and chosen == "little" and n_bits > 1
    return chosen, [f"{where}: packed with the lowest bit first, as the clear padding shows"] if is_news else []


def check(where: str, n_bits: int, last_byte: int, bit_order: str | None) -> str:
    """The order of bits in a byte in which no bit beyond ``n_bits`` is set; big where both are possible.

    Raises HashbenchError where there is none, or where it is not ``bit_order``.
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


def needs_padding(stored: Stored, n_bits: int, bit_order: str | None) -> bool:
    """Whether the padding of packed codes must be looked at before their order of bits is known."""
    return bit_order is None and n_bits % 8 != 0 and is_packed(stored, n_bits)


def last_byte(stored: Stored, n_bits: int) -> int:
    """All bits that are set in some row's last byte; reads packed codes that come row by row from end to end."""
    found = 0
    for _, slab in stored.slabs():
        found |= int(np.bitwise_or.reduce(slab[:, (n_bits - 1) // 8]))
    return found


def reverse(rows: NDArray[np.uint8]) -> None:
    """Makes the highest bit of each byte the lowest, in place."""
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        part[...] = REVERSED.take(part)
