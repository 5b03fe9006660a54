"""Items of the user, to be encoded by a trained hasher: a folder of images, an .npy file or an .h5 file."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hashbench.codes.files import StoredArray, h5, npy
from hashbench.datasets.images import decode
from hashbench.datasets.readers import Items
from hashbench.errors import HashbenchError, quietly
from hashbench.progress import bar

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif"}
KEY = "items"  # the array of an .h5 file; the files of converted data sets use this name too


@dataclass(frozen=True, eq=False)
class OwnItems:
    """``items`` [n, *shape] and a name for each: its path inside the folder, or its row number."""

    items: Items
    names: list[str]


def read(path: Path, shape: tuple[int, ...], value_max: int | None = None) -> OwnItems:
    """The items at ``path``, each of ``shape``: [height, width, channels] or [d], with values 0 .. ``value_max``.

    The images of a folder, and of the folders in it, are sorted by path and resized as the images of the data sets are
    (bicubic, proportions not kept). An .npy file, or the array ``items`` of an .h5 file, holds items as the data set
    stores them. Raises HashbenchError for anything else.
    """
    own = _read(path, shape)
    low, high = own.items.min(), own.items.max()
    if value_max is not None and (low < 0 or high > value_max):
        raise HashbenchError(f"{path}: values from {low:g} to {high:g}; those of the data set are 0 to {value_max}")
    return own


def _read(path: Path, shape: tuple[int, ...]) -> OwnItems:
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
    if len(shape) != 3:
        raise HashbenchError(f"{folder}: images, but the hasher takes features of {shape[0]} numbers: FILE.npy or .h5")
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    if not files:
        raise HashbenchError(f"{folder}: no image in it ({', '.join(sorted(SUFFIXES))})")
    images = []
    with bar("decode", "image", len(files)) as decoded:
        for file in files:
            images.append(decode(file, shape))
            decoded.update()
    return OwnItems(np.stack(images), [str(file.relative_to(folder)) for file in files])
