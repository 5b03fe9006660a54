"""TALR-NDCG: gradient ascent on the relaxed tie-aware NDCG (He, Cakir, Bargal, Sclaroff 2018).

The variant "simplified" is DCG_s, which the authors released; "exact" is DCG_r; ``as_released`` is DCG_s with the gains
and the ideal order of their code.
"""

from types import ModuleType

from hashbench.methods._talr import talr_method


def _losses() -> ModuleType:
    from hashbench.losses import tie_aware_ndcg

    return tie_aware_ndcg


METHOD = talr_method(__name__, _losses)
