"""Local response normalisation across channels, as MatConvNet defines it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class ResponseNorm(nn.Module):
    r"""y_c = x_c / (kappa + alpha \sum_{j near c} x_j^2)^beta over ``size`` channels around c; images [n, c, h, w].

    MatConvNet's ``vl_nnnormalize``: alpha is not divided by ``size``, as it is in Caffe and in PyTorch's
    ``LocalResponseNorm`` (alpha there = size x alpha here).

    The sum is a 1 x 1 convolution with a band of ones: PyTorch's own pools over a fifth axis, and slowly.

    >>> norm = ResponseNorm(channels=2, size=3, kappa=2.0, alpha=1.0, beta=0.5)
    >>> norm(torch.tensor([1.0, 3.0]).reshape(1, 2, 1, 1)).flatten()  # both over sqrt(2 + 1 + 9)
    tensor([0.2887, 0.8660])
    """

    band: Tensor
    kappa: Tensor

    def __init__(self, channels: int, size: int, kappa: float, alpha: float, beta: float) -> None:
        super().__init__()
        self.beta = beta
        channel = torch.arange(channels)
        near = (channel[:, None] - channel[None, :]).abs() <= (size - 1) // 2
        self.register_buffer("band", alpha * near.float()[:, :, None, None], persistent=False)
        self.register_buffer("kappa", torch.full((channels,), kappa), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """Normalised images, of the same shape."""
        energy = F.conv2d(images.square(), self.band, self.kappa)
        if self.beta == 0.75:  # as everybody has it; two roots cost a third of a power
            root = energy.rsqrt()
            return images * root * root.sqrt()
        return images * energy.pow(-self.beta)
