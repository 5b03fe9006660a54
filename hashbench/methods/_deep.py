"""The deep methods: each is an objective; the encoder and the training loop are the same for all of them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from hashbench.contract import SavedHasher, TrainingData
from hashbench.foundation.config import Setting
from hashbench.foundation.errors import HashbenchError
from hashbench.methods._method import Base, Method
from hashbench.training.settings import N_SHOWN, SHA256, DeepSettings, TrainingSettings

if TYPE_CHECKING:
    from hashbench.losses import Objective, Supervision
    from hashbench.training.hasher import DeepHasher
else:  # they are types of torch, which a method's file does not import before it trains
    Objective = Supervision = Any

__all__ = ["Objective", "Supervision", "deep_method", "load", "require_torch"]


def deep_method(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, Supervision], Objective],
    identity: tuple[str, ...] = (),
) -> Method:
    """The method that trains an encoder by minimising ``objective(settings, supervision)``.

    Args:
        module: The ``__name__`` of the method's file; its last part is the method's name.
        settings: The type of its hyper-parameters.
        objective: The function that makes the objective; ``supervision`` is the relevance among training examples.
        identity: The hyper-parameters that name its runs, besides ``bits`` and ``model``.
    """
    method = module.rpartition(".")[2]

    def fit(chosen: Any, data: TrainingData) -> "DeepHasher":
        require_torch()
        from hashbench.losses import as_row_objective, supervision_of
        from hashbench.training.loop import train

        supervision = supervision_of(data)
        return train(chosen, as_row_objective(objective(chosen, supervision), supervision), data, method)

    return Method(
        settings,
        ("bits", "model", *identity),
        fit,
        load,
        needs_torch=True,
        supervision="relevance",
        several_processes=True,
        base=Base(method, partial(_settings_of_head, identity)),
    )


def load(settings: TrainingSettings, stored: SavedHasher) -> "DeepHasher":
    """The trained network that was saved."""
    require_torch()
    from hashbench.training.hasher import DeepHasher

    return DeepHasher.load(settings, stored.folder, stored.device)


def _settings_of_head(identity: tuple[str, ...], chosen: DeepSettings) -> dict[str, Setting] | None:
    """The settings of the run that trains the hash layer alone; None if the hash layer starts at random.

    It is a run of the same method on the features that the network computes with its initial weights.
    """
    if chosen.head == "random":
        return None
    features = f"{chosen.model}_{chosen.weights.removeprefix(SHA256)[:N_SHOWN]}"
    own: dict[str, Setting] = {key: getattr(chosen, key) for key in ("bits", *identity)}
    return {**own, "model": "linear", "features": features, "normalise": "unit_norm"}


def require_torch() -> None:
    """Raises HashbenchError if torch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        from hashbench.foundation.extras import how_to_install

        raise HashbenchError(
            f"torch is not installed: deep methods need the extra train: {how_to_install('train')}"
        ) from None
