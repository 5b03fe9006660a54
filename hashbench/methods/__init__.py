"""Published methods: one file each, which exports METHOD. Their hyper-parameters are in experiments/methods/*.toml."""

from hashbench.methods._deep import deep_method, require_torch
from hashbench.methods._linear import LinearSettings, linear_method
from hashbench.methods._method import METHODS, Base, Method

__all__ = ["METHODS", "Base", "LinearSettings", "Method", "deep_method", "linear_method", "require_torch"]
