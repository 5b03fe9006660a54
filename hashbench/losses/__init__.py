"""Training objectives: functions of (relaxed codes, relevance), or a ``RowObjective``, which needs more data."""

from hashbench.losses._classes import ClassSupervision, fixed_centres
from hashbench.losses._objective import (
    DistanceSupervision,
    ItemObjective,
    LabelSupervision,
    Objective,
    OutputMemory,
    RowObjective,
    Supervision,
    as_row_objective,
    label_levels,
    supervision_of,
)

__all__ = [
    "ClassSupervision",
    "DistanceSupervision",
    "ItemObjective",
    "LabelSupervision",
    "Objective",
    "OutputMemory",
    "RowObjective",
    "Supervision",
]
__all__ += ["as_row_objective", "fixed_centres", "label_levels", "supervision_of"]
