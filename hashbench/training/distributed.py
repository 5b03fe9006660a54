"""A batch that several processes encode, each its share.

The codes of a batch are gathered, and every process computes the objective on all of them. So each process already has
the complete gradient with respect to its own share, and the backward pass of the gathering just selects it. (PyTorch's
``torch.distributed.nn`` would sum the equal gradients of all N processes, which is N times too much.) The gradients of
the weights, summed over the processes, are those of a single process.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError, retold
from hashbench.foundation.parallel import ProcessGroup

TIMEOUT = timedelta(minutes=10)  # the others wait while process 0 works alone, never for so long

T = TypeVar("T")


def device_for(group: ProcessGroup, name: str) -> str:
    """The device of this process; if there are several processes, each uses the GPU of its local rank."""
    if group.is_alone or name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return name
    if name not in ("auto", "cuda"):
        raise HashbenchError(f"device {name}: {group.size} processes take a GPU each: auto, cuda or cpu")
    if group.local_rank >= torch.cuda.device_count():
        here = torch.cuda.device_count()
        raise HashbenchError(f"process {group.local_rank} of this machine has no GPU: --nproc-per-node {here}, or cpu")
    return f"cuda:{group.local_rank}"


@contextmanager
def connected(group: ProcessGroup, device: str) -> Iterator[None]:
    """Connects the processes during the block: NCCL for tensors on GPUs, gloo for tensors on the CPU."""
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.set_device(device)
    with _errors_in_one_line():
        backend = "cpu:gloo,cuda:nccl" if on_gpu else "gloo"
        dist.init_process_group(backend, rank=group.rank, world_size=group.size, timeout=TIMEOUT)
    yield
    dist.destroy_process_group()  # not after an error: it would wait for the other processes, which may be gone


def _errors_in_one_line() -> AbstractContextManager[None]:
    again = "the same command continues from the last checkpoint"
    return retold(lambda cause: f"another of the processes is gone, or hangs ({cause[:120]}): {again}", RuntimeError)


def gather(own: Tensor, n: int, group: ProcessGroup, step: int = 1) -> Tensor:
    """All ``n`` rows, gathered from all processes; ``own`` are the rows ``group.share(n, step)``; without gradient."""
    sizes = [part.stop - part.start for part in group.shares(n, step)]
    padded = own.new_zeros(max(sizes), *own.shape[1:])  # some backends gather only tensors of one size
    padded[: len(own)] = own
    every = [torch.empty_like(padded) for _ in sizes]
    with _errors_in_one_line():
        dist.all_gather(every, padded)
    return torch.cat([rows[:size] for rows, size in zip(every, sizes, strict=True)])


class _GatherWithGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, own: Tensor, n: int, group: ProcessGroup) -> Tensor:
        ctx.share = group.share(n)
        return gather(own, n, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        return gradients[0][ctx.share], None, None


def gather_with_gradient(own: Tensor, n: int, group: ProcessGroup) -> Tensor:
    """As ``gather``, with a gradient: that of ``own``, if all processes compute the same loss from all rows."""
    if group.is_alone:
        return own
    rows: Tensor = _GatherWithGradient.apply(own, n, group)
    return rows


def sum_gradients(parameters: Iterable[nn.Parameter], group: ProcessGroup) -> None:
    """Replaces the gradients of ``parameters`` by their sums over the processes, the same bits in all of them."""
    if group.is_alone:
        return
    gradients = []
    for values in parameters:
        if values.requires_grad:
            values.grad = torch.zeros_like(values) if values.grad is None else values.grad
            gradients.append(values.grad)
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    with _errors_in_one_line():
        dist.all_reduce(flat)
    for gradient, total in zip(gradients, torch.split(flat, [each.numel() for each in gradients]), strict=True):
        gradient.copy_(total.view(gradient.shape))


def broadcast_from_first(value: T, group: ProcessGroup) -> T:
    """The ``value`` of the first process: tensors, numbers, strings, and tuples, lists, dictionaries of these."""
    if group.is_alone:
        return value
    buffer = io.BytesIO()
    if group.is_first:
        torch.save(value, buffer)
    size = torch.tensor([buffer.tell()])
    with _errors_in_one_line():
        dist.broadcast(size, 0)
        content = torch.empty(int(size), dtype=torch.uint8)
        content = torch.frombuffer(buffer.getbuffer(), dtype=torch.uint8) if group.is_first else content
        dist.broadcast(content, 0)
    if group.is_first:
        return value
    received: T = torch.load(io.BytesIO(content.numpy().tobytes()), map_location="cpu", weights_only=True)
    return received


def maximum(value: int, group: ProcessGroup) -> int:
    """The maximum of ``value`` over the processes."""
    if group.is_alone:
        return value
    found = torch.tensor([value])
    with _errors_in_one_line():
        dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


def with_synchronised_batch_norm(encoder: nn.Sequential, group: ProcessGroup, device: torch.device) -> nn.Sequential:
    """The encoder with batch normalisation over the batch of all processes; HashbenchError on a CPU, which has none."""
    normalised = sum(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in encoder.modules())
    if group.is_alone or not normalised:
        return encoder
    if device.type != "cuda":
        shared = f"which {group.size} processes share on GPUs only"
        advice = "one process, or a model without batch normalisation, and hash_norm = 'none'"
        raise HashbenchError(f"this model normalises by batch ({normalised} layers), {shared}: {advice}")
    converted: nn.Sequential = nn.SyncBatchNorm.convert_sync_batchnorm(encoder)  # type: ignore[no-untyped-call]
    return converted
