"""A drawing as one small PNG, for a page."""

import io

from hashbench.figures._drawing import Drawing
from hashbench.figures._render import METADATA, STYLE

DPI = 200  # two pixels for each of a page on which the figure is 690 wide


def preview(drawing: Drawing) -> bytes:
    """The drawing as PNG, without the PDF and with fewer pixels than :func:`hashbench.figures.pictures` gives it."""
    import matplotlib
    from matplotlib.figure import Figure

    picture = io.BytesIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=drawing.size_in, layout="constrained")
        drawing.draw(figure)
        figure.savefig(picture, format="png", dpi=DPI, metadata=METADATA["png"])
    return picture.getvalue()
