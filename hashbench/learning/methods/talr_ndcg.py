"""TALR-NDCG: gradient ascent on the relaxed tie-aware NDCG (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial

from hashbench.learning import losses
from hashbench.learning.methods import talr_ap
from hashbench.learning.methods._method import Objective, Supervision, deep_method


class Settings(talr_ap.Settings):
    """The variant "simplified" is DCG_s, with ``as_released`` the gains that the authors released; "exact" is DCG_r."""


def _objective(settings: Settings, supervision: Supervision) -> Objective:  # noqa: ARG001
    return partial(getattr(losses.tie_aware_ndcg, settings.loss), n_bins=settings.bins, delta=settings.delta)


METHOD = deep_method(__name__, Settings, _objective, talr_ap.IDENTITY)
