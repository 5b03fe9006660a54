"""``.npy``: one array, in NumPy's own format."""

from collections.abc import Callable, Iterator
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.parallel import slices
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

Opener = Callable[[], IO[bytes]]
AS_PLAIN = "numpy.save('plain.npy', numpy.array(a.tolist()))"


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is an .npy."""
    return head.startswith(b"\x93NUMPY")


def arrays(path: Path) -> Arrays:
    """The one array of the file, by its stem."""
    return {path.stem: lambda: array(str(path), path.stem, lambda: path.open("rb"), path.stat().st_size, path)}


def array(where: str, name: str, opener: Opener, size: int, path: Path, as_plain: str = AS_PLAIN) -> StoredArray:
    """The array in a stream of ``size`` bytes; HashbenchError where the header asks for more or fewer of them.

    ``as_plain`` is the Python that saves ``a``, what NumPy loads from ``path``, without Python objects.
    """
    with opener() as file:
        shape, fortran, dtype = header(file)
        start = file.tell()
    if dtype.hasobject:
        raise HashbenchError(
            f"{where}: Python objects, that is a pickle, which can run code and is never opened here; in Python, in a "
            f"sandbox: import numpy; a = numpy.load({str(path)!a}, allow_pickle={True}); {as_plain}"
        )
    if any(length < 0 for length in shape) or prod(shape) * dtype.itemsize != size - start:
        kind = printable(str(dtype))
        raise HashbenchError(f"{where}: cannot be read: {size - start} bytes for {kind} of shape {shape}")
    file_shape = shape[::-1] if fortran else shape
    return StoredArray(where, name, file_shape, dtype, lambda n: slabs(opener, start, file_shape, dtype, n), fortran)


def header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, whether it is stored column by column, type) of the array that begins after it; ValueError if invalid."""
    readers = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
    try:
        return readers[npy_format.read_magic(file)](file)
    except KeyError as error:
        raise ValueError(f"version {error} of the .npy format; 1.0 and 2.0 hold plain numbers") from None
    except Exception as error:  # NumPy documents a ValueError, but some damaged headers raise other errors
        raise ValueError(f"no header of an .npy ({one_line(error)})") from None


def slabs(opener: Opener, start: int, shape: tuple[int, ...], dtype: np.dtype[Any], n: int) -> Iterator[NDArray[Any]]:
    """The rows of an array that lies in a stream from byte ``start`` to the end, ``n`` at a time."""
    n_rows = (shape or (1,))[0]
    row_bytes = prod(shape[1:]) * dtype.itemsize
    with opener() as file:
        _exactly(file, start)
        for part in slices(n_rows, n):
            rows = part.stop - part.start
            yield np.frombuffer(_exactly(file, rows * row_bytes), dtype).reshape(rows, *shape[1:])
        if file.read(1):  # reading past the end is also what makes an .npz member compare its CRC
            raise ValueError("more bytes than the header says")


def _exactly(file: IO[bytes], n_bytes: int) -> bytes:
    content = file.read(n_bytes)
    if len(content) != n_bytes:
        raise ValueError("the file ends early")
    return content
