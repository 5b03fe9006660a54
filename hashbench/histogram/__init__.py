"""The histogram n[q, d, v], the kernels that count it, tie policies, rankings by other distances, and curves."""

from hashbench.histogram.counting import count, count_blocks
from hashbench.histogram.counts import Histogram
from hashbench.histogram.self_pairs import without_itself

__all__ = ["Histogram", "count", "count_blocks", "without_itself"]
