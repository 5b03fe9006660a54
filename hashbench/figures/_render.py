"""A drawing as files: PNG and PDF, the same bytes each time, and the CSV of its points."""

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hashbench.figures._drawing import Drawing
from hashbench.figures._kind import FigureSpec
from hashbench.tables.csv_field import csv_field
from hashbench.tables.stamp import KEY
from hashbench.tables.stamp import stamp as digest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 300
PREVIEW_DPI = 200  # two pixels for each of a page on which the figure is 690 wide
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
    "pdf.fonttype": 42,  # TrueType: journals refuse the Type 3 fonts that are matplotlib's default
}


def stamp_of(figure: FigureSpec, drawing: Drawing) -> str:
    """The stamp of a figure's pictures: it changes with the points, the figure's file and the code that draws it."""
    own = Path(__file__).parent
    sources = [*sorted(own.glob("*.py")), *(own.parent / "tables" / name for name in ("notation.py", "render_png.py"))]
    return digest([csv_text(drawing), str(drawing.missing), figure.path.read_text(encoding="utf-8")], sources)


def pictures(drawing: Drawing, stamp: str = "") -> dict[str, bytes]:
    """The drawing as PNG and as PDF, by the suffix of the file; the user's settings of matplotlib change nothing.

    The PNG holds the ``stamp``.
    """
    found = {}
    with _drawn(drawing) as figure:
        for kind, metadata in METADATA.items():
            picture = io.BytesIO()
            stamped = {**metadata, KEY: stamp} if kind == "png" else metadata
            figure.savefig(picture, format=kind, dpi=DPI, metadata=stamped)
            found[f".{kind}"] = picture.getvalue()
            figure.set_layout_engine("none")  # the panels stay where the first picture has them
    return found


def preview(drawing: Drawing) -> bytes:
    """The drawing as PNG, without the PDF and with fewer pixels than :func:`pictures` gives it."""
    picture = io.BytesIO()
    with _drawn(drawing) as figure:
        figure.savefig(picture, format="png", dpi=PREVIEW_DPI, metadata=METADATA["png"])
    return picture.getvalue()


@contextmanager
def _drawn(drawing: Drawing) -> Iterator["Figure"]:
    """The drawing as a figure of matplotlib, which is saved inside the block: there its settings are hashbench's."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=drawing.size_in, layout="constrained")
        drawing.draw(figure)
        yield figure


def csv_text(drawing: Drawing) -> str:
    """The points as CSV, a line each, numbers with six decimals; empty where there is nothing to draw."""
    if not drawing.points:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(drawing.points[0])
    writer.writerows([csv_field(value) for value in point.values()] for point in drawing.points)
    return text.getvalue()
