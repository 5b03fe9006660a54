"""DPSH and DTSH with their memory of training outputs, against the released updates written out by hand."""

from collections.abc import Callable

import pytest
import torch
from support.one_line import one_line
from torch import Tensor
from torch.nn.functional import softplus

from hashbench.learning.losses import LabelSupervision, RowObjective, dpsh, dtsh

BITS = 6


def outputs(n: int, seed: int = 0) -> Tensor:
    return torch.randn(n, BITS, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def quantisation(u: Tensor) -> Tensor:
    """The sum over examples and bits of (sign(u) - u)^2; a sign has no gradient."""
    return (torch.where(u > 0, 1.0, -1.0) - u).square().sum()


def same_value_and_gradient(
    objective: RowObjective, rows: Tensor, seed: int, expected: Callable[[Tensor], Tensor]
) -> None:
    """The objective of three outputs is ``expected`` of them, where the memory is a constant that holds them too."""
    u = outputs(3, seed=1).requires_grad_()
    twin = u.detach().clone().requires_grad_()
    value = objective(u, rows, draws(seed))
    wanted = expected(twin)
    assert value.item() == pytest.approx(wanted.item(), rel=1e-12)
    value.backward()
    wanted.backward()
    torch.testing.assert_close(u.grad, twin.grad, rtol=1e-10, atol=1e-14)


def draws(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("multi_hot", [False, True])
def test_dpsh_is_the_loop_over_the_batch_and_all_training_outputs(multi_hot: bool) -> None:
    n = 9
    rows = torch.tensor([4, 0, 7])
    labels = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 1])
    if multi_hot:
        labels = torch.nn.functional.one_hot(labels, 4) + torch.tensor([0, 0, 0, 1]) * (labels == 2)[:, None]
    objective = dpsh.MemoryObjective(LabelSupervision(labels), BITS, eta=0.3).double()
    bank = outputs(n)
    objective.outputs.copy_(bank)
    bank[rows] = outputs(3, seed=1)  # the batch is put into the memory before it is compared with it
    hot = labels if multi_hot else torch.nn.functional.one_hot(labels)
    similar = (hot[rows] @ hot.T > 0).double()

    def expected(u: Tensor) -> Tensor:
        theta = u @ bank.T / 2
        return (softplus(theta) - similar * theta).sum() / (3 * n) + 0.3 * quantisation(u) / 3

    same_value_and_gradient(objective, rows, 0, expected)
    torch.testing.assert_close(objective.outputs, bank)


def triplet_memory(n_classes: int = 3, per_class: int = 70, batch_size: int = 4) -> dtsh.MemoryObjective:
    labels = torch.arange(n_classes).repeat_interleave(per_class) * 10  # classes need not be 0, 1, 2
    objective = dtsh.MemoryObjective(
        LabelSupervision(labels), BITS, margin=2.0, eta=0.05, batch_size=batch_size
    ).double()
    objective.outputs.copy_(outputs(len(labels)))
    return objective


def test_dtsh_is_the_released_update() -> None:
    """The step of train_triplet.m and update.m is 2 T / n of this gradient; T are the triplets of a query."""
    objective = triplet_memory()
    rows = torch.tensor([3, 100, 209])  # a last batch, smaller than batch_size
    positive, negative, possible = objective.draw_by_class(rows, draws(5))
    assert possible.all()
    bank = objective.outputs.clone()
    bank[rows] = outputs(3, seed=1)

    def expected(u: Tensor) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for q in range(3):
            for j in range(2):
                excess = (bank[positive[q, j]] @ u[q])[:, None] - bank[negative[q, j]] @ u[q]
                total = total + softplus(2.0 - excess / 2).sum()
        return (total / (50 * 50 * 2) + 0.05 * quantisation(u)) / 4

    same_value_and_gradient(objective, rows, 5, expected)


