"""Items and labels in a file of arrays: .npz, .npy, .h5 or .mat."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.codes.files import Arrays, StoredArray, arrays_in
from hashbench.datasets.own.data import OwnData, read_labels
from hashbench.datasets.readers import Items, as_float32
from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown

ITEMS = ("items", "images", "data", "features", "x")  # names that are recognised, in any case
LABELS = ("labels", "label", "targets", "target", "classes", "y")
TEXT = (".txt", ".csv")  # of a file with a label on each line


def read(path: Path, items: str | None, labels: str | None, value_max: int) -> OwnData:
    """The items and labels of the file at ``path``.

    ``items`` and ``labels`` are the names of their arrays; ``labels`` may be FILE or FILE:KEY. Without them
    the arrays are found by their names. Images have whole numbers from 0 to ``value_max``. Nothing is unpickled.
    """
    arrays = arrays_in(path)
    stored = arrays[_key(path, arrays, items, ITEMS, "say --items KEY")]()
    where, found = _labels(path, arrays, labels)
    _require_items(stored)
    kept = read_labels(where, found, stored.shape[0])
    return OwnData(path, _item_shape(stored), kept, partial(_blocks, stored, value_max))


def find_items(path: Path) -> StoredArray:
    """The array of the items in a file: the only one, or the one with a name of items."""
    arrays = arrays_in(path)
    return arrays[_key(path, arrays, None, ITEMS, "call it items")]()


def find_labels(path: Path) -> NDArray[Any] | None:
    """The labels beside the items in a file, as they are stored; None if no array has a name of labels."""
    arrays = arrays_in(path)
    return _labels(path, arrays, None)[1] if any(key.lower() in LABELS for key in arrays) else None


def _key(path: Path, arrays: Arrays, key: str | None, names: tuple[str, ...], advice: str) -> str:
    if key is not None:
        if key not in arrays:
            raise HashbenchError(f"{path}: {unknown('array', key, map(printable, arrays))}")
        return key
    found = list(arrays) if len(arrays) == 1 else [key for key in arrays if key.lower() in names]
    if len(found) != 1:
        raise HashbenchError(f"{path}: which array is it? {advice}; it holds {_held(arrays)}")
    return found[0]


def _held(arrays: Arrays) -> str:
    return ", ".join(sorted(map(printable, arrays))[:12]) or "nothing"


def _labels(path: Path, arrays: Arrays, place: str | None) -> tuple[str, NDArray[Any]]:
    """The name of the labels for errors, and the labels."""
    if place is None and len(arrays) == 1:
        raise HashbenchError(f"{path}: it holds one array, the items: name the labels with --labels FILE")
    if place is None or place in arrays:
        return _values(path, arrays, _key(path, arrays, place, LABELS, "say --labels KEY"))
    file, key = Path(place), None
    if not file.is_file() and ":" in place:
        before, _, key = place.rpartition(":")
        file = Path(before)
    if not file.is_file():
        raise HashbenchError(f"--labels {place}: no file, and no array of {path}, which holds {_held(arrays)}")
    if file.suffix.lower() in TEXT:
        return str(file), np.array(quietly(str(file), lambda: file.read_text(encoding="utf-8")).splitlines(), np.str_)
    others = arrays_in(file)
    return _values(file, others, _key(file, others, key, LABELS, f"say --labels {file}:KEY"))


def _values(path: Path, arrays: Arrays, key: str) -> tuple[str, NDArray[Any]]:
    stored = arrays[key]()
    return stored.where, _strings(path, key) if stored.dtype.hasobject else stored.whole()


def _strings(path: Path, key: str) -> NDArray[Any]:
    """The strings of any length in an HDF5 file, the only objects that are read."""
    import h5py

    with h5py.File(path, "r") as file:
        if h5py.check_string_dtype(file[key].dtype) is None:
            raise HashbenchError(f"{path}: {printable(key)}: Python objects: numbers or strings are expected")
        return np.array(file[key].asstr()[...].tolist(), np.str_)


def _require_items(stored: StoredArray) -> None:
    shape, kind = stored.shape, stored.dtype.kind
    if len(shape) not in (2, 3, 4) or 0 in shape:
        raise HashbenchError(
            f"{stored.where}: shape {shape}: features [n, d] or images [n, height, width, channels] are expected"
        )
    if kind not in "biuf":
        raise HashbenchError(f"{stored.where}: {stored.dtype}: numbers are expected")
    if len(shape) == 2:
        return
    if len(shape) == 4 and shape[3] not in (1, 3):
        raise HashbenchError(f"{stored.where}: shape {shape}: images are [n, height, width, 1 or 3 channels]")
    if kind == "f":
        raise HashbenchError(f"{stored.where}: images of {stored.dtype}: whole numbers from 0 to 255 are expected")


def _item_shape(stored: StoredArray) -> tuple[int, ...]:
    return (*stored.shape[1:], 1) if len(stored.shape) == 3 else stored.shape[1:]


def _blocks(stored: StoredArray, value_max: int) -> Iterator[Items]:
    shape = _item_shape(stored)
    slabs = (slab for _, slab in stored.slabs()) if stored.by_rows else iter([stored.whole()])
    for slab in slabs:
        if len(shape) == 1:
            yield as_float32(stored.where, slab)
            continue
        low, high = slab.min(), slab.max()
        if low < 0 or high > value_max:
            raise HashbenchError(f"{stored.where}: values from {low} to {high}: 0 to {value_max} are expected")
        yield slab.astype(np.uint8).reshape(-1, *shape)
