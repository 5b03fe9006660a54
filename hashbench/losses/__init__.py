"""Training objectives: one file each, with functions of (relaxed codes, relevance) that return a scalar to minimise.

One that needs more than the batch is a ``RowObjective``. ``Supervision`` is the relevance among training examples.
"""

from hashbench.losses._objective import (
    DistanceSupervision,
    LabelSupervision,
    Objective,
    RowObjective,
    Supervision,
    as_row_objective,
    label_levels,
    supervision_of,
)

__all__ = ["DistanceSupervision", "LabelSupervision", "Objective", "RowObjective", "Supervision", "as_row_objective"]
__all__ += ["label_levels", "supervision_of"]
