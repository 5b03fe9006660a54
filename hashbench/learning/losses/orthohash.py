"""Softmax of scaled cosines to the centres of the classes, with a margin: OrthoHash's objective."""

from typing import Literal

from torch import Tensor

from hashbench.learning.losses._classes import centre_products, soft_cross_entropy

Form = Literal["cosine", "arc"]

_LARGEST_COSINE = 0.99999  # the released code's bound: the arccosine has no slope at 1


def loss(activations: Tensor, members: Tensor, centres: Tensor, *, scale: float, margin: float, form: Form) -> Tensor:
    """``soft_cross_entropy`` of scale (cos_k - margin y_k), or (``arc``) of scale cos(arccos(cos_k) + margin y_k).

    cos_k is the cosine of the activations u and the centre c_k [hoe2021one]. There is no other term: only a code of
    equal magnitudes has cosine 1 with its centre. The margin is that of every label of an example. Where an angle and
    the margin exceed pi, "arc" falls with the angle no longer, as in the released code. ``activations`` float[M, bits]
    are before the sign, ``members`` y [M, C], ``centres`` [C, bits] of -1 and +1. A float64 scalar.
    """
    cosine = centre_products(activations, centres) / centres.shape[1] ** 0.5
    if form == "arc":
        angle = cosine.clamp(-_LARGEST_COSINE, _LARGEST_COSINE).arccos()
        return soft_cross_entropy(scale * (angle + margin * members).cos(), members)
    return soft_cross_entropy(scale * (cosine - margin * members), members)
