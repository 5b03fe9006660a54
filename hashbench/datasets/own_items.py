"""Somebody's own items, for a trained hasher: a folder of images, a .npy or an .h5 file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.codes.files import StoredArray, h5, npy
from hashbench.datasets.images import decode
from hashbench.datasets.readers import Items
from hashbench.errors import HashbenchError, quietly

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif"}
KEY = "items"  # of an .h5 file, as the data sets' own files call them


@dataclass(frozen=True, eq=False)
class OwnItems:
    """``items`` [n, *shape], and a name each: the file's below the folder, or the row's number."""

    items: Items
    names: list[str]


def read(path: Path, shape: tuple[int, ...]) -> OwnItems:
    """The items at ``path``, each of ``shape``: [height, width, channels] or [d].

    Images of a folder, and of the folders in it, come in the order of their names and are resized, bicubic and without
    regard to their proportions, as those of the data sets are. An .npy file, or ``items`` in an .h5 file, holds items
    as the data set stores them. Raises HashbenchError for anything else.
    """
    if path.is_dir():
        return _from_folder(path, shape)
    if not path.is_file():
        raise HashbenchError(f"{path}: no such file or folder: images in a folder, FILE.npy or FILE.h5 are expected")
    stored = quietly(str(path), lambda: _stored(path))
    if stored.shape[1:] != shape or stored.shape[0] == 0:
        raise HashbenchError(f"{path}: shape {stored.shape}; the hasher takes [n, {', '.join(map(str, shape))}]")
    if stored.dtype.kind not in "uif":
        raise HashbenchError(f"{path}: items must be numbers, these are {stored.dtype}")
    return OwnItems(stored.whole(stored.dtype), [str(row) for row in range(stored.shape[0])])


def _stored(path: Path) -> StoredArray:
    with path.open("rb") as file:
        head = file.read(8)
    if npy.FORMAT.recognises(head):
        return npy.FORMAT.arrays(path)[path.stem]()
    if not h5.FORMAT.recognises(head):
        raise HashbenchError(f"{path}: neither .npy nor .h5, and no folder of images")
    arrays = h5.FORMAT.arrays(path)
    if KEY not in arrays:
        raise HashbenchError(f"{path}: holds {', '.join(sorted(arrays)) or 'nothing'}; {KEY!r} is expected")
    return arrays[KEY]()


def _from_folder(folder: Path, shape: tuple[int, ...]) -> OwnItems:
    from tqdm import tqdm

    if len(shape) != 3:
        raise HashbenchError(f"{folder}: images, but the hasher takes features of {shape[0]} numbers: FILE.npy or .h5")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not files:
        raise HashbenchError(f"{folder}: no image in it ({', '.join(sorted(SUFFIXES))})")
    bar = tqdm(files, "decode", unit="image", leave=False, disable=None, delay=2)
    items = np.stack([decode(file, shape) for file in bar])
    return OwnItems(items, [str(file.relative_to(folder)) for file in files])
