"""The objectives of the two stages against algorithm 1 of Jeong and Song (2018), with every assignment tried."""

from itertools import combinations, product

import numpy as np
import pytest
import torch
from support.one_line import one_line
from torch import Tensor, nn

from hashbench.learning.losses import gated, metric_learning
from hashbench.learning.sparse.objectives import HashObjective, MetricObjective

pytest.importorskip("ortools", reason="the flow needs the extra train")

CLASSES = 3
PER_CLASS = 6
D = 4
LABELS = torch.arange(CLASSES).repeat_interleave(PER_CLASS) * 7  # class ids need not be 0, 1, 2
MARGIN = 0.7
L2 = 0.05
LAM = 0.3


def in_rounds(n_rounds: int, seed: int = 0) -> Tensor:
    """Rows of all classes, in an order of its own, so many rounds of them."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(CLASSES)
    examples = rng.permuted(np.tile(np.arange(PER_CLASS), (CLASSES, 1)), axis=1)[:, :n_rounds]
    return torch.from_numpy((classes * PER_CLASS + examples[classes].T).ravel())


def activations(n: int, d: int = D, seed: int = 0) -> Tensor:
    """Classes compete: all like the first buckets."""
    drawn = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return drawn + torch.linspace(1, 0, d, dtype=torch.float64)


def draws() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def hashing(base: str, k: int = 2, lam: float = LAM, variant: str = "paper") -> HashObjective:
    return HashObjective(LABELS, base, k=k, lam=lam, variant=variant, margin=MARGIN, l2=L2)  # type: ignore[arg-type]


def slow_buckets(outputs: Tensor, rows: Tensor, base: str, k: int) -> Tensor:
    """The codes of the rows: eq. 5 with P = lambda I as printed, the best of all assignments to the class means."""
    plain = [row / np.linalg.norm(row) if base == "triplet" else row for row in outputs.detach().numpy()]
    labels = LABELS[rows].tolist()
    classes = sorted(set(labels))
    means = [np.mean([f for f, label in zip(plain, labels, strict=True) if label == c], axis=0) for c in classes]

    def cost(codes: tuple[tuple[int, ...], ...]) -> float:
        shared = sum(len(set(p) & set(q)) for i, p in enumerate(codes) for j, q in enumerate(codes) if i != j)
        return LAM * shared - sum(mean[list(code)].sum() for mean, code in zip(means, codes, strict=True))

    best = min(product(combinations(range(outputs.shape[1]), k), repeat=len(classes)), key=cost)
    return torch.tensor([best[classes.index(label)] for label in labels])


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize(
    "base, variant, n_rounds",
    [
        ("triplet", "paper", 3),
        ("triplet", "released", 2),
        ("npairs", "paper", 2),
        ("npairs", "released", 2),
    ],
)
def test_the_hash_stage_is_algorithm_1(base: str, variant: str, n_rounds: int, k: int) -> None:
    for seed in range(4):
        rows = in_rounds(n_rounds, seed)
        leaf = activations(len(rows), seed=seed).requires_grad_()
        value = hashing(base, k, variant=variant)(leaf, rows, draws())
        value.backward()
        twin = leaf.detach().clone().requires_grad_()
        codes = slow_buckets(twin, rows, base, k)
        if base == "triplet":
            expected = gated.triplet(twin, LABELS[rows], codes, margin=MARGIN)
        else:
            loss = gated.npairs if variant == "paper" else gated.npairs_as_released
            expected = loss(twin, codes, l2=L2)
        expected.backward()  # with the codes as constants: nothing passes through the flow
        torch.testing.assert_close(value, expected)
        torch.testing.assert_close(leaf.grad, twin.grad)


def test_the_examples_of_a_class_share_the_code_of_their_class() -> None:
    rows = in_rounds(3)
    outputs = activations(len(rows))
    buckets = hashing("triplet").buckets(outputs, CLASSES)
    assert buckets.shape == (CLASSES, 2)
    assert (buckets[:, 1] > buckets[:, 0]).all()
    assert buckets.repeat(3, 1).tolist() == slow_buckets(outputs, rows, "triplet", 2).tolist()


def test_the_base_stage_is_the_metric_loss() -> None:
    rows = in_rounds(2)
    outputs = activations(len(rows))
    of_triplets = MetricObjective(LABELS, "triplet", margin=MARGIN, l2=L2)(outputs, rows, draws())
    assert torch.equal(of_triplets, metric_learning.triplet(outputs, LABELS[rows], margin=MARGIN))
    of_pairs = MetricObjective(LABELS, "npairs", margin=MARGIN, l2=L2)(outputs, rows, draws())
    assert torch.equal(of_pairs, metric_learning.npairs(outputs, l2=L2))


@pytest.mark.parametrize("objective", [MetricObjective(LABELS, "triplet", margin=1.0, l2=0.0), hashing("npairs")])
def test_the_labels_are_no_part_of_a_checkpoint(objective: nn.Module) -> None:
    assert not objective.state_dict()
    assert objective.to("meta").labels.device.type == "meta"


BATCHES = {
    "one class": [0, 1, 2, 3],
    "one example a class": [0, 6, 12],
    "classes side by side": [0, 1, 6, 7],
    "another order": [0, 6, 12, 7, 1, 13],
    "an uneven end": [0, 6, 1, 7, 2],
}


@pytest.mark.parametrize("rows", BATCHES.values(), ids=BATCHES)
def test_a_batch_that_is_not_in_rounds_is_refused(rows: list[int]) -> None:
    for objective in (MetricObjective(LABELS, "triplet", margin=MARGIN, l2=L2), hashing("npairs")):
        with one_line("rounds of two classes or more are expected"):
            objective(activations(len(rows)), torch.tensor(rows), draws())


def test_pairs_are_of_two() -> None:
    with one_line(r"npairs: a batch of 12 examples of 3 classes: .* two rounds of pairs"):
        hashing("npairs")(activations(4 * CLASSES), in_rounds(4), draws())


@pytest.mark.parametrize(
    "labels, complaint",
    [
        (torch.ones(6, 3, dtype=torch.long), "triplet compares examples by class.*several labels"),
        (torch.tensor([0, 0, 1, -1]), "triplet compares examples by class.*no class"),
    ],
)
def test_what_cannot_be_compared_is_refused(labels: Tensor, complaint: str) -> None:
    with one_line(complaint):
        MetricObjective(labels, "triplet", margin=1.0, l2=0.0)
