"""What a method is: settings, a way to fit a hasher, a way to load it again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hashbench.config import Setting
from hashbench.hasher import CodeSettings, Hasher, SavedHasher, TrainingData
from hashbench.registry import Catalogue


@dataclass(frozen=True)
class Base:
    """The method that another one starts from: run before it, once for all that start from the same.

    ``settings`` are those of that run which the settings of this one decide.
    """

    method: str
    settings: Callable[[Any], dict[str, Setting]]


@dataclass(frozen=True)
class Method:
    """A published method.

    ``settings`` is the strict type of its hyper-parameters, ``identity`` the ones that name its runs, and
    ``needs_torch`` whether fitting needs the extra ``train``. ``supervision`` is what it learns from: nothing, labels,
    or relevance, which labels or percentiles of distances say. ``several_processes`` is whether torchrun can train it.
    """

    settings: type[CodeSettings]
    identity: tuple[str, ...]
    fit: Callable[[Any, TrainingData], Hasher]
    load: Callable[[Any, SavedHasher], Hasher]
    needs_torch: bool
    supervision: Literal["none", "labels", "relevance"] = "none"
    several_processes: bool = False
    base: Base | None = None


METHODS = Catalogue("method", "hashbench.methods", "METHOD", Method, group="hashbench.methods")
