"""What a method is: settings, a way to fit a hasher, a way to load it again."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hashbench.hasher import BitSettings, Fit, Hasher


@dataclass(frozen=True)
class Method:
    """A published method.

    ``settings`` is the strict type of its hyper-parameters, ``identity`` the ones that name its runs,
    ``needs_torch`` whether fitting needs the extra ``train``, ``needs_labels`` whether it learns from labels.
    """

    settings: type[BitSettings]
    identity: tuple[str, ...]
    fit: Callable[[Any, Fit], Hasher]
    load: Callable[[Any, Path, str], Hasher]
    needs_torch: bool
    needs_labels: bool = False
