"""Published methods: one file each, which exports METHOD. Their hyper-parameters are in experiments/methods/*.toml."""

from hashbench.learning.methods._method import (
    METHODS,
    Base,
    ClassSupervision,
    DeepSettings,
    Method,
    Objective,
    RowObjective,
    Supervision,
    class_method,
    deep_method,
    require_torch,
)
from hashbench.learning.methods._quantiser import QuantisingHasher
from hashbench.learning.methods._shallow import HashFunction, Linear, ShallowSettings, linear_method, shallow_method

__all__ = ["METHODS", "Base", "ClassSupervision", "DeepSettings", "HashFunction", "Linear", "Method", "Objective"]
__all__ += [
    "QuantisingHasher",
    "RowObjective",
    "ShallowSettings",
    "Supervision",
    "class_method",
    "deep_method",
    "linear_method",
]
__all__ += ["require_torch", "shallow_method"]
