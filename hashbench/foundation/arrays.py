"""Arrays in .npz files, which are written as a whole or not at all."""

import lzma
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib.npyio import NpzFile

from hashbench.foundation.files import atomic


def write_arrays(path: Path, arrays: Mapping[str, Any], how: Literal["compressed", "plain"] = "compressed") -> None:
    """Writes the arrays as .npz, or as .npz.xz, half as large and slower; as a whole or not at all."""
    is_xz = path.suffix == ".xz"
    packed = ZIP_STORED
    if how == "compressed" and not is_xz:
        packed = ZIP_DEFLATED
    with (
        atomic(path) as temporary,
        lzma.open(temporary, "wb") if is_xz else temporary.open("wb") as file,
        # numpy.savez_compressed takes several times as long: it has level 6
        ZipFile(file, "w", packed, compresslevel=1) as archive,
    ):
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


@contextmanager
def open_arrays(path: Path) -> Iterator[NpzFile]:
    """The arrays that ``write_arrays`` wrote; raises BadZipFile for a file that is no .npz.

    Of such a file ``numpy.load`` would say how to open it unsafely, and it does not close one that is damaged.
    """
    with path.open("rb") as stored:
        file: IO[bytes] = stored
        if path.suffix == ".xz":  # a .npz is read from its end: unpacked as a whole, it is unpacked once
            with lzma.open(stored) as unpacked:
                file = BytesIO(unpacked.read())
        with NpzFile(file, allow_pickle=False) as arrays:
            yield arrays
