"""The gradient of an objective on a whole list, with the activations of a part of it in memory."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from hashbench.errors import HashbenchError
from hashbench.parallel import ALONE, ProcessGroup
from hashbench.training.distributed import gathered


def backward(
    encode: Callable[[slice], Tensor],
    loss_of: Callable[[Tensor], Tensor],
    n_examples: int,
    chunk: int,
    group: ProcessGroup = ALONE,
) -> Tensor:
    """The loss of ``loss_of(encode(all))``, detached; leaves its gradient in the parameters of ``encode``.

    Where there are several processes each encodes its share, and its gradient is a part of the sum over them.

    With 0 < ``chunk`` < the share it is encoded ``chunk`` examples at a time and twice: first without a
    graph, for the gradient of the loss with respect to the relaxed codes; then with the same random numbers, to
    send that gradient on into the parameters. The gradient is that of the plain pass up to rounding (up to other
    dropout masks, where the network has dropout).
    """
    own = group.share(n_examples)
    if not 0 < chunk < own.stop - own.start:
        loss = loss_of(gathered(encode(own), n_examples, group))
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()
    parts = [slice(start, min(start + chunk, own.stop)) for start in range(own.start, own.stop, chunk)]
    states, relaxed = [], []
    with torch.no_grad():
        for part in parts:
            states.append(_random_states())
            relaxed.append(encode(part))
    leaf = gathered(torch.cat(relaxed), n_examples, group).requires_grad_()
    loss = loss_of(leaf)
    loss.backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None
    for part, state in zip(parts, states, strict=True):
        with _replayed(state):
            encode(part).backward(leaf.grad[part])  # type: ignore[no-untyped-call]
    return loss.detach()


def check_chunk(encoder: nn.Module, chunk: int) -> None:
    """Raises HashbenchError where chunks would change the result: batch normalisation looks at a whole batch."""
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
    """Random numbers as from ``states`` on; afterwards as if none had been drawn."""
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
