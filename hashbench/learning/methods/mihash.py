"""MIHash: mutual information between distance and relevance (Cakir, He, Bargal, Sclaroff 2017)."""

from functools import partial

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import PulseSettings


def _objective(settings: PulseSettings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.mihash.loss, n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, PulseSettings, _objective)
