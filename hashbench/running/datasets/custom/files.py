"""Items and labels in a file of arrays of the user: .npz, .npy, .h5, .mat and others."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, printable, quietly, unknown
from hashbench.running.datasets.custom.data import WHITE, CustomData, read_labels
from hashbench.running.datasets.custom.vector_files import arrays_of
from hashbench.running.datasets.readers import Items, as_float32
from hashbench.scoring.codes.files import Arrays, StoredArray, parted

# names that are recognised, in any case
ITEMS = ("items", "images", "data", "features", "x", "vectors", "embeddings", "emb")
LABELS = ("labels", "label", "targets", "target", "classes", "y")
# items and labels of a training set, which is the database, and of a test set, which are the queries
SPLITS = (("train", "train_labels"), ("test", "test_labels")), (("x_train", "y_train"), ("x_test", "y_test"))


def read(paths: Sequence[Path], items: str | None, labels: str | None) -> CustomData:
    """The items and labels in a file: in the arrays ``items`` and ``labels`` (FILE or FILE:KEY), or found by name.

    Those of a second file are the queries; or the items ``test`` where the file has train, train_labels, test and
    test_labels (or x_train, y_train, x_test, y_test).
    """
    if len(paths) > 1 and labels is not None and parted(labels)[0].is_file():
        raise HashbenchError(f"--labels {labels}: two files of items hold their own labels: --labels KEY")
    parts = list(chain.from_iterable(_parts(path, items, labels) for path in paths))
    if len(parts) > 2:
        raise HashbenchError(f"{paths[0]}, {paths[1]}: one of them has a test set: give it alone, or name the --items")
    for part in parts:
        _require_items(part.items)
        if part.labels.shape[:1] != part.items.shape[:1] or part.labels.ndim > 2:
            fault = f"labels of shape {part.labels.shape} for {part.items.shape[0]:,} items: one for each is expected"
            raise HashbenchError(f"{part.where}: {fault}")
    first = parts[0]
    last = parts[-1]
    shape = first.items.shape[1:]
    if last.items.shape[1:] != shape:
        fault = f"shape {last.items.shape[1:]} of an item, and those of the database have {shape}"
        raise HashbenchError(f"{last.items.where}: {fault}")
    n_items = sum(part.items.shape[0] for part in parts)
    all_labels = read_labels(first.where, _joined(last.where, [part.labels for part in parts]))
    if len(shape) == 2:
        shape = (*shape, 1)
    return CustomData(
        paths,
        shape,
        all_labels,
        lambda: chain.from_iterable(_blocks(part.items, shape) for part in parts),
        n_queries=n_items - first.items.shape[0],
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """The items of the database, or of the queries, and their labels, which errors call ``where``."""

    items: StoredArray
    where: str
    labels: NDArray[Any]


def _joined(where: str, labels: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The labels of the database and, from ``where``, of the queries, one after the other."""
    first = labels[0]
    last = labels[-1]
    if first.shape[1:] != last.shape[1:] or (first.dtype.kind in "SU") != (last.dtype.kind in "SU"):
        fault = f"labels are {last.dtype} of shape {last.shape}, and those of the database {first.dtype} {first.shape}"
        raise HashbenchError(f"{where}: {fault}: the same kind is expected")
    return np.concatenate(labels)


def has_labels(path: Path, labels: str | None) -> bool:
    """True where a file of items has labels: an array with a name of labels, or ``labels`` says where they are."""
    return labels is not None or any(key.lower() in {*LABELS, "train_labels", "y_train"} for key in arrays_of(path))


def _parts(path: Path, items: str | None, labels: str | None) -> list[_Part]:
    """The items and labels in a file; two parts where it has a test set."""
    arrays = arrays_of(path)
    by_name = {key.lower(): key for key in arrays}
    for names in SPLITS:
        if items is labels is None and by_name.keys() >= set(chain.from_iterable(names)):
            keys = [(by_name[items_name], by_name[labels_name]) for items_name, labels_name in names]
            return [_Part(arrays[items_key](), *_values(arrays, labels_key)) for items_key, labels_key in keys]
    key = key_of(path, arrays, items, ITEMS, "say --items KEY")
    return [_Part(arrays[key](), *_labels(path, arrays, labels))]


