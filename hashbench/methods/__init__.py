"""Published methods: one file each, which exports METHOD. Their hyper-parameters are in experiments/methods/*.toml."""

from hashbench.methods._method import (
    METHODS,
    Base,
    DeepSettings,
    Method,
    Objective,
    Supervision,
    deep_method,
    require_torch,
)
from hashbench.methods._shallow import HashFunction, Linear, ShallowSettings, linear_method, shallow_method

__all__ = ["METHODS", "Base", "DeepSettings", "HashFunction", "Linear", "Method", "Objective", "ShallowSettings"]
__all__ += ["Supervision", "deep_method", "linear_method", "require_torch", "shallow_method"]
