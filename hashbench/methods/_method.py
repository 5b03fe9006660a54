"""The type of a method: its settings, the function that fits a hasher, and the function that loads it again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from hashbench.contract import BitSettings, CodeSettings, Hasher, SavedHasher, TrainingData
from hashbench.foundation.config import Setting
from hashbench.foundation.registry import Catalogue


@dataclass(frozen=True)
class Base:
    """The method whose hasher another method needs: it is run first, and several runs can share the result.

    ``settings(chosen)`` returns the settings of the base's run that follow from the settings ``chosen`` of the run
    that needs it; None if that run starts from no base.
    """

    method: str
    settings: Callable[[Any], dict[str, Setting] | None]


@dataclass(frozen=True)
class Method:
    """A published method.

    Attributes:
        settings: The type of its hyper-parameters.
        identity: The hyper-parameters that name its runs.
        fit: Returns the hasher fitted to the training data.
        load: Returns the hasher that was saved.
        needs_torch: Whether fitting needs the extra ``train``.
        supervision: What it learns from: nothing; class labels; or relevance, which labels or distances define.
        several_processes: Whether several processes (torchrun) can train it together.
        base: The method whose hasher it starts from, if any.
        makes_codes: False for the classifier, whose weights other runs start from.
    """

    settings: type[CodeSettings]
    identity: tuple[str, ...]
    fit: Callable[[Any, TrainingData], Hasher]
    load: Callable[[Any, SavedHasher], Hasher]
    needs_torch: bool
    supervision: Literal["none", "labels", "relevance"] = "none"
    several_processes: bool = False
    base: Base | None = None
    makes_codes: bool = True

    @property
    def group(self) -> Literal["deep", "shallow", "sparse", "pretraining"]:
        """What it makes: binary codes of a network that it trains (deep) or without one (shallow), or sparse codes.

        The classifier makes weights (pretraining).
        """
        if not self.makes_codes:
            return "pretraining"
        if not issubclass(self.settings, BitSettings):
            return "sparse"
        return "deep" if self.needs_torch else "shallow"


METHODS = Catalogue("method", "hashbench.methods", "METHOD", Method, group="hashbench.methods")
