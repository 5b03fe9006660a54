"""hashbench benchmarks learning to hash: exact under ties, every number with the run that proves it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hashbench.evaluation.scoring import Scores, score

__version__ = "0.1.0"
__all__ = ["Scores", "__version__", "score"]


def __getattr__(name: str) -> Any:
    """``score`` and ``Scores``, imported when they are first asked for: to import hashbench imports nothing heavy."""
    if name in {"Scores", "score"}:
        return getattr(import_module("hashbench.evaluation.scoring"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
