"""Codes in training: their values are those of codes, their gradient is the estimator's."""

import torch

from hashbench.learning.losses._codes import signs, straight_through

ACTIVATIONS = [-3.0, -1.0, -0.25, -0.0, 0.0, 1e-30, 0.5, 1.0, 3.0]
CODES = [-1.0, -1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0]


def test_signs_are_those_of_codes_and_zero_is_minus_one() -> None:
    for kind in (torch.float32, torch.float64, torch.bfloat16):
        values = signs(torch.tensor(ACTIVATIONS, dtype=kind, requires_grad=True))
        assert values.tolist() == CODES
        assert values.dtype == kind and not values.requires_grad


def test_the_gradient_passes_as_it_is_or_where_activations_are_within_the_clip() -> None:
    factor = torch.arange(1.0, 10.0)
    for clip, passes in ((None, [1] * 9), (1.0, [0, 1, 1, 1, 1, 1, 1, 1, 0])):
        leaf = torch.tensor(ACTIVATIONS, requires_grad=True)
        codes = straight_through(leaf, clip)
        assert codes.tolist() == CODES
        (factor * codes).sum().backward()
        assert leaf.grad is not None and leaf.grad.tolist() == (factor * torch.tensor(passes)).tolist()
