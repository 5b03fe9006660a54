"""What the deep methods share: they are an encoder, an objective and a schedule, trained by one loop."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hashbench.errors import HashbenchError
from hashbench.hasher import Hasher, SavedHasher, TrainingData
from hashbench.methods._method import Method
from hashbench.training.settings import DeepSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


def deep_method(
    module: str,
    settings: type[DeepSettings],
    objective: Callable[[Any, "Supervision"], "Objective"],
    identity: tuple[str, ...] = (),
) -> Method:
    """The method of the file ``module`` (its ``__name__``), which minimises ``objective(settings, supervision)``.

    ``supervision`` is that of the training examples.
    """
    method = module.rpartition(".")[2]  # a method is named by its file

    def fit(chosen: Any, data: TrainingData) -> Hasher:
        require_torch()
        from hashbench.losses import supervision_of
        from hashbench.training.loop import train
        from hashbench.training.objective import by_rows

        supervision = supervision_of(data)
        return train(chosen, by_rows(objective(chosen, supervision), supervision), data, method)

    def load(chosen: Any, stored: SavedHasher) -> Hasher:
        require_torch()
        from hashbench.training.hasher import DeepHasher

        return DeepHasher.load(chosen, stored.folder, stored.device)

    return Method(
        settings,
        ("bits", "model", *identity),
        fit,
        load,
        needs_torch=True,
        supervision="relevance",
        several_processes=True,
    )


def require_torch() -> None:
    """Raises HashbenchError where torch is not installed."""
    try:
        import torch  # noqa: F401
    except ImportError:
        raise HashbenchError(
            "torch is not installed: deep methods need the extra train (pip install 'hashbench[train]')"
        ) from None
