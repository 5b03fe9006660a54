"""SDH: codes from which a linear classifier tells the classes, and an RBF regression to them (Shen et al. 2015).

It lowers ||Y - B W||^2 + lambda ||W||^2 + nu ||B - X P||^2 over codes B in {-1, +1}^(n x bits), W and P. Given W and P,
B is found bit by bit: b_k = sign(q_k - sum over l != k of w_k . w_l b_l), where Q = Y W^T + nu X P.
"""

from functools import partial

import numpy as np
from pydantic import Field

from hashbench.learning.contract import Floats
from hashbench.learning.methods._discrete import AlternatingSettings, alternated, regressed_method
from hashbench.learning.methods._shallow import ridge_solution, signs


class Settings(AlternatingSettings):
    """The bits are swept over at most ``sweeps`` times in each iteration, or until none changes."""

    sweeps: int = Field(ge=1)


def next_codes(settings: Settings, members: Floats, pulls: Floats, codes: Floats) -> Floats:
    """B [n, bits] after the sweeps from ``codes`` on, for the W that suits these; ``pulls`` are nu X P [n, bits]."""
    weights = ridge_solution(codes, settings.label_ridge)(members)  # W [bits, classes]
    gram = weights @ weights.T
    target = members @ weights.T + pulls
    for _ in range(settings.sweeps):
        before = codes
        codes = swept(codes, gram, target)
        if np.array_equal(codes, before):
            break
    return codes


def swept(codes: Floats, gram: Floats, target: Floats) -> Floats:
    """The codes after one sweep that lowers b^T G b - 2 q^T b of each example, one bit at a time, given the others.

    ``codes`` [n, bits] are of -1 and +1, ``gram`` is G [bits, bits], ``target`` q [n, bits].
    """
    new = codes.copy()
    coupling = gram - np.diag(gram.diagonal())
    for bit in range(new.shape[1]):
        new[:, bit] = signs(target[:, bit] - new @ coupling[:, bit])
    return new


METHOD = regressed_method(__name__, Settings, partial(alternated, next_codes), several=True)
