"""Codes as texts, as image hashes are printed: a hexadecimal digit for four bits, the highest first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, retold

EXPECTED = "hexadecimal digits, as many in each text, are expected of texts that are codes"
ZEROS_AND_ONES = "texts of 0 and 1: codes = numpy.array([list(text) for text in codes], float) has a column a bit"


def packed_bits(where: str, texts: NDArray[Any], n_bits: int | None) -> tuple[NDArray[np.uint8], int]:
    """The codes in ``texts`` [n], packed, the highest bit of a byte first, and the bits of each.

    >>> packed_bits("codes", np.array(["ff0", "0a1"]), None)[0].tolist()
    [[255, 0], [10, 16]]
    """
    with retold(lambda _: f"{where}: {EXPECTED}", UnicodeDecodeError):
        digits = texts.astype(np.str_).ravel()
    lengths = np.strings.str_len(digits)
    length = int(lengths.max(initial=0))
    if n_bits is not None and length not in (-(-n_bits // 4), 2 * -(-n_bits // 8)):
        raise HashbenchError(f"{where}: texts of {length} hexadecimal digits hold {4 * length} bits, not {n_bits}")
    joined = "".join(np.strings.ljust(digits, length + length % 2, "0"))
    if n_bits is None and not joined.strip("01"):
        raise HashbenchError(f"{where}: {ZEROS_AND_ONES}")
    try:
        packed = np.frombuffer(bytes.fromhex(joined), np.uint8).reshape(len(digits), -1)
    except ValueError:
        packed = np.zeros((0, 0), np.uint8)
    if not packed.size or (lengths != length).any():
        raise HashbenchError(f"{where}: {EXPECTED}")
    return packed, n_bits or 4 * length