def test_dtsh_draws_from_the_right_classes_and_outside_the_batch() -> None:
    objective = triplet_memory()
    rows = torch.arange(0, 210, 9)
    positive, negative, _ = objective.draw_by_class(rows, draws())
    labels = objective.class_of * 10
    same_class = labels[rows][:, None, None]
    assert (labels[positive] == same_class).all()
    other = labels[negative]
    assert (other == other[:, :, :1]).all()
    for query, drawn in zip(same_class.flatten().tolist(), other[:, :, 0].tolist(), strict=True):
        assert sorted(drawn) == sorted({0, 10, 20} - {query})
    for drawn in (positive, negative):
        assert not torch.isin(drawn, rows).any()
        assert all(len(set(one)) == dtsh.DRAWN for one in drawn.flatten(0, 1).tolist())  # without replacement


def test_a_class_that_is_whole_in_the_batch_gives_no_triplets() -> None:
    labels = torch.tensor([0, 0, 1, 1, 1, 1])
    objective = dtsh.MemoryObjective(LabelSupervision(labels), BITS, margin=2.0, eta=0.0, batch_size=3).double()
    objective.outputs.copy_(outputs(6))
    u = outputs(3, seed=1).requires_grad_()
    value = objective(u, torch.tensor([0, 1, 2]), draws())  # none of class 0 is left
    value.backward()
    assert value.item() == 0
    assert u.grad is not None
    assert u.grad.count_nonzero() == 0


def test_a_batch_of_all_training_examples_is_refused() -> None:
    supervision = LabelSupervision(torch.tensor([0, 0, 1, 1]))
    with one_line("batch_size 4 must be less than the 4"):
        dtsh.MemoryObjective(supervision, BITS, margin=1.0, eta=0.0, batch_size=4)


def several_labels(n: int = 1400, n_labels: int = 3, seed: int = 0, batch_size: int = 4) -> dtsh.MemoryObjective:
    """Random labels, of which an item has any number, also none."""
    labels = (torch.rand(n, n_labels, generator=torch.Generator().manual_seed(seed)) < 0.3).to(torch.uint8)
    objective = dtsh.MemoryObjective(LabelSupervision(labels), BITS, margin=2.0, eta=0.05, batch_size=batch_size)
    assert not objective.n_classes
    objective.outputs.copy_(outputs(n))
    return objective.double()


def drawn(objective: dtsh.MemoryObjective, rows: Tensor, seed: int = 0) -> list[tuple[list[int], list[int]]]:
    """The positives and the negatives of each query."""
    return [
        (positive.tolist(), negative.tolist()) if possible else ([], [])
        for _, *block in objective.draw_by_level(rows, draws(seed))
        for positive, negative, possible in zip(*block, strict=True)
    ]


@pytest.mark.parametrize("pairs", [1 << 21, 3000])
def test_with_several_labels_a_positive_shares_one_and_a_negative_none(
    pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dtsh, "PAIRS", pairs)  # the queries in one block, or in many
    objective = several_labels()
    rows = torch.arange(0, 1400, 70)
    labels = objective.supervision.labels.long()
    actual = drawn(objective, rows)
    assert len(actual) == len(rows)
    for row, (positive, negative) in zip(rows.tolist(), actual, strict=True):
        shared = labels @ labels[row]
        shared[rows] = -1  # not drawn: they are in the batch
        assert (shared[positive] > 0).all()
        assert (shared[negative] == 0).all()
        assert len(set(positive)) == min(50, int((shared > 0).sum()))
        assert len(set(negative)) == min(450, int((shared == 0).sum()) if positive else 0)
    # an item without labels has no positives, and so no triplets
    assert {(len(positive), len(negative)) for positive, negative in actual} == {(0, 0), (50, 450)}


def test_with_several_labels_dtsh_is_the_loop_over_the_triplets_drawn() -> None:
    objective = several_labels(n=60)  # few: positives and negatives are repeated
    rows = torch.arange(9, 12)
    objective.supervision.labels[9] = 0  # without labels: the quantisation only
    triplets = drawn(objective, rows, 5)
    assert not triplets[0][0] and triplets[1][0] + triplets[2][0]
    bank = objective.outputs.clone()
    bank[rows] = outputs(3, seed=1)

    def expected(u: Tensor) -> Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for q, (positive, negative) in enumerate(triplets):
            for p in positive:
                total = total + softplus(2.0 - (bank[p] - bank[negative]) @ u[q] / 2).sum()
        return (total / 22_500 + 0.05 * quantisation(u)) / 4

    same_value_and_gradient(objective, rows, 5, expected)
