"""TALR-AP: gradient ascent on the relaxed tie-aware average precision (He, Cakir, Bargal, Sclaroff 2018).

The variant "simplified" is AP_s, which the authors released; "exact" is AP_r; ``as_released`` is AP_s with the gradient
of their code, and with its value at pulses wider than a bin.
"""

from types import ModuleType

from hashbench.methods._talr import talr_method


def _losses() -> ModuleType:
    from hashbench.losses import tie_aware_ap

    return tie_aware_ap


METHOD = talr_method(__name__, _losses)
