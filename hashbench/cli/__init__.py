"""The command line: each command has one file, ``_app`` registers them all, and ``_entry`` begins the process."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashbench.cli._app import app, main

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    """``app`` and ``main``, imported at their first use: the entry handles interrupts before that."""
    if name in __all__:
        from hashbench.cli import _app

        return getattr(_app, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
