"""What is minimised: a function of a batch's relaxed codes and affinity levels."""

from collections.abc import Callable

from torch import Tensor

Objective = Callable[[Tensor, Tensor], Tensor]  # (relaxed [M, bits], levels [M, M]) -> scalar
