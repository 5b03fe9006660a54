"""The histogram n[q, d, v], its kernels, and what is read off it: ranks, tied items, curves."""

from hashbench.histogram.counts import Histogram, count, count_blocks, without_itself

__all__ = ["Histogram", "count", "count_blocks", "without_itself"]
