"""Triplet likelihood with quantisation: DTSH's objective."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import slices
from hashbench.learning.losses._batch import inner_products, off_diagonal_mask, quantisation, relevant_mask
from hashbench.learning.losses._objective import LabelSupervision, OutputMemory, Supervision

BLOCK = 1 << 18  # triplets at a time: 2 MiB, about the size of a core's cache
DRAWN = 50  # for a query the authors draw so many positives, and so many negatives from each other class
NEGATIVES = 9 * DRAWN  # of a query without classes: as many as the authors draw on CIFAR-10, which has ten classes
PAIRS = 1 << 21  # levels at a time: 16 MiB


def loss(activations: Tensor, relevance: Tensor, *, margin: float, eta: float) -> Tensor:
    """The mean of log(1 + e^-(theta_qp - theta_qn - margin)) over triplets, plus eta times the quantisation.

    theta_ij = <u_i, u_j> / 2; the triplets are all (q, p, n) of the batch with p another example of a level above
    0 and n another one of level 0. The quantisation is the mean over examples of ||sign(u) - u||^2, summed over bits.
    A float64 scalar to minimise; for a batch without a triplet it is eta times the quantisation.

    The gradient is summed in the forward pass, a block of triplets at a time, so the loss can be differentiated once.
    ``activations`` float[M, bits] are before the sign; the diagonal of the levels ``relevance`` [M, M] never counts.
    The authors take a ``margin`` of bits / 2.
    """
    theta = inner_products(activations) / 2
    relevant = relevant_mask(relevance)
    irrelevant = off_diagonal_mask(relevance) & ~relevant
    # Rows have different numbers of positives; they are padded with infinities, which add softplus(-inf) = 0.
    positive = _members(theta, relevant, torch.inf)
    negative = _members(theta, irrelevant, -torch.inf)
    n_triplets = (relevant.sum(1) * irrelevant.sum(1)).sum()
    return sum_over_pairs(positive, negative, margin) / n_triplets.clamp(min=1) + eta * quantisation(activations)


class MemoryObjective(OutputMemory):
    """The objective of wang2016deep as its authors minimise it: positives and negatives come from outside the batch.

    By class, if each item has one: for each query of the batch and each other class, DRAWN positives and DRAWN
    negatives are drawn from the training examples outside the batch, and all their pairs are triplets. Else (several
    labels, or relevance by distance; the released code has classes only) DRAWN examples of a level above 0 and
    NEGATIVES of level 0 are drawn for each query. Each draw is uniform and without replacement; where there are fewer,
    all are drawn, and repeated up to that number; all draws of a step use one shuffle. A query without a positive or
    without a negative has no triplet.

    The likelihood is summed over the batch and divided by ``batch_size`` and by the triplets of a query, T = DRAWN^2
    (classes - 1) or DRAWN NEGATIVES; the quantisation is divided by ``batch_size`` too. So a smaller last batch has
    less weight, as in the released code. The released step, lr g, is lr 2 T / n times the gradient of this mean, if
    ``eta`` here is the released eta divided by T.
    """

    class_of: Tensor

    def __init__(self, supervision: Supervision, bits: int, *, margin: float, eta: float, batch_size: int) -> None:
        super().__init__(supervision, bits)
        self.margin = margin
        self.eta = eta
        self.batch_size = batch_size
        self.n_classes = 0  # triplets are drawn by level
        labels = None
        if isinstance(supervision, LabelSupervision):
            labels = supervision.labels
        if labels is not None and labels.ndim == 1 and int(labels.min()) >= 0:
            classes, class_of = torch.unique(labels, return_inverse=True)
            self.n_classes = len(classes)
            self.register_buffer("class_of", class_of, persistent=False)
        if supervision.n_examples <= batch_size:
            size = f"batch_size {batch_size} must be less than the {supervision.n_examples} training examples"
            raise HashbenchError(f"dtsh draws triplets from outside the minibatch: {size}, or pairing = 'batch'")

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The scalar to minimise, float64."""
        self.remember(rows, activations)
        if self.n_classes:
            total = self._by_class(activations, *self.draw_by_class(rows, generator))
            likelihood = total / (DRAWN**2 * (self.n_classes - 1))
        else:
            total = torch.zeros((), dtype=torch.float64, device=activations.device)
            for part, *drawn, possible in self.draw_by_level(rows, generator):
                wide = activations[part].double()[:, :, None]
                positive, negative = ((self.outputs[at].double() @ wide)[:, :, 0] / 2 for at in drawn)
                positive = positive.masked_fill(~possible[:, None], torch.inf)
                total = total + sum_over_pairs(positive, negative, self.margin)
            likelihood = total / (DRAWN * NEGATIVES)
        return (likelihood + self.eta * quantisation(activations) * len(rows)) / self.batch_size

    def _outside(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        """The training examples outside the batch, in random order."""
        order = torch.randperm(self.supervision.n_examples, generator=generator).to(rows.device)
        return order[torch.isin(order, rows, invert=True)]

    def draw_by_class(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """Rows of positives and negatives [M, classes - 1, DRAWN] by other class, and whether both exist."""
        order = self._outside(rows, generator)
        order = order[self.class_of[order].argsort(stable=True)]
        sizes = torch.bincount(self.class_of[order], minlength=self.n_classes)
        starts = sizes.cumsum(0) - sizes
        same = self.class_of[rows][:, None]
        other = torch.arange(self.n_classes - 1, device=rows.device).expand(len(rows), -1)
        other = other + (other >= same)
        same = same.expand_as(other)

        def window(class_of: Tensor) -> Tensor:
            n = sizes[class_of]
            begin = (torch.rand(n.shape, generator=generator, dtype=torch.float64).to(n.device) * n).long()
            place = (begin[:, :, None] + torch.arange(DRAWN, device=n.device)) % n.clamp(min=1)[:, :, None]
            return order[(starts[class_of][:, :, None] + place).clamp(max=len(order) - 1)]

        return window(same), window(other), (sizes[same] > 0) & (sizes[other] > 0)

    def _by_class(self, activations: Tensor, positive_at: Tensor, negative_at: Tensor, possible: Tensor) -> Tensor:
        theta = activations.double() @ self.outputs.double().T / 2
        positive = theta.gather(1, positive_at.flatten(1)).view_as(positive_at)
        negative = theta.gather(1, negative_at.flatten(1)).view_as(negative_at)
        positive = positive.masked_fill(~possible[:, :, None], torch.inf)
        return sum_over_pairs(positive.flatten(0, 1), negative.flatten(0, 1), self.margin)

    def draw_by_level(self, rows: Tensor, generator: torch.Generator) -> Iterator[tuple[slice, Tensor, Tensor, Tensor]]:
        """Blocks of queries: their ``rows``, positives [m, DRAWN], negatives [m, NEGATIVES], and where both exist."""
        order = self._outside(rows, generator)
        begin = torch.rand(2, len(rows), generator=generator, dtype=torch.float64).to(rows.device)
        for part in slices(len(rows), max(1, PAIRS // len(order))):
            relevant = self.supervision.levels(rows[part], order) > 0
            positive_at = order[_window(relevant, DRAWN, begin[0, part])]
            negative_at = order[_window(~relevant, NEGATIVES, begin[1, part])]
            yield part, positive_at, negative_at, relevant.any(1) & ~relevant.all(1)


def _window(member: Tensor, size: int, begin: Tensor) -> Tensor:
    """``size`` columns of each row of ``member`` bool[R, N] where it is True, from ``begin`` [R] in [0, 1] on."""
    rank = member.cumsum(1, dtype=torch.int32)  # of a member among those of its row, from 1
    n_members = rank[:, -1:]
    step = torch.arange(size, dtype=torch.int32, device=member.device)
    chosen = ((begin[:, None] * n_members).int() + step) % n_members.clamp(min=1) + 1
    return torch.searchsorted(rank, chosen).clamp(max=member.shape[1] - 1)


def sum_over_pairs(positive: Tensor, negative: Tensor, margin: float) -> Tensor:
    """The sum of log(1 + e^(margin + n - p)) over all p, n in a row of ``positive`` [R, P], ``negative`` [R, N]."""
    total: Tensor = _SumOverPairs.apply(positive, negative, margin)
    return total


class _SumOverPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, positive: Tensor, negative: Tensor, margin: float) -> Tensor:
        pull = torch.zeros_like(positive)
        push = torch.zeros_like(negative)
        total = positive.new_zeros(())
        for rows in slices(len(positive), max(1, BLOCK // max(1, positive.shape[1] * negative.shape[1]))):
            excess = margin + negative[rows, None, :] - positive[rows, :, None]
            total += softplus(excess).sum()
            weight = excess.sigmoid_()
            pull[rows] = -weight.sum(2)
            push[rows] = weight.sum(1)
        ctx.save_for_backward(pull, push)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        pull, push = ctx.saved_tensors
        return pull * gradients[0], push * gradients[0], None


def _members(theta: Tensor, member: Tensor, filling: float) -> Tensor:
    longest = int(member.sum(1).max()) if len(member) else 0
    columns = member.byte().argsort(dim=1, descending=True, stable=True)[:, :longest]
    return theta.gather(1, columns).masked_fill(~member.gather(1, columns), filling)
