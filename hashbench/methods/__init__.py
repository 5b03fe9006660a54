"""Published methods: one file each, which exports METHOD. Their hyper-parameters are in experiments/methods/*.toml."""

from hashbench.methods._deep import deep_method, require_torch
from hashbench.methods._linear import Linear, linear_method
from hashbench.methods._method import METHODS, Base, Method
from hashbench.methods._shallow import HashFunction, ShallowSettings, shallow_method

__all__ = [
    "METHODS",
    "Base",
    "HashFunction",
    "Linear",
    "Method",
    "ShallowSettings",
    "deep_method",
    "linear_method",
    "require_torch",
    "shallow_method",
]
