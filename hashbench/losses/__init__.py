"""Training objectives: one file each, functions of (relaxed codes, relevance) that return a scalar to minimise.

What is not a function of the batch alone is a ``RowObjective``; ``Supervision`` is the relevance of training examples.
"""

from hashbench.losses._objective import RowObjective
from hashbench.losses._supervision import ByDistance, ByLabel, Supervision, alike, supervision_of

__all__ = ["ByDistance", "ByLabel", "RowObjective", "Supervision", "alike", "supervision_of"]
