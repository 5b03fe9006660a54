"""What a method is: settings, a way to fit a hasher, a way to load it again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hashbench.config import Setting
from hashbench.hasher import CodeSettings, Hasher, SavedHasher, SparseHasher, TrainingData
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

    ``settings`` is the strict type of its hyper-parameters, ``identity`` the ones that name its runs,
    ``needs_torch`` whether fitting needs the extra ``train``, ``needs_labels`` whether it learns from labels, and
    ``learns_distances`` whether percentiles of distances will do in their place.
    """

    settings: type[CodeSettings]
    identity: tuple[str, ...]
    fit: Callable[[Any, TrainingData], Hasher | SparseHasher]
    load: Callable[[Any, SavedHasher], Hasher | SparseHasher]
    needs_torch: bool
    needs_labels: bool = False
    learns_distances: bool = False
    base: Base | None = None


METHODS = Catalogue("method", "hashbench.methods", "METHOD", Method, group="hashbench.methods")
