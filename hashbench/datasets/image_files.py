"""Image files: finds the images of a list in a folder and decodes them."""

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.datasets.card import Card
from hashbench.datasets.images import decode
from hashbench.datasets.lists import shown
from hashbench.datasets.readers import Block
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import resolved
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.relevance.labels import Labels

FOLDERS = ("", "train", "val", "images", "ILSVRC2012_img_train", "ILSVRC2012_img_val")
BLOCK = 256
MOST_THREADS = 8


def blocks(card: Card, folder: Path | None, paths: Sequence[bytes], labels: Labels) -> Iterator[Block]:
    """The listed images in ``folder``, resized to the shape on the card; without a folder, only their labels.

    All images are searched for before the first is decoded. Raises HashbenchError if one is missing or unreadable.
    """
    names = np.array([_parts(path)[-1] for path in paths])
    if folder is None:
        yield Block(None, labels, names)
        return
    files = _find_all(card, folder, paths, labels)
    threads = min(available_cores(), MOST_THREADS)
    with (
        ThreadPoolExecutor(threads) as pool,
        bar(f"{card.name}: decode", "image", len(files)) as decoded,
    ):
        for part in slices(len(files), BLOCK):
            yield Block(decode_all(pool, files[part], card.item_shape), labels[part], names[part])
            decoded.update(len(files[part]))


def decode_all(pool: ThreadPoolExecutor, files: Sequence[Path], shape: Sequence[int]) -> NDArray[np.uint8]:
    """The images of ``files``, resized to ``shape``, uint8[n, height, width, channels]."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns of odd metadata; decode() checks the sizes
        return np.stack(list(pool.map(lambda path: decode(path, shape), files)))


def _find_all(card: Card, folder: Path, paths: Sequence[bytes], labels: Labels) -> list[Path]:
    grouped = bool(card.class_names) and labels.ndim == 1
    groups = (card.class_names[label] if grouped else "" for label in labels)
    root = resolved(folder)
    found = [find(root, path, group) if root.is_dir() else None for path, group in zip(paths, groups, strict=True)]
    files = [file for file in found if file is not None]
    if len(files) < len(paths):
        raise HashbenchError(
            f"{card.name}: {len(paths) - len(files):,} of {len(paths):,} images are not in {folder}, the first is "
            f"{shown(paths[found.index(None)])}: {_where_from(card)}, or convert the labels alone with --labels-only"
        )
    return files


def find(root: Path, listed: bytes, group: str = "") -> Path | None:
    """The path of the listed image in ``root``, a resolved folder; None if it is not there.

    The image is searched for at its path, at every end of its path, and by its base name in the folders ``FOLDERS`` and
    in their subfolders named after its class (``group``). A drive or root is removed from the path. Raises
    HashbenchError for a path with ``..``, and for a link that leads out of the folder.
    """
    for candidate in _candidates(_parts(listed), group):
        path = root / candidate
        if os.path.isfile(path):  # noqa: PTH113  (raises no error for an invalid name)
            if not path.resolve().is_relative_to(root):
                raise HashbenchError(f"{path}: a link that leads out of {root}: put the image itself there")
            return path
    return None


def _candidates(parts: Sequence[bytes], group: str) -> Iterator[str]:
    names = [os.fsdecode(part) for part in parts]
    for start in range(len(names)):
        yield "/".join(names[start:])
    for folder in FOLDERS:
        yield f"./{folder}/{names[-1]}"
        if group:
            yield f"./{folder}/{group}/{names[-1]}"


def _parts(listed: bytes) -> list[bytes]:
    parts = [part for part in listed.replace(b"\\", b"/").split(b"/") if part not in (b"", b".")]
    parts = parts[1:] if parts and parts[0].endswith(b":") else parts
    if b".." in parts or not parts:
        raise HashbenchError(f"{shown(listed)}: not the path of an image below a folder")
    return parts


def _where_from(card: Card) -> str:
    archives = [source for source in card.sources if source.images]
    steps = (f"unpack {one.file} ({'; '.join(one.manual) or one.urls[0]})" for one in archives)
    return f"{', '.join(steps)} and name the folder with --from-dir"
