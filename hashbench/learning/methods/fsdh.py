"""FSDH: as SDH, with the labels regressed to the codes, so that no sweep is needed (Gui et al. 2018).

It lowers ||B - Y W||^2 + lambda ||W||^2 + nu ||B - X P||^2; given W and P the codes are B = sign(Y W + nu X P).
"""

from functools import partial

from hashbench.learning.contract import Floats
from hashbench.learning.methods._discrete import AlternatingSettings, alternated, regressed_method
from hashbench.learning.methods._shallow import ridge_solution, signs


def next_codes(settings: AlternatingSettings, members: Floats, pulls: Floats, codes: Floats) -> Floats:
    """B [n, bits] for the W that suits ``codes``; ``pulls`` are nu X P [n, bits]."""
    weights = ridge_solution(members, settings.label_ridge)(codes)  # W [classes, bits]
    return signs(members @ weights + pulls)


METHOD = regressed_method(__name__, AlternatingSettings, partial(alternated, next_codes), several=True)
