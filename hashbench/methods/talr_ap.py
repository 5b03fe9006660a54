"""TALR-AP: gradient ascent on the relaxed tie-aware average precision (He, Cakir, Bargal, Sclaroff 2018)."""

from functools import partial
from typing import TYPE_CHECKING, Literal

from hashbench.methods._deep import deep_method
from hashbench.training.settings import PulseSettings

if TYPE_CHECKING:
    from hashbench.training.objective import Objective


class Settings(PulseSettings):
    """``variant``: AP_s as the authors released it, or AP_r made exact at integers."""

    variant: Literal["simplified", "exact"]


def _objective(settings: Settings) -> "Objective":
    from hashbench.losses import tie_aware_ap

    loss = getattr(tie_aware_ap, settings.variant)
    return partial(loss, n_bins=settings.n_bins or None, delta=settings.delta)


METHOD = deep_method(Settings, _objective, identity=("variant", "tanh_scale"))
