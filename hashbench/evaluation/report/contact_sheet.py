"""A contact sheet: queries in the first column, their nearest items beside them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.files import atomic

if TYPE_CHECKING:
    from PIL.Image import Image

TILE, FRAME, GAP, TEXT = 96, 3, 6, 12  # pixels
TOP = TEXT + GAP  # above the first row: the title
INK, PAPER, WRONG, RIGHT = "#222222", "#ffffff", "#d62728", "#ffffff"


@dataclass(frozen=True)
class Tile:
    """An image [height, width, 1 or 3] with its caption, of one or two lines; ``wrong`` frames it in red."""

    image: NDArray[Any]
    caption: str
    wrong: bool = False


def write_contact_sheet(path: Path, title: str, rows: Sequence[Sequence[Tile]], value_max: float = 255) -> None:
    """Writes the tiles to ``path`` as a PNG, a line a row; the value 0 is black, ``value_max`` white or full colour.

    The title stands above them. A line of a caption that is wider than its image is cut.
    """
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(TEXT - 2)
    step_x, step_y = TILE + 2 * FRAME + GAP, TILE + 2 * FRAME + GAP + 2 * TEXT
    width = max(2 * GAP + round(font.getlength(title)), GAP + max(map(len, rows)) * step_x + 2 * GAP)
    sheet = Image.new("RGB", (width, TOP + len(rows) * step_y), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, GAP // 2), title, fill=INK, font=font)
    for y, row in enumerate(rows):
        for x, tile in enumerate(row):
            left, top = GAP + x * step_x + 2 * GAP * (x > 0), TOP + y * step_y
            frame = WRONG if tile.wrong else INK if x == 0 else RIGHT
            pen.rectangle((left, top, left + TILE + 2 * FRAME - 1, top + TILE + 2 * FRAME - 1), fill=frame)
            sheet.paste(_picture(in_bytes(tile.image, value_max)), (left + FRAME, top + FRAME))
            for n, line in enumerate(tile.caption.splitlines()):
                starts = (f"{line[:end]}..." for end in range(len(line) - 1, -1, -1))
                shown = next(text for text in (line, *starts) if font.getlength(text) <= TILE + FRAME)
                pen.text((left + FRAME, top + TILE + 2 * FRAME + n * TEXT), shown, fill=INK, font=font)
    with atomic(path) as temporary:
        sheet.save(temporary, format="png")


def in_bytes(image: NDArray[Any], value_max: float) -> NDArray[np.uint8]:
    """The image with values 0 to 255, as uint8, where ``value_max`` becomes 255; values outside become 0 or 255."""
    if image.dtype == np.uint8 and value_max == 255:
        return image
    return np.clip(np.rint(image * (255 / value_max)), 0, 255).astype(np.uint8)


def _picture(image: NDArray[np.uint8]) -> "Image":
    """The image, scaled to fit a tile; the pixels of a small image stay visible."""
    from PIL import Image

    grey = image.shape[2] == 1
    picture = Image.fromarray(image[:, :, 0] if grey else image).convert("RGB")
    scale = TILE / max(picture.size)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    scaled = picture.resize(size, Image.Resampling.NEAREST if scale > 1 else Image.Resampling.LANCZOS)
    tile = Image.new("RGB", (TILE, TILE), PAPER)
    tile.paste(scaled, ((TILE - size[0]) // 2, (TILE - size[1]) // 2))
    return tile
