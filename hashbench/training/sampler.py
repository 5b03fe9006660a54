"""Which examples form a minibatch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from hashbench.config import derive_seed
from hashbench.errors import HashbenchError
from hashbench.training.settings import TrainingSettings

Sampler = Callable[[int], list[Tensor]]  # epoch -> its minibatches, indices into the training examples


def sampler(settings: TrainingSettings, labels: Tensor, seed: int) -> Sampler:
    """What draws the batches of an epoch, from ``labels`` [n] (or [n, labels]), the seed and the epoch alone.

    So a resumed run draws the same batches. Raises HashbenchError where the classes do not fill a batch.
    """
    steps = settings.steps_per_epoch
    if settings.classes_per_batch:
        return ClassRounds.of(labels, settings.classes_per_batch, settings.batch_size, steps, seed).epoch
    return partial(epoch_batches, len(labels), settings.batch_size, seed, steps=steps)


def epoch_batches(n: int, batch_size: int, seed: int, epoch: int, steps: int = 0) -> list[Tensor]:
    """The minibatches of a pass over the n training examples, each used once; or the first ``steps`` of more passes.

    The last batch of a pass may be smaller and is used, as in TALR's released code, unless one example is left over:
    a list of one has nothing to rank.
    """
    if n < 2:
        raise HashbenchError(f"{n} training examples: a batch takes two or more")
    generator = torch.Generator().manual_seed(derive_seed(seed, "batches", epoch))
    batches: list[Tensor] = []
    while not batches or len(batches) < steps:
        order = torch.randperm(n, generator=generator)
        batches += [batch for batch in torch.split(order, batch_size) if len(batch) > 1]
    return batches[: steps or None]


@dataclass(frozen=True)
class ClassRounds:
    """Batches of as many examples of each of some classes, in rounds.

    Every batch is drawn by itself: so many different classes in any order, and of each so many different examples in
    any order, all choices being equally likely. It holds first one example of each class, then in the same order of
    classes another of each, and so on.

    ``members`` [n] are the examples that have a class, class after class; a class has ``sizes`` [C] of them, from
    ``starts`` [C] on.
    """

    members: Tensor
    starts: Tensor
    sizes: Tensor
    classes: int  # in a batch
    rounds: int
    steps: int
    seed: int

    @staticmethod
    def of(labels: Tensor, classes: int, batch_size: int, steps: int, seed: int) -> "ClassRounds":
        """Those of examples with class ids ``labels`` [n], a negative id being no class."""
        if labels.ndim != 1:
            raise HashbenchError(f"classes_per_batch = {classes}: items of several labels have no class, it must be 0")
        ids, sizes = torch.unique(labels[labels >= 0], return_counts=True)
        rounds = batch_size // classes
        if len(ids) < classes:
            raise HashbenchError(f"classes_per_batch = {classes}: the training examples are of {len(ids)} classes")
        if int(sizes.min()) < rounds:
            smallest, size = int(ids[sizes.argmin()]), int(sizes.min())
            raise HashbenchError(f"class {smallest} has {size} training examples: a batch takes {rounds} of a class")
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
    """``n`` different numbers below each of ``sizes`` [...], in any order, int64[..., n]; all choices equally likely.

    Floyd's way, for all sizes at once: the i-th number is drawn from one more than the one before was, and where it
    is there already the new one is taken. That is ``n`` draws, whatever the size.
    """
    found = torch.empty(*sizes.shape, n, dtype=torch.int64)
    for i in range(n):
        newest = sizes - n + i
        drawn = (_uniform(sizes.shape, generator) * (newest + 1)).long()
        is_there = (found[..., :i] == drawn[..., None]).any(-1)
        found[..., i] = torch.where(is_there, newest, drawn)
    return found.gather(-1, _uniform(found.shape, generator).argsort(-1))  # large ones are likelier among the last


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Uniform in [0, 1), so fine that no two in a row are equal and their order the same on every machine."""
    return torch.rand(shape, generator=generator, dtype=torch.float64)
