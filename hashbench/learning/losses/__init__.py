"""Training objectives: functions of (relaxed codes, relevance), or a ``RowObjective``, which needs more data.

``losses.NAME`` is the module NAME, which is imported when it is used first: methods are listed without PyTorch.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashbench.learning.losses._classes import CentreObjective, ClassSupervision, fixed_centres
    from hashbench.learning.losses._objective import (
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
    "CentreObjective",
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


def __getattr__(name: str) -> Any:
    """The module of a loss, or what ``__all__`` lists."""
    if name in ("CentreObjective", "ClassSupervision", "fixed_centres"):
        return getattr(import_module("hashbench.learning.losses._classes"), name)
    if name in __all__:
        return getattr(import_module("hashbench.learning.losses._objective"), name)
    module = f"{__name__}.{name}"
    if find_spec(module) is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(module)
