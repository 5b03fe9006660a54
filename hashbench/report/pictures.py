"""The figures of the report, each as a small picture that is part of the page."""

import io
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from hashbench.figures import Drawing, FigureSpec, preview
from hashbench.foundation.errors import HashbenchError, quietly

COLOURS = 64  # of a drawn figure
SHARPNESS = 2  # pixels of the picture for each of the page, in width and in height
WIDTH = 1380  # pixels, at most: 6.9 inches, the page of a paper
QUALITY = 80  # of photographs as JPEG


@dataclass(frozen=True)
class Image:
    """A picture as text that is part of a page, and its size on the page in pixels."""

    data_uri: str
    width: int
    height: int


@dataclass(frozen=True)
class Picture:
    """A figure of the report; ``image`` is None where there is nothing to show. ``missing`` says what is missing."""

    spec: FigureSpec
    image: Image | None
    missing: str | None


def picture(spec: FigureSpec, drawing: Drawing, results: Path) -> Picture:
    """The figure as a part of the page; ``results`` is the folder of rows and figures.

    A figure that needs files which are not here is the PNG that an earlier ``hashbench figure --write`` left there.
    """
    missing = drawing.missing and drawing.missing.replace(f"{results}/", "")  # no folder of this machine on the page
    if not drawing.keeps_files:
        return Picture(spec, _image(preview(drawing), photographs=False) if drawing.points else None, missing)
    kept = results / "figures" / f"{spec.name}.png"
    try:
        return Picture(spec, quietly(kept.name, lambda: _image(kept.read_bytes(), photographs=True)), None)
    except HashbenchError:
        return Picture(spec, None, missing)


def _image(png: bytes, *, photographs: bool) -> Image:
    """The picture, at most ``WIDTH`` wide: photographs as JPEG, others as PNG with a small palette."""
    from PIL import Image as Pillow

    with Pillow.open(io.BytesIO(png), formats=["PNG"]) as opened:
        whole = opened.convert("RGB")
    if whole.width > WIDTH:
        whole = whole.resize((WIDTH, round(whole.height * WIDTH / whole.width)), Pillow.Resampling.LANCZOS)
    small = io.BytesIO()
    if photographs:
        whole.save(small, format="JPEG", quality=QUALITY)
    else:
        whole.quantize(COLOURS).save(small, format="PNG", optimize=True)
    kind = "jpeg" if photographs else "png"
    text = f"data:image/{kind};base64,{b64encode(small.getvalue()).decode()}"
    return Image(text, whole.width // SHARPNESS, whole.height // SHARPNESS)
