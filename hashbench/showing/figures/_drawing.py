"""What a figure shows, and its files: PNG, PDF and the CSV of its points, the same bytes each time."""

import hashlib
import io
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from hashbench.scoring.evaluation.curves import own_style
from hashbench.showing.figures._matplotlib import figure
from hashbench.showing.inks.csv import csv_of
from hashbench.showing.sheet import Value

if TYPE_CHECKING:
    from matplotlib import artist, axes

    Artist: TypeAlias = artist.Artist
    Axes: TypeAlias = axes.Axes
    Figure: TypeAlias = figure.Figure
else:
    Artist = Axes = Figure = Any  # matplotlib is imported where a figure is drawn

WIDTHS_IN = {"column": 3.3, "page": 6.9}  # of a paper with two columns, and of its page
DPI = 150  # of a PNG, which is for pages; papers take the PDF
MOST_PIXELS = 2_000_000  # of a PNG: a high one has fewer to the inch, so that it has at most 80 kB
COLOURS = 64  # of a picture without photographs
CHARACTERS_PER_IN = 22  # of the small print below a figure
LEGEND_LINE_IN = 0.14  # the height of a line
LEGEND_LABEL_IN = 1.1  # the width of a label
STAMP = "hashbench"  # the key of the stamp in the text of a PNG
FORM = 1  # of all pictures: whoever changes how they look, and wants them drawn again, raises it
HEAD = 4096  # the bytes of a PNG in which its stamp is
END = b"IEND\xaeB`\x82"  # the last bytes of every whole PNG
# no time and no versions: the same drawing gives the same bytes
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
STYLE: dict[Any, Any] = {
    "font.size": 7,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "0.9",
    "grid.linewidth": 0.5,
    "text.parse_math": False,  # titles and labels are other people's text: a $ in them is a sign like any other
    "pdf.fonttype": 42,  # TrueType: journals refuse the Type 3 fonts that are matplotlib's default
}


@dataclass(frozen=True)
class Drawing:
    """A figure that is filled in: its points by column, and the function that draws it, here or in another process."""

    points: Sequence[Mapping[str, Value]]  # all with the same keys; none: there is nothing to draw
    size_in: tuple[float, float]
    draw: Callable[[Figure], None]
    n_measured: int
    missing: str | None = None  # a line that says what is not measured
    keeps_files: bool = False  # it needs files that are not here: the pictures that were drawn elsewhere stay
    has_photographs: bool = False  # which need more colours than lines and text


def nothing(missing: str, *, keeps_files: bool = False) -> Drawing:
    """A drawing without points; ``missing`` says why."""
    return Drawing([], (0, 0), lambda _: None, 0, missing, keeps_files=keeps_files)


def explain(figure: Figure, text: str) -> None:
    """Writes below the panels what the marks mean, in lines as long as the figure is wide."""
    per_line = int(figure.get_figwidth() * CHARACTERS_PER_IN)
    if wrapped := "\n".join(textwrap.fill(line, per_line, break_on_hyphens=False) for line in text.splitlines()):
        figure.supxlabel(wrapped, fontsize=6, color="0.35", x=0.01, ha="left")


def legend(figure: Figure, samples: "Mapping[str, Artist]", *, beside: bool = False) -> None:
    """Writes the labels of ``samples`` in their order above the panels, or with ``beside`` to the right of them."""
    figure.legend(
        list(samples.values()),
        list(samples),
        loc="outside right upper" if beside else "outside upper left",
        ncols=1 if beside else _legend_columns(figure.get_figwidth()),
        frameon=False,
        handlelength=2.6,
        columnspacing=1.2,
        borderaxespad=0.1,
    )


def legend_height_in(n_labels: int, width_in: float) -> float:
    """The height of a legend of so many labels above the panels, in inches."""
    return LEGEND_LINE_IN * -(-n_labels // _legend_columns(width_in))


def _legend_columns(width_in: float) -> int:
    return max(2, int(width_in / LEGEND_LABEL_IN))


def csv_text(drawing: Drawing) -> str:
    """The points as CSV, a line each, numbers with six decimals; empty where there is nothing to draw."""
    if not drawing.points:
        return ""
    return csv_of(drawing.points[0], (point.values() for point in drawing.points))


def pictures(drawing: Drawing, stamp: str = "") -> dict[str, bytes]:
    """The drawing as PNG, with the ``stamp``, and PDF, by suffix; the user's settings of matplotlib change nothing."""
    with _drawn(drawing) as figure:
        return {".png": _png(drawing, figure, stamp), ".pdf": _saved(figure, "pdf")}


def picture(drawing: Drawing, stamp: str = "") -> bytes:
    """The drawing as PNG, as :func:`pictures` gives it."""
    with _drawn(drawing) as figure:
        return _png(drawing, figure, stamp)


@contextmanager
def _drawn(drawing: Drawing) -> Iterator[Figure]:
    """The drawing as a figure of matplotlib, which is saved inside the block: there its settings are hashbench's."""
    width, height = drawing.size_in
    dpi = min(DPI, int(math.sqrt(MOST_PIXELS / (width * height))))
    with own_style(STYLE):
        drawn = figure.Figure(figsize=drawing.size_in, dpi=dpi, layout="constrained")
        drawing.draw(drawn)
        engine = drawn.get_layout_engine()
        assert engine is not None
        engine.execute(drawn)
        drawn.set_layout_engine(None)  # laid out once: with an engine each file would be laid out and drawn twice
        yield drawn


def _png(drawing: Drawing, figure: Figure, stamp: str) -> bytes:
    """The ``figure`` as PNG; one of lines and text in so few colours that it has a third of the bytes."""
    stamped = PngInfo()
    stamped.add_text(STAMP, stamp)
    small = io.BytesIO()
    with Image.open(io.BytesIO(_saved(figure, "png")), formats=["PNG"]) as drawn:
        image = drawn.convert("RGB")
        if not drawing.has_photographs:
            image = image.quantize(COLOURS)
        image.save(small, format="PNG", optimize=True, pnginfo=stamped)
    return small.getvalue()


def _saved(figure: Figure, kind: str) -> bytes:
    content = io.BytesIO()
    figure.savefig(content, format=kind, metadata=METADATA[kind])
    return content.getvalue()


def stamp_of(*texts: str) -> str:
    """The stamp of a picture that shows what ``texts`` say; it changes with them and with ``FORM``."""
    digest = hashlib.sha256()
    for text in (str(FORM), *texts):
        digest.update(hashlib.sha256(text.encode()).digest())
    return digest.hexdigest()


def is_stamped(path: Path, stamp: str) -> bool:
    """Whether the PNG at ``path`` is whole and has this stamp; False where there is none."""
    try:
        picture = path.read_bytes()
    except OSError:
        return False
    return f"{STAMP}\0{stamp}".encode() in picture[:HEAD] and picture.endswith(END)
