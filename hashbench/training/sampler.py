"""Which examples form a minibatch."""

import torch
from torch import Tensor

from hashbench.seeding import derive


def epoch_batches(n: int, batch_size: int, seed: int, epoch: int) -> list[Tensor]:
    """The minibatches of an epoch: indices into the n training examples, each used once.

    The order depends on the names of the run and the epoch only, so a resumed run draws the same batches.
    The last batch may be smaller and is used, as in TALR's released code, unless one example is left over:
    a list of one has nothing to rank.
    """
    generator = torch.Generator().manual_seed(derive(seed, "batches", epoch))
    order = torch.randperm(n, generator=generator)
    return [batch for batch in torch.split(order, batch_size) if len(batch) > 1]
