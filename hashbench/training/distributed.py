"""Several processes that train one hasher: each encodes its share of a batch, all see the whole list.

The codes of a batch are gathered, and every process computes the objective on all of them. So the gradient that
reaches its own share is complete: the backward pass of the gathering just takes it (PyTorch's own, in
``torch.distributed.nn``, would fetch and sum the equal gradients of all processes, N times too much), and the
gradients of the weights add up over the processes to those of one.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hashbench.errors import HashbenchError, one_line
from hashbench.parallel import ProcessGroup

TIMEOUT = timedelta(minutes=10)  # longer than one process ever works alone while the others wait

T = TypeVar("T")


def device_for(group: ProcessGroup, name: str) -> str:
    """The device of this process: where there are several, each has the GPU of its local rank."""
    if group.is_alone or name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return name
    if name not in ("auto", "cuda"):
        raise HashbenchError(f"device {name}: {group.size} processes take a GPU each: auto, cuda or cpu")
    if group.local_rank >= torch.cuda.device_count():
        here = torch.cuda.device_count()
        raise HashbenchError(f"process {group.local_rank} of this machine has no GPU: --nproc-per-node {here}, or cpu")
    return f"cuda:{group.local_rank}"


@contextmanager
def joined(group: ProcessGroup, device: str) -> Iterator[None]:
    """Inside, the processes can talk: through NCCL what is on GPUs, through gloo what is not."""
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)
    with _in_step():
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
        dist.init_process_group(backend, rank=group.rank, world_size=group.size, timeout=TIMEOUT)
    yield
    dist.destroy_process_group()  # not after an error: others may never arrive


@contextmanager
def _in_step() -> Iterator[None]:
    """What goes wrong between processes, in one line."""
    try:
        yield
    except RuntimeError as error:
        raise HashbenchError(
            f"another of the processes is gone, or hangs ({one_line(error)[:120]}): the same command continues from "
            "the last checkpoint"
        ) from None


def gather(own: Tensor, n: int, group: ProcessGroup, step: int = 1) -> Tensor:
    """All ``n`` rows, of which ``own`` are those of ``group.share(n, step)``; without gradient."""
    sizes = [part.stop - part.start for part in group.shares(n, step)]
    padded = own.new_zeros(max(sizes), *own.shape[1:])  # not every backend gathers unequal parts
    padded[: len(own)] = own
    every = [torch.empty_like(padded) for _ in sizes]
    with _in_step():
        dist.all_gather(every, padded)
    return torch.cat([rows[:size] for rows, size in zip(every, sizes, strict=True)])


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, n: int, group: ProcessGroup) -> Tensor:
        ctx.share = group.share(n)
        return gather(own, n, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return gradients[0][ctx.share], None, None


def gathered(own: Tensor, n: int, group: ProcessGroup) -> Tensor:
    """As ``gather``; what all processes do alike with the rows sends the gradient of ``own`` back."""
    if group.is_alone:
        return own
    rows: Tensor = _Gathered.apply(own, n, group)
    return rows


def sum_gradients(parameters: Iterable[nn.Parameter], group: ProcessGroup) -> None:
    """Gives every process the sums of the processes' gradients, the same bits to all."""
    if group.is_alone:
        return
    trained = [values for values in parameters if values.requires_grad]
    for values in trained:
        if values.grad is None:
            values.grad = torch.zeros_like(values)
    gradients = [values.grad for values in trained if values.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    with _in_step():
        dist.all_reduce(flat)
    totals = torch.split(flat, [gradient.numel() for gradient in gradients])
    for gradient, total in zip(gradients, totals, strict=True):
        gradient.copy_(total.view(gradient.shape))


def from_first(value: T, group: ProcessGroup) -> T:
    """The ``value`` of the first process, in all: tensors, numbers, strings, and tuples, lists, dicts of them."""
    if group.is_alone:
        return value
    buffer = io.BytesIO()
    if group.is_first:
        torch.save(value, buffer)
    size = torch.tensor([buffer.tell()])
    with _in_step():
        dist.broadcast(size, 0)
        content = torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8) if group.is_first else _bytes(size)
        dist.broadcast(content, 0)
    if group.is_first:
        return value
    received: T = torch.load(io.BytesIO(content.numpy().tobytes()), map_location="cpu", weights_only=True)
    return received


def _bytes(size: Tensor) -> Tensor:
    return torch.empty(int(size), dtype=torch.uint8)


def largest(value: int, group: ProcessGroup) -> int:
    """The largest of the processes' values."""
    if group.is_alone:
        return value
    found = torch.tensor([value])
    with _in_step():
        dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


def synchronised(encoder: nn.Sequential, group: ProcessGroup, device: torch.device) -> nn.Sequential:
    """The encoder, whose batch normalisation looks at the batch of all processes.

    Raises HashbenchError on a CPU, where PyTorch has no synchronised batch normalisation.
    """
    normalised = [layer for layer in encoder.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    if group.is_alone or not normalised:
        return encoder
    if device.type != "cuda":
        raise HashbenchError(
            f"this model normalises by batch ({len(normalised)} layers), which {group.size} processes share on GPUs "
            "only: one process, or a model without batch normalisation"
        )
    converted: nn.Sequential = nn.SyncBatchNorm.convert_sync_batchnorm(encoder)  # type: ignore[no-untyped-call]
    return converted
