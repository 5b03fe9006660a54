"""The header of an .npy array, read before memory for the array is allocated."""

from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy

from hashbench.foundation.errors import one_line


class Header(NamedTuple):
    """The shape, order and type of the array; ``order`` is "F" if it is stored column by column."""

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[Any]


def header(file: IO[bytes]) -> Header:
    """The header; the file is then at the first byte of the array. Raises ValueError if there is no valid header."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    except Exception as error:  # NumPy documents a ValueError, but some damaged headers raise other errors
        raise ValueError(f"no header of an .npy ({one_line(error)})") from None
    return Header(shape, "F" if fortran_order and len(shape) > 1 else "C", dtype)
