"""Hinge of each bit to that of a class's centre, the polarisation loss: DPN's objective."""

from torch import Tensor

from hashbench.learning.losses._batch import mean_where


def loss(activations: Tensor, members: Tensor, centres: Tensor, *, margin: float) -> Tensor:
    """The mean over examples of sum_k y_k sum_t max(0, margin - u_t c_kt), a float64 scalar.

    c_k is the centre of class k [fan2020deep]. With several labels, the hinges to the centres of all of them are added,
    as the code of one of its authors has it; an example without a label does not count. ``activations`` are u
    float[M, bits] before the sign, ``members`` y [M, C], ``centres`` c [C, bits] of -1 and +1.
    """
    wide = activations.double()
    above = (margin - wide).relu()  # the costs of a bit that should be +1, and -1
    below = (margin + wide).relu()
    positive = (centres > 0).to(members.dtype)
    n_positive = members @ positive
    n_labels = members.sum(1, keepdim=True)
    cost = (n_positive * above + (n_labels - n_positive) * below).sum(1)
    return mean_where(cost, n_labels[:, 0] > 0)
