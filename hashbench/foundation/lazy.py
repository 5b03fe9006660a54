"""Modules that start slowly, each imported at its first use."""

from importlib import import_module
from typing import Any


class Lazy:
    """A module that is imported when something in it is looked up."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)
