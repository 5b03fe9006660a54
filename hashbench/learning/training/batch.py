"""What the steps of an epoch take: the stored items of each batch, with all that is drawn for them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hashbench.foundation.config import derive_seed
from hashbench.learning.contract import TrainingData
from hashbench.learning.training.device import fits_beside_training
from hashbench.learning.training.inputs import Augmentation, draw_augmentation
from hashbench.learning.training.optimiser import tanh_scale
from hashbench.learning.training.sampler import different
from hashbench.learning.training.settings import TrainingSettings


@dataclass(frozen=True)
class Batch:
    """A batch of M examples on the device: V = n_views M items, those of one view after those of the view before."""

    epoch: int
    step: int  # from 0, over all epochs
    rows: Tensor  # int64[M], the examples
    items: Tensor  # [V, ...], as they are stored, or after ``feature_dropout``
    augmentation: Augmentation
    tanh_scale: float | Tensor  # alpha of tanh(alpha f(x))

    def tensors(self) -> list[Tensor]:
        """The tensors that differ from batch to batch."""
        parts = [self.rows, self.items, self.augmentation.flip, self.augmentation.offset, self.tanh_scale]
        return [values for values in parts if isinstance(values, Tensor)]

    def in_own_memory(self) -> "Batch":
        """A copy whose tensors, alpha among them, stay where they are, so that another batch can be copied there."""
        alpha = torch.tensor(float(self.tanh_scale), device=self.items.device)
        moves = self.augmentation.changed(Tensor.clone)
        rows = self.rows.clone()
        items = self.items.clone()
        return replace(self, rows=rows, items=items, augmentation=moves, tanh_scale=alpha)

    def take(self, other: "Batch") -> None:
        """Copies the tensors of ``other``, a batch of the same size, into this one, which is ``in_own_memory``."""
        assert isinstance(self.tanh_scale, Tensor)
        self.tanh_scale.fill_(other.tanh_scale)
        # zip ends before alpha, which is a number there
        for values, theirs in zip(self.tensors(), other.tensors(), strict=False):
            values.copy_(theirs)


class Batches:
    """Makes the batches of an epoch from the training items [n, ...], or from their copies [c, n, d].

    These lie on the device if they leave room there for the training, else in the memory of the computer.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        data: TrainingData,
        device: torch.device,
        n_views: int,
        spare: tuple[int, int] | None,
    ) -> None:
        self.settings = settings
        self.device = device
        self.seed = data.seed
        self.n_views = n_views
        self.spare = spare
        self.has_copies = data.copies is not None
        items = data.items
        if data.copies is not None:
            items = data.copies
        self.items = torch.from_numpy(items)
        if fits_beside_training(items.nbytes, device):
            self.items = self.items.to(device)

    def epoch(self, epoch: int, examples: Sequence[Tensor]) -> Iterator[Batch]:
        """The batches of the ``examples`` int64[M] of each step; what is drawn depends on seed and epoch only.

        The numbers are drawn on the CPU, so that they are the same for all devices, and moved at once: a copy at each
        step would let a GPU idle.
        """
        settings = self.settings
        generator = _generator(self.seed, "augment", epoch)
        moves = list[Augmentation]()
        copies = list[Tensor]()
        for rows in examples:
            n = len(rows)
            sharing = {"item": 1, "round": settings.classes_per_batch, "batch": n}[settings.augment_per]
            moves.append(draw_augmentation(n * self.n_views, settings.augment, generator, sharing, self.spare))
            if self.has_copies:
                copies.append(self._draw_copies(n, generator))
        rows_there = _at_once(examples, self.device)
        moves_there = _moves_at_once(moves, self.device)
        copies_there = _at_once(copies, self.device)
        of_dropout = _generator(self.seed, "feature_dropout", epoch)
        rows_of_items = rows_there
        if self.items.device.type != self.device.type:
            rows_of_items = examples
            copies_there = copies
        for at, rows in enumerate(rows_there):
            index = [rows_of_items[at].repeat(self.n_views)]
            if self.has_copies:
                index.insert(0, copies_there[at])
            items = self.items[tuple(index)].to(self.device)
            if settings.feature_dropout:
                items = items * self._kept(items.shape, of_dropout)
            step = epoch * len(examples) + at
            yield Batch(epoch, step, rows, items, moves_there[at], tanh_scale(settings, epoch, step))

    def _draw_copies(self, n: int, generator: torch.Generator) -> Tensor:
        """The copy of each of ``n`` examples that a step takes; for several views different ones, view after view."""
        n_copies = len(self.items)
        if self.n_views == 1:
            return torch.randint(n_copies, (n,), generator=generator)
        return different(torch.full((n,), n_copies), self.n_views, generator).T.flatten()

    def _kept(self, shape: torch.Size, generator: torch.Generator) -> Tensor:
        """The factors of the values of items: 0 for those that are dropped, else 1 / (1 - dropout)."""
        share = self.settings.feature_dropout
        return ((torch.rand(shape, generator=generator) >= share) / (1 - share)).to(self.device)


def _generator(seed: int, use: str, epoch: int) -> torch.Generator:
    """The random generator of one use in an epoch: a change of one use does not change the others."""
    return torch.Generator().manual_seed(derive_seed(seed, use, epoch))


def generator_of_objective(seed: int, epoch: int) -> torch.Generator:
    """The generator of what an objective draws in an epoch."""
    return _generator(seed, "examples", epoch)


def _at_once(parts: Sequence[Tensor], device: torch.device) -> Sequence[Tensor]:
    """The ``parts`` [..., n] on the device, moved in one copy."""
    if not parts:
        return ()
    return torch.split(torch.cat(list(parts), -1).to(device), [part.shape[-1] for part in parts], -1)


def _moves_at_once(moves: Sequence[Augmentation], device: torch.device) -> Sequence[Augmentation]:
    """The augmentations of all batches on the device."""
    flips = _at_once([batch.flip for batch in moves if batch.flip is not None], device)
    offsets = _at_once([batch.offset for batch in moves if batch.offset is not None], device)
    there = []
    for at, batch in enumerate(moves):
        flip = flips[at] if flips else None
        offset = offsets[at] if offsets else None
        there.append(replace(batch, flip=flip, offset=offset))
    return there
