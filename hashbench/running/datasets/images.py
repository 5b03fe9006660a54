"""Image files: the images of a list found in a folder, decoded and resized to the shape on the card."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hashbench.foundation.errors import HashbenchError, printable, retold
from hashbench.foundation.parallel import available_cores, slices
from hashbench.foundation.progress import bar
from hashbench.running.datasets.card import Card
from hashbench.running.datasets.readers import Block
from hashbench.scoring.relevance.labels import Labels

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif"}  # of files that are taken for images
FORMATS = ("JPEG", "PNG", "GIF", "BMP")  # the suffix is not used: one .JPEG of ILSVRC2012 is a PNG
EIGHT_BITS = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
GREY = {"1", "L", "LA"}
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
    """The image, of which only the header is read, if it has an ordinary kind of pixels; Pillow refuses huge ones."""
    with (
        retold(lambda cause: f"{path}: not an image that can be read ({cause})"),
        Image.open(path, formats=FORMATS) as image,
    ):
        if image.mode not in EIGHT_BITS:
            raise HashbenchError(f"{path}: pixels of kind {image.mode}: 8 bits a channel are expected")
        yield image


def decode_all(files: Sequence[Path], shape: Sequence[int], block: int) -> Iterator[NDArray[np.uint8]]:
    """The images of ``files``, ``block`` at a time, resized to ``shape``, uint8[n, height, width, channels]."""
    with ThreadPoolExecutor(n_threads()) as pool:
        for part in slices(len(files), block):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow warns of odd metadata
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
    files = _find_all(card, folder, paths)
    with bar(f"{card.name}: decode", "image", len(files)) as decoded:
        for part, images in zip(slices(len(files), BLOCK), decode_all(files, card.item_shape, BLOCK), strict=True):
            yield Block(images, labels[part], names[part])
            decoded.update(len(images))


def _find_all(card: Card, folder: Path, paths: Sequence[bytes]) -> list[Path]:
    by_name: dict[bytes, Path] = {}
    for place, _, names in os.walk(folder, followlinks=True):
        for name in names:
            by_name.setdefault(os.fsencode(name), Path(place, name))
    places = [_path_in(folder, path, by_name) for path in paths]
    missing = [path for path, file in zip(paths, places, strict=True) if file is None]
    if missing:
        archives = [source for source in card.sources if source.images]
        steps = [f"unpack {source.file} ({'; '.join(source.manual) or source.urls[0]})" for source in archives]
        advice = "name the folder with --from-dir, or convert the labels alone with --labels-only"
        fault = f"{len(missing):,} of {len(paths):,} images are not in {folder}"
        first = printable(os.fsdecode(missing[0]))
        raise HashbenchError(f"{card.name}: {fault}, the first is {first}: {', '.join(steps)} and {advice}")
    return [file for file in places if file is not None]


def _path_in(folder: Path, listed: bytes, by_name: Mapping[bytes, Path]) -> Path | None:
    """The path of a listed image in the folder: where the list has it, or the file of its name; None without one."""
    parts = _parts(listed)
    path = folder / os.fsdecode(b"/".join(parts))
    if os.path.isfile(path):  # noqa: PTH113  (raises no error for an invalid name)
        return path
    return by_name.get(parts[-1])


def _parts(listed: bytes) -> list[bytes]:
    parts = [part for part in listed.replace(b"\\", b"/").split(b"/") if part not in (b"", b".")]
    if parts and parts[0].endswith(b":"):
        del parts[0]
    if b".." in parts or not parts:
        raise HashbenchError(f"{printable(os.fsdecode(listed))}: not the path of an image below a folder")
    return parts
