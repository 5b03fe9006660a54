"""FastAP: average precision of a soft histogram, for codes (Cakir, He, Xia, Kulis, Sclaroff 2019)."""

from functools import partial

from hashbench.learning import losses
from hashbench.learning.methods._method import Objective, Supervision, deep_method
from hashbench.learning.training.settings import PulseSettings


def _objective(settings: PulseSettings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(losses.fastap.loss, n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, PulseSettings, _objective)
