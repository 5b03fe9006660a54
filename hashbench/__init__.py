"""hashbench benchmarks learning to hash: exact under ties, every number with the run that proves it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hashbench.foundation import __version__

if TYPE_CHECKING:
    from hashbench.evaluation.accumulator import ScoreAccumulator
    from hashbench.evaluation.scorer import score
    from hashbench.evaluation.scores import Scores
    from hashbench.export.load import ExportedRun, load
    from hashbench.runs.trained import TrainedRun, train
    from hashbench.tables.rows import rows

__all__ = ["ExportedRun", "ScoreAccumulator", "Scores", "TrainedRun", "__version__", "load", "rows", "score", "train"]

_MODULE_OF = {
    "ExportedRun": "hashbench.export.load",
    "ScoreAccumulator": "hashbench.evaluation.accumulator",
    "Scores": "hashbench.evaluation.scores",
    "TrainedRun": "hashbench.runs.trained",
    "load": "hashbench.export.load",
    "rows": "hashbench.tables.rows",
    "score": "hashbench.evaluation.scorer",
    "train": "hashbench.runs.trained",
}


def __getattr__(name: str) -> Any:
    """What ``__all__`` lists, imported at its first use: to import hashbench imports nothing heavy."""
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is here and what ``__all__`` lists, so that a shell completes names that are not imported yet."""
    return sorted({*globals(), *__all__})
