"""The histogram n[q, d, v], its kernels, and what is read off it: ranks, tied items, curves."""

from hashbench.histogram.counting import count, count_blocks
from hashbench.histogram.counts import Histogram, without_itself

__all__ = ["Histogram", "count", "count_blocks", "without_itself"]
