"""Image files, decoded and resized to a given shape."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.errors import HashbenchError, one_line

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif"}  # of files that are taken for images
FORMATS = ("JPEG", "PNG", "GIF", "BMP")  # the suffix is not used: one .JPEG of ILSVRC2012 is a PNG
EIGHT_BITS = {"1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"}
GREY = {"1", "L", "LA"}
MOST_PIXELS = 100_000_000  # the largest of ILSVRC2012 has 61 million


def decode(path: Path, shape: Sequence[int]) -> NDArray[np.uint8]:
    """The whole image, resized to ``shape`` (bicubic, proportions not kept), uint8[height, width, channels].

    Grey values are repeated in all channels; palettes and CMYK are converted to RGB; transparency and the orientation
    in the metadata are ignored. Raises HashbenchError if the file is damaged or truncated, has more than 8 bits for
    each channel, or has too many pixels.
    """
    from PIL import Image

    height, width, channels = shape
    try:
        with Image.open(path, formats=FORMATS) as image:  # reads only the header
            _require_ordinary(path, image.size, image.mode)
            plain = image.convert("RGB" if channels == 3 else "L")
    except HashbenchError:
        raise
    except Exception as error:  # a damaged image can raise nearly anything inside Pillow
        raise HashbenchError(f"{path}: not an image that can be read ({one_line(error)})") from None
    return np.asarray(plain.resize((width, height), Image.Resampling.BICUBIC)).reshape(height, width, channels)


def size_of(path: Path) -> tuple[int, int, int]:
    """The height, width and channels (1: grey, 3: colour) of an image, from its header; raises as ``decode`` does."""
    from PIL import Image

    try:
        with Image.open(path, formats=FORMATS) as image:
            _require_ordinary(path, image.size, image.mode)
            return image.height, image.width, 1 if image.mode in GREY else 3
    except HashbenchError:
        raise
    except Exception as error:  # as in decode
        raise HashbenchError(f"{path}: not an image that can be read ({one_line(error)})") from None


def _require_ordinary(path: Path, size: tuple[int, int], mode: str) -> None:
    if size[0] * size[1] > MOST_PIXELS:
        raise HashbenchError(f"{path}: {size[0]} x {size[1]} pixels; at most {MOST_PIXELS:,} are decoded")
    if mode not in EIGHT_BITS:
        raise HashbenchError(f"{path}: pixels of kind {mode}; 8 bits a channel are expected")
