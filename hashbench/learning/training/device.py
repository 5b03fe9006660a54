"""The device that trains, and how many threads of the CPU PyTorch uses there."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import nn

from hashbench.foundation.errors import retold

SMALL = 1 << 24  # multiply-adds of a forward step: less than a millisecond of one core (benchmarks/threads.py)


def pick_device(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is the GPU if there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    here = f"device {name!r} is not here"
    # the first sentence is the cause
    with retold(
        lambda cause: f"{here}: {cause.partition('. ')[0]}: auto, cpu or cuda[:N]", RuntimeError, AssertionError
    ):
        device = torch.device(name)
        torch.empty(0, device=device)
    return device


def require_device(name: str) -> None:
    """Raises HashbenchError where the device called ``name`` is not here; a GPU that is here is not used yet."""
    if name.startswith("cuda") and (torch.device(name).index or 0) >= torch.cuda.device_count():
        pick_device(name)


def fits_beside_training(n_bytes: int, device: torch.device) -> bool:
    """Whether ``n_bytes`` take at most half of the memory that a GPU has left; always on a CPU."""
    return device.type != "cuda" or n_bytes <= torch.cuda.mem_get_info(device)[0] / 2


def fastest_algorithms(device: torch.device) -> AbstractContextManager[None]:
    """During the block a GPU tries the algorithms of a convolution at its first batch, and takes the fastest."""
    if device.type != "cuda":
        return nullcontext()
    return torch.backends.cudnn.flags(enabled=True, benchmark=True)


def is_out_of_memory(error: RuntimeError) -> bool:
    """Whether the memory of a GPU, or what the system gives, was too small."""
    return isinstance(error, torch.OutOfMemoryError) or "allocate memory" in str(error)


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch uses one thread for each operation during the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(encoder: nn.Module, batch_size: int) -> AbstractContextManager[None]:
    """``one_thread`` if a step of ``encoder`` is small: with --device cpu:N its threads would mostly wait."""
    weights = [weight for weight in encoder.parameters() if weight.ndim > 1]
    has_convolution = any(weight.ndim > 2 for weight in weights)
    # small: without a convolution, and with weights that, times the batch, are at most SMALL
    is_small = not has_convolution and batch_size * sum(weight.numel() for weight in weights) <= SMALL
    return one_thread() if is_small else nullcontext()