def find(path: Path) -> tuple[StoredArray, NDArray[Any] | None]:
    """The items, the only array or the one with a name of items, and the labels; None if none has a name of labels."""
    arrays = arrays_of(path)
    labels = None
    if any(key.lower() in LABELS for key in arrays):
        _, labels = _labels(path, arrays, None)
    return arrays[key_of(path, arrays, None, ITEMS, "call it items")](), labels


def key_of(path: Path, arrays: Arrays, key: str | None, names: tuple[str, ...], advice: str) -> str:
    """``key``, or the only key, or the only one among ``names``; HashbenchError, with the advice, if it is unknown."""
    if key is not None:
        if key not in arrays:
            raise HashbenchError(f"{path}: {unknown('array', key, map(printable, arrays))}")
        return key
    fitting = list(arrays)
    if len(arrays) > 1:
        fitting = [key for key in arrays if key.lower() in names]
    if len(fitting) != 1:
        raise HashbenchError(f"{path}: which array is it? {advice}; it holds {_names(arrays)}")
    return fitting[0]


def _names(arrays: Arrays) -> str:
    return ", ".join(sorted(map(printable, arrays))[:12]) or "nothing"


def _labels(path: Path, arrays: Arrays, place: str | None) -> tuple[str, NDArray[Any]]:
    """The name of the labels for errors, and the labels."""
    if place is None and len(arrays) == 1:
        raise HashbenchError(f"{path}: it holds one array, the items: name the labels with --labels FILE")
    if place is None or place in arrays:
        return _values(arrays, key_of(path, arrays, place, LABELS, "say --labels KEY"))
    file, key = parted(place)
    if not file.is_file():
        raise HashbenchError(f"--labels {place}: no file, and no array of {path}, which holds {_names(arrays)}")
    if file.suffix.lower() in (".txt", ".csv"):  # a label on each line
        return str(file), np.array(quietly(str(file), lambda: file.read_text(encoding="utf-8")).splitlines(), np.str_)
    others = arrays_of(file)
    return _values(others, key_of(file, others, key, LABELS, f"say --labels {file}:KEY"))


def _values(arrays: Arrays, key: str) -> tuple[str, NDArray[Any]]:
    stored = arrays[key]()
    if stored.dtype.hasobject:
        raise HashbenchError(f"{stored.where}: Python objects: numbers or strings are expected")
    return stored.where, stored.whole()


def _require_items(stored: StoredArray) -> None:
    shape = stored.shape
    kind = stored.dtype.kind
    fault = None
    if len(shape) not in (2, 3, 4) or 0 in shape:
        fault = f"shape {shape}: features [n, d] or images [n, height, width, channels] are expected"
    elif kind not in "biuf":
        fault = f"{stored.dtype}: numbers are expected"
    elif len(shape) == 4 and shape[3] not in (1, 3):
        fault = f"shape {shape}: images are [n, height, width, 1 or 3 channels]"
    elif len(shape) > 2 and kind == "f":
        fault = f"images of {stored.dtype}: whole numbers from 0 to 255 are expected"
    if fault is not None:
        raise HashbenchError(f"{stored.where}: {fault}")


def _blocks(stored: StoredArray, shape: tuple[int, ...]) -> Iterator[Items]:
    for rows in stored.row_slabs():
        if len(shape) == 1:
            yield as_float32(stored.where, rows)
            continue
        low = rows.min()
        high = rows.max()
        if low < 0 or high > WHITE:
            raise HashbenchError(f"{stored.where}: values from {low} to {high}: 0 to {WHITE} are expected")
        yield rows.astype(np.uint8).reshape(-1, *shape)
