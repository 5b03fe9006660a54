"""Items of the user for a trained hasher to encode: an image, a folder of images, or a file of arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.progress import with_bar
from hashbench.running.datasets.custom.expected import note_if_dark, require_range, require_shape
from hashbench.running.datasets.custom.files import find
from hashbench.running.datasets.images import SUFFIXES, decode, is_image
from hashbench.running.datasets.readers import Items
from hashbench.scoring.codes.files import StoredArray, regrouped


@dataclass(frozen=True, eq=False)
class Inputs:
    """``items`` [n, *shape] and their paths or row numbers; ``labels`` are ids or names [n], or 0 and 1 [n, labels]."""

    items: Items
    names: list[str]
    labels: NDArray[Any] | None = None


def read(path: Path, shape: tuple[int, ...], class_names: Sequence[str] = (), value_max: int | None = None) -> Inputs:
    """The items at ``path``, each of ``shape``: [height, width, channels] or [d], with values 0 .. ``value_max``.

    It is an image, or a folder, whose images and those of its subfolders are sorted by path; they are resized. Another
    file has an array ``items`` as stored.
    The labels are the array ``labels``, or the names of the subfolders; if all are among ``class_names``, class ids.
    """
    if path.is_dir() or is_image(path):
        inputs = _from_images(path, shape, class_names)
    else:
        inputs = _from_file(path, shape, class_names)
    require_range(path, inputs.items, value_max)
    note_if_dark(path, inputs.items, value_max)
    return inputs


@dataclass(frozen=True, eq=False)
class InputBlocks:
    """``n_items`` items of a file in ``blocks`` [n, *shape], of which one is in memory at a time."""

    n_items: int
    blocks: Iterator[Items]


def read_blocks(path: Path, shape: tuple[int, ...], n: int, value_max: int | None = None) -> InputBlocks:
    """The items of the array in the file ``path``, ``n`` at a time; each block is checked as ``read`` checks all."""
    stored, _ = _stored_items(path, shape)

    def blocks() -> Iterator[Items]:
        for number, block in enumerate(regrouped((slab for _, slab in stored.slabs()), n)):
            require_range(path, block, value_max)
            if number == 0:
                note_if_dark(path, block, value_max)
            yield block

    return InputBlocks(stored.shape[0], blocks())


def _stored_items(path: Path, shape: tuple[int, ...]) -> tuple[StoredArray, NDArray[Any] | None]:
    """The array of items in a file, each of ``shape``, and the labels, if there are any."""
    if not path.is_file():
        expected = "an image, images in a folder, FILE.npy, FILE.npz or FILE.h5 are expected"
        raise HashbenchError(f"{path}: no such file or folder: {expected}")
    stored, labels = find(path)
    require_shape(path, stored.shape, stored.dtype, shape)
    return stored, labels


def _from_file(path: Path, shape: tuple[int, ...], class_names: Sequence[str]) -> Inputs:
    stored, labels = _stored_items(path, shape)
    names = [str(row) for row in range(stored.shape[0])]
    if labels is not None:
        if len(labels) != len(names):
            raise HashbenchError(f"{path}: labels of shape {labels.shape} for {len(names):,} items")
        labels = _ids(labels, class_names)
    return Inputs(stored.whole(), names, labels)


def _ids(labels: NDArray[Any], class_names: Sequence[str]) -> NDArray[Any]:
    """The class ids of ``labels`` that are all names of classes; otherwise ``labels``."""
    if labels.ndim != 1:
        return labels
    ids = {name: number for number, name in enumerate(class_names)}
    try:
        return np.array([ids[str(label)] for label in labels.tolist()], np.int64)
    except KeyError:
        return labels


def _from_images(place: Path, shape: tuple[int, ...], class_names: Sequence[str]) -> Inputs:
    """The one image at ``place``, or the images in the folder."""
    if len(shape) != 3:
        expected = f"the hasher takes features of {shape[0]} numbers: FILE.npy, .npz or .h5"
        raise HashbenchError(f"{place}: images, but {expected}")
    folder = place.parent
    files = [place]
    if place.is_dir():
        folder = place
        files = sorted(filter(is_image, folder.rglob("*")))
    if not files:
        raise HashbenchError(f"{place}: no image in it ({', '.join(sorted(SUFFIXES))})")
    images = list(with_bar(map(partial(decode, shape=shape), files), "decode", "image", len(files)))
    names = [file.relative_to(folder) for file in files]
    labels = None
    if all(len(name.parts) == 2 for name in names):  # images in subfolders, never one image
        labels = _ids(np.array([name.parts[0] for name in names]), class_names)
    return Inputs(np.stack(images), [str(name) for name in names], labels)
