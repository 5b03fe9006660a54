"""The histogram n[q, d, v], the kernels that count it, tie policies, rankings by other distances, and curves."""

from hashbench.scoring.histogram.counting import count, count_blocks
from hashbench.scoring.histogram.counts import Histogram
from hashbench.scoring.histogram.self_pairs import without_itself

__all__ = ["Histogram", "count", "count_blocks", "without_itself"]
