"""The header of an .npy array, read before any memory is asked for."""

from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.lib import format as npy

from hashbench.errors import one_line


class Header(NamedTuple):
    """What follows the header: ``order`` is "F" where the array lies column by column."""

    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[Any]


def header(file: IO[bytes]) -> Header:
    """The header, the file left at the first byte of the array; raises ValueError where it is none."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    except Exception as error:  # NumPy's promise of a ValueError does not hold for every damaged header
        raise ValueError(f"no header of an .npy ({one_line(error)})") from None
    return Header(shape, "F" if fortran_order and len(shape) > 1 else "C", dtype)
