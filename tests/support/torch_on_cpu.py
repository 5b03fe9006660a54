"""torch on the CPU in the place of a CUDA device, where there is none: the same code, the same counts."""

import pytest
import torch
from torch import Tensor

from hashbench.scoring.codes import Codes
from hashbench.scoring.histogram import Histogram, device, torch_kernel
from hashbench.scoring.histogram.torch_kernel import TensorCodes, TorchCounter
from hashbench.scoring.relevance.labels import Relevance


class OnCpu(TorchCounter):
    """Counts on the CPU, whatever device it is told."""

    def __init__(self, query: Codes | TensorCodes, told: torch.device | str) -> None:
        super().__init__(query, torch.device("cpu"))
        used.append(str(told))


def count_with_torch(
    query: Tensor | Codes, database: Tensor | Codes, relevance: Relevance, device: torch.device | str = "cpu"
) -> Histogram:
    """The histogram that torch counts; tensors are packed first."""
    packed = [torch_kernel.pack(codes) if isinstance(codes, Tensor) else codes for codes in (query, database)]
    counter = TorchCounter(packed[0], device)
    counter.add(packed[1], relevance)
    return counter.histogram()


used: list[str] = []  # the devices that counters were told


def stand_in_for_cuda(patch: pytest.MonkeyPatch) -> list[str]:
    """Makes "cuda" and "cuda:0" count with torch on the CPU; gives the list of devices that were then counted on."""
    used.clear()
    patch.setattr(torch_kernel, "TorchCounter", OnCpu)
    patch.setattr(device, "require_cuda", lambda name: "cuda:0")
    return used
