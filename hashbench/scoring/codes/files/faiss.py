"""``.faiss``: the codes of an IndexBinaryFlat. faiss itself trusts what a file says, so it does not read it here."""

import struct
from pathlib import Path

import numpy as np

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.scoring.codes.files import npy
from hashbench.scoring.codes.files._stored import Arrays, StoredArray

FLAT = b"IBxF"
# faiss/impl/index_write.cpp: the kind, bits, bytes of a code, number of codes, whether trained, metric, number of bytes
HEADER = struct.Struct("<4siiq?iQ")


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is a binary index of faiss."""
    return head.startswith(b"IB") and len(head) >= HEADER.size


def arrays(path: Path) -> Arrays:
    """The packed codes uint8[n, bits / 8] of the index, by the stem of the file."""
    return {path.stem: lambda: _stored(path)}


def _stored(path: Path) -> StoredArray:
    with path.open("rb") as file:
        kind, n_bits, width, n_items, _, _, n_bytes = HEADER.unpack(file.read(HEADER.size))
    size = path.stat().st_size - HEADER.size
    is_whole = n_items > 0 and width > 0 and n_bits == 8 * width and n_items * width == n_bytes == size
    if kind != FLAT or not is_whole:
        about = f"{printable(kind.decode('latin-1'))}, {n_items} codes of {width} bytes, {n_bits} bits, in {size} bytes"
        raise HashbenchError(f"{path}: {about}: one code or more of an IndexBinaryFlat (IBxF) is expected")
    shape = (n_items, width)
    dtype = np.dtype(np.uint8)
    return StoredArray(
        f"{path}: {printable(path.stem)}",
        path.stem,
        shape,
        dtype,
        lambda n: npy.slabs(lambda: path.open("rb"), HEADER.size, shape, dtype, n),
        packed_bits=n_bits,
    )
