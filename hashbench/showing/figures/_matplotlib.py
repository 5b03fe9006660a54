"""Modules of matplotlib, each imported at its first use: what is drawn is listed without it."""

from typing import TYPE_CHECKING

from hashbench.foundation.lazy import Lazy

if TYPE_CHECKING:
    from matplotlib import figure, lines, patches, ticker, transforms
else:
    figure = Lazy("matplotlib.figure")
    lines = Lazy("matplotlib.lines")
    patches = Lazy("matplotlib.patches")
    ticker = Lazy("matplotlib.ticker")
    transforms = Lazy("matplotlib.transforms")

__all__ = ["figure", "lines", "patches", "ticker", "transforms"]
