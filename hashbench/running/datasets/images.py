"""Image files: the images of a list found in a folder, decoded and resized to the shape on the card."""

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.files import resolved
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block
from hashbench.scoring.relevance.labels import Labels

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif"}  # of files that are taken for images
FORMATS = ("JPEG", "PNG", "GIF", "BMP")  # the suffix is not used: one .JPEG of ILSVRC2012 is a PNG
EIGHT_BITS = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
GREY = {"1", "L", "LA"}
MOST_PIXELS = 100_000_000  # the largest of ILSVRC2012 has 61 million
FOLDERS = ("", "train", "val", "image", "val_image", "images", "ILSVRC2012_img_train", "ILSVRC2012_img_val")
BLOCK = 256
MOST_THREADS = 8


def decode(path: Path, shape: Sequence[int]) -> NDArray[np.uint8]:
    """The whole image, resized to ``shape`` (bicubic), uint8[height, width, channels]; HashbenchError if damaged."""
    height, width, channels = shape
    with _opened(path) as image:
        plain = image.convert("RGB" if channels == 3 else "L")
    return np.asarray(plain.resize((width, height), Image.Resampling.BICUBIC)).reshape(height, width, channels)


def size_of(path: Path) -> tuple[int, int, int]:
    """The height, width and channels (1: grey, 3: colour) of an image, from its header; raises as ``decode`` does."""
    with _opened(path) as image:
        channels = 1 if image.mode in GREY else 3
        return image.height, image.width, channels


def is_image(path: Path) -> bool:
    """True where the file is taken for an image, by its suffix."""
    return path.suffix.lower() in SUFFIXES and path.is_file()


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    """The image, of which only the header is read, if it has an ordinary size and kind of pixels."""
    with (
        retold(lambda cause: f"{path}: not an image that can be read ({cause})"),
        Image.open(path, formats=FORMATS) as image,
    ):
        if image.width * image.height > MOST_PIXELS or image.mode not in EIGHT_BITS:
            shown = f"{image.width} x {image.height} pixels of kind {image.mode}"
            raise HashbenchError(f"{path}: {shown}; at most {MOST_PIXELS:,} of 8 bits a channel are decoded")
        yield image


def decode_all(files: Sequence[Path], shape: Sequence[int], block: int) -> Iterator[NDArray[np.uint8]]:
    """The images of ``files``, ``block`` at a time, resized to ``shape``, uint8[n, height, width, channels]."""
    with ThreadPoolExecutor(n_threads()) as pool:
        for part in slices(len(files), block):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow warns of odd metadata; decode() checks the sizes
                images = np.stack(list(pool.map(lambda path: decode(path, shape), files[part])))
            yield images


def n_threads() -> int:
    """The number of threads that read images: one for each core, but not more than a disk can serve."""
    return min(available_cores(), MOST_THREADS)


def blocks(card: Card, folder: Path | None, paths: Sequence[bytes], labels: Labels) -> Iterator[Block]:
    """The listed images in ``folder``, all found before the first is decoded; without a folder, only their labels."""
    names = np.array([_parts(path)[-1] for path in paths])
    if folder is None:
        yield Block(None, labels, names)
        return
    files = _find_all(card, folder, paths, labels)
    with bar(f"{card.name}: decode", "image", len(files)) as decoded:
        for part, images in zip(slices(len(files), BLOCK), decode_all(files, card.item_shape, BLOCK), strict=True):
            yield Block(images, labels[part], names[part])
            decoded.update(len(images))


def _find_all(card: Card, folder: Path, paths: Sequence[bytes], labels: Labels) -> list[Path]:
    groups = [""] * len(paths)
    if card.class_names and labels.ndim == 1:
        groups = [card.class_names[label] for label in labels]
    root = resolved(folder)
    is_there = root.is_dir()
    files = []
    missing = []
    for path, group in zip(paths, groups, strict=True):
        file = None
        if is_there:
            file = find(root, path, group)
        if file is None:
            missing.append(path)
        else:
            files.append(file)
    if missing:
        archives = [source for source in card.sources if source.images]
        steps = [f"unpack {source.file} ({'; '.join(source.manual) or source.urls[0]})" for source in archives]
        advice = "name the folder with --from-dir, or convert the labels alone with --labels-only"
        fault = f"{len(missing):,} of {len(paths):,} images are not in {folder}"
        first = printable_name(missing[0])
        raise HashbenchError(f"{card.name}: {fault}, the first is {first}: {', '.join(steps)} and {advice}")
    return files


def find(root: Path, listed: bytes, group: str = "") -> Path | None:
    """The path of the listed image in ``root``, a resolved folder; None if it is not there."""
    names = [os.fsdecode(part) for part in _parts(listed)]
    # every end of its path, and its base name in FOLDERS and in their subfolders ``group``, its class
    candidates = ["/".join(names[start:]) for start in range(len(names))]
    for folder in FOLDERS:
        candidates.append(f"./{folder}/{names[-1]}")
        if group:
            candidates.append(f"./{folder}/{group}/{names[-1]}")
    for candidate in candidates:
        path = root / candidate
        if os.path.isfile(path):  # noqa: PTH113  (raises no error for an invalid name)
            if not path.resolve().is_relative_to(root):
                raise HashbenchError(f"{path}: a link that leads out of {root}: put the image itself there")
            return path
    return None


def _parts(listed: bytes) -> list[bytes]:
    parts = [part for part in listed.replace(b"\\", b"/").split(b"/") if part not in (b"", b".")]
    if parts and parts[0].endswith(b":"):
        del parts[0]
    if b".." in parts or not parts:
        raise HashbenchError(f"{printable_name(listed)}: not the path of an image below a folder")
    return parts


def printable_name(name: bytes) -> str:
    """A name from a list as printable ASCII, shortened to fit on one line."""
    return ascii(name[:200].decode("utf-8", "replace"))[1:-1]
