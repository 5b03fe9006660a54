"""Training objectives: one file each, with functions of (relaxed codes, relevance) that return a scalar to minimise.

An objective that needs more than the batch is a ``RowObjective``. ``Supervision`` is the relevance among training
examples.
"""

from hashbench.losses._objective import RowObjective
from hashbench.losses._supervision import (
    DistanceSupervision,
    LabelSupervision,
    Supervision,
    label_levels,
    supervision_of,
)

__all__ = ["DistanceSupervision", "LabelSupervision", "RowObjective", "Supervision", "label_levels", "supervision_of"]
