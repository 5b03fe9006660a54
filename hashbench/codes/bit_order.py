"""Packed bytes as they come from other code: which bit of a byte is first, and codes made of them."""

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.packed import Codes
from hashbench.foundation.errors import HashbenchError

REVERSED = np.array([int(f"{byte:08b}"[::-1], 2) for byte in range(256)], np.uint8)
ROWS = 1 << 16  # reversed at a time


def check(where: str, n_bits: int, last_byte: int, bit_order: str | None) -> str:
    """The bit order in which no bit beyond ``n_bits`` is set; big where that holds for both.

    ``last_byte`` is the bitwise or of the last bytes of all rows. Raises HashbenchError where it holds for neither, or
    not for ``bit_order``.
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


def reverse(rows: NDArray[np.uint8]) -> None:
    """Makes the highest bit of each byte the lowest, in place."""
    for start in range(0, len(rows), ROWS):
        part = rows[start : start + ROWS]
        part[...] = REVERSED.take(part)


def from_bytes(rows: NDArray[np.uint8], n_bits: int, bit_order: str) -> Codes:
    """The codes in ``rows`` uint8[n, ceil(n_bits / 8)]; the first bit is the highest of a byte (big) or the lowest.

    >>> from_bytes(np.array([[0b01000000]], np.uint8), 3, "big").bits()
    array([[0, 1, 0]], dtype=uint8)
    """
    padded = np.zeros((len(rows), 8 * -(-n_bits // 64)), np.uint8)
    padded[:, : rows.shape[1]] = rows
    if bit_order == "big":
        reverse(padded)
    return Codes(padded.view("<u8").astype(np.uint64, copy=False), n_bits)
