"""Pairwise likelihood of binary codes, with balanced bits: the objective of DBDH, Deep Balanced Discrete Hashing."""

from typing import Literal

from torch import Tensor

from hashbench.learning.losses._batch import inner_products, likelihood, mean_where, off_diagonal_mask, relevant_mask
from hashbench.learning.losses._codes import straight_through

Over = Literal["items", "bits"]


def loss(
    activations: Tensor,
    relevance: Tensor,
    *,
    binary: bool,
    clip: float,
    scale: float,
    eta: float,
    over: Over,
) -> Tensor:
    """The mean over pairs of log(1 + e^theta) - s theta, plus eta times the balance; a float64 scalar to minimise.

    theta_ij = ``scale`` <b_i, b_j>; s_ij = 1 where the level is above 0. b is sign(u) with the gradient of
    ``straight_through``, as the abstract of zheng2020deep has it, or, not ``binary``, u clamped to [-clip, clip] as in
    re-implementations, from which the rest is; its gradient is the same function of b. A ``clip`` of 0 is none. The
    mean runs over the ordered pairs i != j and is 0 without any.

    The balance is the mean over bits of (mean over examples of b)^2. Over "bits" it is the mean over examples of
    (mean over bits of b)^2, as two re-implementations have it; that balances an item, not a bit.

    ``activations`` float[M, bits] are before the sign; the diagonal of the levels ``relevance`` [M, M] never counts.
    """
    wide = activations.double()
    if binary:
        codes = straight_through(wide, clip or None)
    else:
        codes = wide.clamp(-clip, clip) if clip else wide
    cost = likelihood(scale * inner_products(codes), relevant_mask(relevance))
    balance = codes.mean(0 if over == "items" else 1).square().mean()
    return mean_where(cost, off_diagonal_mask(relevance)) + eta * balance
