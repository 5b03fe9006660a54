"""Samplers: they choose the training examples of each minibatch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hashbench.foundation.config import derive_seed
from hashbench.foundation.errors import HashbenchError
from hashbench.learning.training.settings import TrainingSettings

Sampler = Callable[[int], list[Tensor]]  # epoch -> its minibatches, indices into the training examples


def sampler(settings: TrainingSettings, labels: Tensor, seed: int) -> Sampler:
    """The sampler; its batches depend on labels [n] or [n, labels], seed and epoch only, also in a resumed run."""
    steps = settings.steps_per_epoch
    if settings.classes_per_batch:
        return ClassRounds.of(labels, settings.classes_per_batch, settings.batch_size, steps, seed).epoch
    return partial(epoch_batches, len(labels), settings.batch_size, seed, steps=steps)


def epoch_batches(n: int, batch_size: int, seed: int, epoch: int, steps: int = 0) -> list[Tensor]:
    """The minibatches of one pass over ``n`` examples in random order; with ``steps`` > 0, so many of several."""
    if n < 2:
        raise HashbenchError(f"{n} training examples: a batch takes two or more")
    generator = torch.Generator().manual_seed(derive_seed(seed, "batches", epoch))
    batches: list[Tensor] = []
    while not batches or len(batches) < steps:
        # the last batch may be smaller, as in TALR's released code; a single example has no pairs
        order = torch.randperm(n, generator=generator)
        batches += [batch for batch in torch.split(order, batch_size) if len(batch) > 1]
    return batches[: steps or None]


@dataclass(frozen=True)
class ClassRounds:
    """Batches that hold ``rounds`` examples of each of ``classes`` classes.

    Each batch is drawn independently: different classes in random order, and different examples of each class in
    random order, all choices equally likely. The first round of a batch is one example of each class; the next round is
    another example of each class, in the same order of classes; and so on.
    """

    members: Tensor  # [n], the examples that have a class, sorted by class
    starts: Tensor  # of class c: its examples are members[starts[c] : starts[c] + sizes[c]]
    sizes: Tensor
    classes: int  # in a batch
    rounds: int
    steps: int
    seed: int

    @staticmethod
    def of(labels: Tensor, classes: int, batch_size: int, steps: int, seed: int) -> "ClassRounds":
        """The sampler of examples with class ids ``labels`` [n]; a negative id means that the example has no class."""
        rounds = batch_size // classes
        there = "of several labels"
        if labels.ndim == 1:
            ids, sizes = torch.unique(labels[labels >= 0], return_counts=True)
            smallest = min(sizes.tolist(), default=0)
            there = f"of {len(ids)} classes, {smallest} or more of each"
        if labels.ndim > 1 or len(ids) < classes or smallest < rounds:
            needed = f"{classes} classes or more, one an example, and {rounds} examples or more of each"
            raise HashbenchError(f"classes_per_batch = {classes}: training examples are {there}: {needed} are needed")
        members = labels.argsort(stable=True)[int((labels < 0).sum()) :]
        return ClassRounds(members, sizes.cumsum(0) - sizes, sizes, classes, rounds, steps, seed)

    def epoch(self, epoch: int) -> list[Tensor]:
        """The batches of an epoch, each [rounds * classes]."""
        generator = torch.Generator().manual_seed(derive_seed(self.seed, "batches", epoch))
        chosen = _uniform((self.steps, len(self.sizes)), generator).topk(self.classes).indices
        group = different(self.sizes[chosen], self.rounds, generator)
        rows = self.members[self.starts[chosen][..., None] + group]  # [steps, classes, rounds]
        return list(rows.transpose(1, 2).flatten(1))


def different(sizes: Tensor, n: int, generator: torch.Generator) -> Tensor:
    """``n`` different random numbers in [0, size) for each of ``sizes`` [...], int64[..., n], all equally likely.

    Floyd's algorithm, for all sizes at once: for j = size - n .. size - 1, draw t from 0 .. j; take t if it is new,
    else take j. It needs ``n`` draws, however large the size. A final shuffle makes all orders equally likely.
    """
    chosen = torch.empty(*sizes.shape, n, dtype=torch.int64)
    for i in range(n):
        newest = sizes - n + i
        drawn = (_uniform(sizes.shape, generator) * (newest + 1)).long()
        is_there = (chosen[..., :i] == drawn[..., None]).any(-1)
        chosen[..., i] = torch.where(is_there, newest, drawn)
    return chosen.gather(-1, _uniform(chosen.shape, generator).argsort(-1))  # large ones are likelier among the last


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    # float64: two equal numbers are so unlikely that sorting gives the same order everywhere
    return torch.rand(shape, generator=generator, dtype=torch.float64)
