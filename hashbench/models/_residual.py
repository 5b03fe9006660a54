"""The residual block: layers whose result is added to their input."""

from torch import Tensor, nn


class Residual(nn.Sequential):
    """The sum of the input and of what the layers make of it."""

    def forward(self, inputs: Tensor) -> Tensor:
        """A tensor of the shape of ``inputs``."""
        # the layers begin with a convolution, so an inplace ReLU in them does not change ``inputs``
        added: Tensor = inputs + super().forward(inputs)  # type: ignore[no-untyped-call]
        return added
