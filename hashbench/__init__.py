"""hashbench benchmarks learning to hash: exact under ties, every number with the run that proves it.

``__all__`` is what users and packages of methods import: ``from hashbench import score``. All else may move.
"""

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hashbench.foundation import __version__

if TYPE_CHECKING:
    from hashbench.foundation.errors import HashbenchError
    from hashbench.learning.contract import BinaryHasher
    from hashbench.learning.methods import (
        ClassSupervision,
        DeepSettings,
        Method,
        Objective,
        RowObjective,
        ShallowSettings,
        Supervision,
        class_method,
        deep_method,
        linear_method,
        shallow_method,
    )
    from hashbench.learning.models import Model
    from hashbench.running.datasets.readers import Reader
    from hashbench.running.features import Extractor
    from hashbench.running.runs.trained import TrainedRun, train
    from hashbench.scoring.evaluation.accumulator import ScoreAccumulator
    from hashbench.scoring.evaluation.conventions import Convention
    from hashbench.scoring.evaluation.scorer import score
    from hashbench.scoring.evaluation.scores import Scores
    from hashbench.scoring.histogram import Histogram
    from hashbench.scoring.metrics import Metric, MetricName
    from hashbench.showing.export.load import ExportedRun, load
    from hashbench.showing.tables.rows import rows

__all__ = [
    "BinaryHasher",
    "ClassSupervision",
    "Convention",
    "DeepSettings",
    "ExportedRun",
    "Extractor",
    "HashbenchError",
    "Histogram",
    "Method",
    "Metric",
    "MetricName",
    "Model",
    "Objective",
    "Reader",
    "RowObjective",
    "ScoreAccumulator",
    "Scores",
    "ShallowSettings",
    "Supervision",
    "TrainedRun",
    "__version__",
    "class_method",
    "deep_method",
    "linear_method",
    "load",
    "rows",
    "score",
    "shallow_method",
    "train",
]

_NAMES_OF = {
    "foundation.errors": "HashbenchError",
    "learning.contract": "BinaryHasher",
    "learning.methods": "ClassSupervision DeepSettings Method Objective RowObjective ShallowSettings Supervision "
    "class_method deep_method linear_method shallow_method",
    "learning.models": "Model",
    "running.datasets.readers": "Reader",
    "running.features": "Extractor",
    "running.runs.trained": "TrainedRun train",
    "scoring.evaluation.accumulator": "ScoreAccumulator",
    "scoring.evaluation.conventions": "Convention",
    "scoring.evaluation.scorer": "score",
    "scoring.evaluation.scores": "Scores",
    "scoring.histogram": "Histogram",
    "scoring.metrics": "Metric MetricName",
    "showing.export.load": "ExportedRun load",
    "showing.tables.rows": "rows",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}

# the folders that stood at the top, and that packages of methods still import from there
_FOLDER_OF = {"contract": "learning", "losses": "learning", "methods": "learning", "models": "learning"}
_FOLDER_OF |= {"codes": "scoring", "histogram": "scoring", "metrics": "scoring", "relevance": "scoring"}
_FOLDER_OF |= {"datasets": "running", "features": "running"}


def __getattr__(name: str) -> Any:
    """What ``__all__`` lists, imported at its first use: to import hashbench imports nothing heavy."""
    if name in _MODULE_OF:
        return getattr(import_module(f"hashbench.{_MODULE_OF[name]}"), name)
    if name in _FOLDER_OF:
        return import_module(f"hashbench.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is here and what ``__all__`` lists, so that a shell completes names that are not imported yet."""
    return sorted({*globals(), *__all__})


class _FormerPlaces(MetaPathFinder, Loader):
    """Imports ``hashbench.methods`` and what is in it as ``hashbench.learning.methods``: one module, not a copy."""

    def find_spec(self, fullname: str, *others: object, **more: object) -> ModuleSpec | None:  # noqa: ARG002
        """A specification for a name of a former place, None for all others."""
        package, _, rest = fullname.partition(".")
        if package == __name__ and rest.partition(".")[0] in _FOLDER_OF:
            return ModuleSpec(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Puts the module of today in the place of ``module``."""
        rest = module.__name__.removeprefix("hashbench.")
        folder = _FOLDER_OF[rest.partition(".")[0]]
        sys.modules[module.__name__] = import_module(f"hashbench.{folder}.{rest}")


sys.meta_path.insert(0, _FormerPlaces())
