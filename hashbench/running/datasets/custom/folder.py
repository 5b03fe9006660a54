"""A folder of images with a subfolder for each class."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from math import prod
from pathlib import Path

import numpy as np

from hashbench.foundation.errors import HashbenchError, printable
from hashbench.foundation.progress import with_bar
from hashbench.running.datasets.custom.data import CustomData, CustomLabels
from hashbench.running.datasets.images import BLOCK, SUFFIXES, decode_all, is_image, n_threads, size_of

BLOCK_BYTES = 64 << 20
ADVICE = "give --size N to resize each to N x N (32 for small networks, 224 for pretrained ones)"


def read(folders: Sequence[Path], size: int | None) -> CustomData:
    """The images in the subfolders of each folder, by class and name, resized to ``size`` x ``size`` if it is given.

    The images of a second folder are the queries.
    """
    by_folder = [_classes_in(folder) for folder in folders]
    subfolders = list(chain.from_iterable(by_folder))
    images = [_images(path) for path in subfolders]
    classes = sorted({path.name for path in subfolders})
    if len(classes) == 1:
        fault = f"one class only, {printable(classes[0])}: a subfolder for each is expected"
        raise HashbenchError(f"{folders[0]}: {fault}")
    files = list(chain.from_iterable(images))
    ids = [classes.index(path.name) for path in subfolders]
    labels = CustomLabels(np.repeat(ids, [len(of_class) for of_class in images]), classes)
    shape = _shape(folders[0], files, size)
    block = max(1, min(BLOCK, BLOCK_BYTES // prod(shape)))
    among = os.path.commonpath([folder.absolute() for folder in folders])
    names = np.array([os.fsencode(os.path.relpath(file, among)) for file in files])
    n_ignored = sum(len(_visible(path)) for path in subfolders) - len(files)
    n_queries = sum(map(len, images[len(by_folder[0]) :]))
    blocks = partial(decode_all, files, shape, block)
    return CustomData(folders, shape, labels, blocks, names, n_ignored=n_ignored, n_queries=n_queries)


def _classes_in(folder: Path) -> list[Path]:
    """The subfolders of ``folder``, each of which is a class."""
    subfolders = [path for path in _visible(folder) if path.is_dir()]
    if loose := [path for path in _visible(folder) if is_image(path)]:
        raise HashbenchError(f"{loose[0]}: an image outside of the subfolders: a subfolder for each class is expected")
    if not subfolders:
        raise HashbenchError(f"{folder}: no subfolder in it: a subfolder of images for each class is expected")
    for path in subfolders:
        if path.name.encode("utf-8", "ignore").decode() != path.name:
            raise HashbenchError(f"{printable(str(path))}: a name that is not UTF-8: rename the folder")
    return subfolders


def _images(folder: Path) -> list[Path]:
    inside = _visible(folder)
    deeper = next((path for path in inside if path.is_dir() and any(map(is_image, path.rglob("*")))), None)
    if deeper is not None:
        advice = f"name the folder whose subfolders are the classes ({folder}?), and a second one of the queries"
        raise HashbenchError(f"{deeper}: images two folders deep: {advice}")
    images = [path for path in inside if is_image(path)]
    if not images:
        suffixes = ", ".join(sorted(SUFFIXES))
        raise HashbenchError(f"{folder}: no image in it ({suffixes}): take the folder out, or fill it")
    return images


def _visible(folder: Path) -> list[Path]:
    """The entries of the folder, sorted, without hidden files and those that macOS adds to archives."""
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith((".", "__MACOSX"))]


def _shape(folder: Path, files: Sequence[Path], size: int | None) -> tuple[int, int, int]:
    with ThreadPoolExecutor(n_threads()) as pool:
        shapes = set(with_bar(pool.map(size_of, files), "look at images", "image", len(files)))
    channels = max(shape[2] for shape in shapes)
    if size is not None:
        return size, size, channels
    sizes = sorted({shape[:2] for shape in shapes}, key=prod)
    height, width = sizes[0]
    if len(sizes) > 1:
        largest_height, largest_width = sizes[-1]
        extremes = f"from {width} x {height} to {largest_width} x {largest_height} pixels"
        raise HashbenchError(f"{folder}: images of {len(sizes)} sizes, {extremes}: {ADVICE}")
    return height, width, channels
