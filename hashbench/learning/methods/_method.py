"""The type of a method, and the deep methods: each is an objective, with one encoder and one training loop for all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hashbench.foundation.config import Setting, derive_seed
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.extras import how_to_install
from hashbench.foundation.registry import Catalogue
from hashbench.learning import losses
from hashbench.learning.contract import BitSettings, CodeSettings, Hasher, SavedHasher, TrainingData, TrainingFailed
from hashbench.learning.models import whole_network
from hashbench.learning.steps import LARGEST
from hashbench.learning.training.settings import N_SHOWN, OFFICIAL, SHA256, DeepSettings, TrainingSettings

if TYPE_CHECKING:
    from hashbench.learning.losses import ClassSupervision, Objective, RowObjective, Supervision
    from hashbench.learning.training.hasher import DeepHasher
else:  # they are types of torch, which a method's file does not import before it trains
    ClassSupervision = Objective = RowObjective = Supervision = Any

__all__ = ["METHODS", "Base", "ClassSupervision", "DeepSettings", "Method", "Objective", "RowObjective", "Supervision"]
__all__ += ["class_method", "deep_method", "item_method", "load", "require_torch", "require_usable", "trained"]


@dataclass(frozen=True)
class Base:
    """The method whose hasher another method needs: it is run first, and several runs can share the result."""

    method: str
    settings: Callable[[Any], dict[str, Setting] | None]  # of its run, for the other's settings; None: no base


# from settings, the number of features and that of training examples; raises HashbenchError where there are too few
Requirement = Callable[[Any, int, int], None]


@dataclass(frozen=True)
class Method:
    """A published method."""

    settings: type[CodeSettings]  # the type of its hyper-parameters
    identity: tuple[str, ...]  # the hyper-parameters that name its runs
    fit: Callable[[Any, TrainingData], Hasher]  # returns the hasher fitted to the training data
    load: Callable[[Any, SavedHasher], Hasher]  # returns the hasher that was saved
    needs_torch: bool  # whether fitting needs the extra ``train``
    supervision: Literal["none", "labels", "relevance"] = "none"  # relevance: of labels or of distances
    base: Base | None = None  # the method whose hasher it starts from
    makes_codes: bool = True  # False for the classifier, whose weights other runs start from
    require: Requirement | None = None  # refuses what ``fit`` would refuse, where that is known without the data

    @property
    def group(self) -> Literal["deep", "shallow", "sparse", "quantisation", "pretraining"]:
        """Binary codes, of a network that it trains (deep) or not (shallow); sparse codes; or weights (pretraining).

        Quantisation is none of them: an item is numbers of centroids, and a query its features.
        """
        if not self.makes_codes:
            return "pretraining"
        if not issubclass(self.settings, BitSettings):
            return "quantisation" if "bits" in self.settings.model_fields else "sparse"
        return "deep" if self.needs_torch else "shallow"

    @property
    def main_search(self) -> Literal["database", "asymmetric"]:
        """The search of the database that ranks by what the method makes: codes, or centroids without query codes."""
        return "asymmetric" if self.group == "quantisation" else "database"


METHODS = Catalogue("method", "hashbench.learning.methods", "METHOD", Method, group="hashbench.methods")

# from settings, the trained encoder, its objective and the training data to the hasher of the method
Finish = Callable[[Any, "DeepHasher", Any, TrainingData], Hasher]


def deep_method(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, Supervision], Objective],
    identity: tuple[str, ...] = (),
    needs: Literal["labels", "relevance"] = "relevance",
    finish: Finish | None = None,
) -> Method:
    """The method ``module`` (a ``__name__``): an encoder that minimises ``objective(settings, supervision)``.

    One that needs "labels" always gets a LabelSupervision: a protocol that scores distances is refused before.
    """

    def of_relevance(chosen: Any, data: TrainingData) -> RowObjective:
        supervision = losses.supervision_of(data)
        return losses.as_row_objective(objective(chosen, supervision), supervision)

    return _trained(module, settings, of_relevance, identity, needs, finish)


def class_method(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, ClassSupervision], RowObjective],
    identity: tuple[str, ...] = (),
    finish: Finish | None = None,
) -> Method:
    """The method ``module`` (a ``__name__``): an encoder that minimises ``objective(settings, classes)``.

    Centres and classifiers have a seed that a run and its base share, so that a trained head fits the same centres.
    """

    def of_classes(chosen: Any, data: TrainingData) -> RowObjective:
        # without two relevant examples a ranking cannot be learned from classes either
        labels = losses.LabelSupervision(data.labels).labels
        return objective(chosen, losses.ClassSupervision(labels, derive_seed(data.given_seed, "classes")))

    return _trained(module, settings, of_classes, identity, "labels", finish)


def item_method(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, TrainingData], RowObjective],
    finish: Finish | None = None,
) -> Method:
    """The method ``module`` (a ``__name__``): an encoder that minimises ``objective(settings, data)``, without labels.

    The objective does not ask ``data`` for labels or relevance, so that it trains where there are none.
    """
    return _trained(module, settings, objective, (), "none", finish)


def _trained(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, TrainingData], RowObjective],
    identity: tuple[str, ...],
    supervision: Literal["none", "labels", "relevance"],
    finish: Finish | None,
) -> Method:
    method = module.rpartition(".")[2]

    def fit(chosen: Any, data: TrainingData) -> Hasher:
        require_usable(data.items)
        hasher, minimised = trained(chosen, objective, data, method)
        if finish:
            return finish(chosen, hasher, minimised, data)
        return hasher

    def head(chosen: DeepSettings) -> dict[str, Setting] | None:
        """The settings of the run that trains the hash layer alone, on features of the initial weights."""
        if chosen.head == "random":
            return None
        whole = whole_network(chosen.model)
        weights = chosen.weights
        features = whole
        if weights != OFFICIAL:
            features = f"{whole}_{weights.removeprefix(SHA256)[:N_SHOWN]}"
        of_head: dict[str, Setting] = {key: getattr(chosen, key) for key in ("bits", *identity)}
        if chosen.hash_norm != "none":
            of_head["hash_norm"] = chosen.hash_norm
        return of_head | {"model": "linear", "features": features, "normalise": "unit_norm"}

    return Method(
        settings,
        ("bits", "model", *identity),
        fit,
        load,
        needs_torch=True,
        supervision=supervision,
        base=Base(method, head),
    )


def trained(
    settings: TrainingSettings, objective: Callable[[Any, TrainingData], RowObjective], data: TrainingData, method: str
) -> tuple["DeepHasher", RowObjective]:
    """The network that minimises ``objective(settings, data)``, and that objective."""
    require_torch()
    from hashbench.learning.training.loop import train

    minimised = objective(settings, data)
    return train(settings, minimised, data, method), minimised


def require_usable(features: NDArray[Any]) -> None:
    """Raises HashbenchError if a value of ``features`` [n, d] is NaN or too large, TrainingFailed if none differ.

    Images [n, H, W, C] are whole numbers, and so finite.
    """
    if features.ndim != 2:
        return
    usable = np.abs(features).max(axis=1) <= LARGEST  # NaN is not
    if not usable.all():
        raise HashbenchError(
            f"features: {(~usable).sum()} of {len(features)} training examples have a value that is NaN or beyond "
            f"{LARGEST:g} (the first is example {usable.argmin()}): methods need smaller ones"
        )
    if len(features) < 2 or (features == features[0]).all():
        raise TrainingFailed(f"the {len(features)} training examples have equal features: two that differ are needed")


def load(settings: TrainingSettings, stored: SavedHasher) -> "DeepHasher":
    require_torch()
    from hashbench.learning.training.hasher import DeepHasher

    return DeepHasher.load(settings, stored.folder, stored.device)


def require_torch() -> None:
    """Raises HashbenchError if torch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        install = how_to_install("train")
        raise HashbenchError(f"torch is not installed: deep methods need the extra train: {install}") from None
