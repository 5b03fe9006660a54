"""The gradient of an objective of a whole batch, with the activations of only a part of the batch in memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import ALONE, ProcessGroup
from hashbench.training.distributed import gather_with_gradient


def backward(
    encode: Callable[[slice], Tensor],
    loss_of: Callable[[Tensor], Tensor],
    n_examples: int,
    chunk: int,
    group: ProcessGroup = ALONE,
) -> Tensor:
    """The loss ``loss_of(encode(all examples))``, detached; its gradient is added to the parameters of ``encode``.

    If there are several processes, each encodes its share, and the gradient is the sum over the processes.

    With 0 < ``chunk`` < the size of the share, the share is encoded ``chunk`` examples at a time, and twice: first
    without a graph, to get the gradient of the loss with respect to the relaxed codes; then again with the same random
    numbers, to propagate this gradient to the parameters. The result is the gradient of the plain pass up to rounding
    (and up to other dropout masks, if the network has dropout).
    """
    own = group.share(n_examples)
    if 0 < chunk < own.stop - own.start:
        parts = [slice(start, min(start + chunk, own.stop)) for start in range(own.start, own.stop, chunk)]
        return _backward_in_chunks(encode, loss_of, n_examples, parts, group)
    loss = loss_of(gather_with_gradient(encode(own), n_examples, group))
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()


def _backward_in_chunks(
    encode: Callable[[slice], Tensor],
    loss_of: Callable[[Tensor], Tensor],
    n_examples: int,
    parts: list[slice],
    group: ProcessGroup,
) -> Tensor:
    """``backward`` for a share that is encoded in ``parts``."""
    states, relaxed = [], []
    with torch.no_grad():
        for part in parts:
            states.append(_random_states())
            relaxed.append(encode(part))
    leaf = gather_with_gradient(torch.cat(relaxed), n_examples, group).requires_grad_()
    loss = loss_of(leaf)
    loss.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    for part, state in zip(parts, states, strict=True):
        with _replayed(state):
            encode(part).backward(leaf.grad[part])  # type: ignore[no-untyped-call]
    return loss.detach()


def check_chunk(encoder: nn.Module, chunk: int) -> None:
    """Raises HashbenchError if chunks would change the result: batch normalisation needs the whole batch."""
    normalised = [name for name, layer in encoder.named_modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    if chunk and normalised:
        raise HashbenchError(
            f"chunk = {chunk}: this model normalises by batch ({len(normalised)} layers), and a chunk is not the "
            "batch: chunk = 0, or a model without batch normalisation"
        )


def _random_states() -> list[Tensor]:
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_available() else ())]


@contextmanager
def _replayed(states: list[Tensor]) -> Iterator[None]:
    """During the block the random generators continue from ``states``; afterwards they have their old state again."""
    now = _random_states()
    try:
        _set_random_states(states)
        yield
    finally:
        _set_random_states(now)


def _set_random_states(states: list[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if len(states) > 1:
        torch.cuda.set_rng_state_all(states[1:])
