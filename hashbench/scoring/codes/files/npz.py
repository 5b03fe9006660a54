"""``.npz``: arrays in a zip file, read in slabs; a checksum (CRC) is compared when the last byte is read."""

import zipfile
from functools import partial
from pathlib import Path
from typing import IO

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.scoring.codes.files import npy
from hashbench.scoring.codes.files._stored import Arrays, StoredArray, refuse_bomb

AS_PLAIN = "numpy.savez('plain.npz', **{k: numpy.array(a[k].tolist()) if a[k].dtype == object else a[k] for k in a})"


def recognises(head: bytes) -> bool:
    """True where a file that begins with ``head`` is a zip file, and none of PyTorch."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06")) and b"/data.pkl" not in head[:256]


def arrays(path: Path) -> Arrays:
    """The arrays in the file."""
    with zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
    names = [info.filename.removesuffix(".npy") for info in members]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        key = printable(twice[0])
        raise HashbenchError(f"{path}: {key} is in it twice, and which one is meant cannot be known: save it once")
    return {name: partial(_member, path, name, info) for name, info in zip(names, members, strict=True)}


def _member(path: Path, name: str, info: zipfile.ZipInfo) -> StoredArray:
    where = f"{path}: {printable(name)}"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise HashbenchError(f"{where}: cannot be read: compressed otherwise than numpy.savez_compressed does")
    refuse_bomb(where, info.file_size, info.compress_size)
    return npy.array(where, name, partial(_opened, path, info), info.file_size, path, AS_PLAIN)


def _opened(path: Path, info: zipfile.ZipInfo) -> IO[bytes]:
    with zipfile.ZipFile(path) as archive:  # the member keeps the file open until it is closed itself
        return archive.open(info)
