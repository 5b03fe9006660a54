"""MIHash: mutual information between distance and relevance (Cakir, He, Bargal, Sclaroff 2017)."""

from functools import partial
from typing import TYPE_CHECKING

from hashbench.methods._deep import deep_method
from hashbench.training.settings import PulseSettings

if TYPE_CHECKING:
    from hashbench.losses import Supervision
    from hashbench.training.objective import Objective


def _objective(settings: PulseSettings, supervision: "Supervision") -> "Objective":  # noqa: ARG001
    from hashbench.losses import mihash

    return partial(mihash.loss, n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, PulseSettings, _objective)
