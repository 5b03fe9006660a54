"""A folder of images with a subfolder for each class."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from hashbench.datasets.images import BLOCK, SUFFIXES, decode_all, n_threads, size_of
from hashbench.datasets.own.data import OwnData, OwnLabels
from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.progress import bar

BLOCK_BYTES = 64 << 20
ADVICE = "give --size N to resize each to N x N (32 for small networks, 224 for pretrained ones)"


def read(folder: Path, size: int | None) -> OwnData:
    """The images of ``folder``, class by class, in the order of their names; only their headers are read so far.

    The images have the size of the files; with ``size`` they are resized to size x size (bicubic, proportions not
    kept). They are grey if all files are. Raises HashbenchError unless each subfolder holds images and each image is
    in a subfolder.
    """
    classes = _classes(folder)
    files = [file for _, own in classes for file in own]
    ids = np.repeat(np.arange(len(classes)), [len(own) for _, own in classes])
    own_labels = OwnLabels(ids, [name for name, _ in classes])
    if len(classes) == 1:
        raise HashbenchError(f"{folder}: one class only, {printable(classes[0][0])}: a subfolder for each is expected")
    shape = _shape(folder, files, size)
    block = max(1, min(BLOCK, BLOCK_BYTES // prod(shape)))
    names = np.array([os.fsencode(file.relative_to(folder)) for file in files])
    n_ignored = sum(len(list(_visible(folder / name))) for name, _ in classes) - len(files)
    return OwnData(folder, shape, own_labels, partial(decode_all, files, shape, block), names, n_ignored)


def _classes(folder: Path) -> list[tuple[str, list[Path]]]:
    """The name and the images of each class."""
    if loose := [path for path in _visible(folder) if _is_image(path)]:
        raise HashbenchError(f"{loose[0]}: an image outside of the subfolders: a subfolder for each class is expected")
    subfolders = [path for path in _visible(folder) if path.is_dir()]
    if not subfolders:
        raise HashbenchError(f"{folder}: no subfolder in it: a subfolder of images for each class is expected")
    return [(_name(path), _images(path)) for path in subfolders]


def _images(folder: Path) -> list[Path]:
    inside = list(_visible(folder))
    deeper = next((path for path in inside if path.is_dir() and any(map(_is_image, path.rglob("*")))), None)
    if deeper is not None:
        raise HashbenchError(
            f"{deeper}: images two folders deep: name the folder whose subfolders are the classes ({folder}?)"
        )
    images = [path for path in inside if _is_image(path)]
    if not images:
        raise HashbenchError(
            f"{folder}: no image in it ({', '.join(sorted(SUFFIXES))}): take the folder out, or fill it"
        )
    return images


def _visible(folder: Path) -> Iterator[Path]:
    """The entries of the folder, sorted, without hidden files and those that macOS adds to archives."""
    return (path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "__MACOSX")))


def _is_image(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and path.is_file()


def _name(folder: Path) -> str:
    try:
        folder.name.encode()
    except UnicodeEncodeError:
        raise HashbenchError(f"{printable(str(folder))}: a name that is not UTF-8: rename the folder") from None
    return folder.name


def _shape(folder: Path, files: Sequence[Path], size: int | None) -> tuple[int, int, int]:
    with bar("look at images", "image", len(files)) as seen, ThreadPoolExecutor(n_threads()) as pool:
        found = set()
        for shape in pool.map(size_of, files):
            found.add(shape)
            seen.update()
    channels = max(shape[2] for shape in found)
    sizes = sorted({shape[:2] for shape in found}, key=prod)
    if size is not None:
        return size, size, channels
    if len(sizes) > 1:
        (low, wide), (high, wider) = sizes[0], sizes[-1]
        raise HashbenchError(
            f"{folder}: images of {len(sizes)} sizes, from {wide} x {low} to {wider} x {high} pixels: {ADVICE}"
        )
    return (*sizes[0], channels)
