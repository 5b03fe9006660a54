"""The objectives of the two stages against algorithm 1 of Jeong and Song (2018), with every assignment tried."""

from itertools import combinations, product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.watched_tensors import watch
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError
from hashbench.losses import gated, metric_learning
from hashbench.sparse.codes import top_k
from hashbench.sparse.objectives import HashObjective, MetricObjective

pytest.importorskip("ortools", reason="the flow needs the extra train")

CLASSES, PER_CLASS, D = 3, 6, 4
LABELS = torch.arange(CLASSES).repeat_interleave(PER_CLASS) * 7  # class ids need not be 0, 1, 2
MARGIN, L2, LAM = 0.7, 0.05, 0.3


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
    ("base", "variant", "n_rounds"),
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


def test_a_high_price_gives_every_class_buckets_of_its_own() -> None:
    outputs = activations(2 * CLASSES, d=6)
    buckets = hashing("npairs", lam=1e3).buckets(outputs, CLASSES)
    assert len(set(buckets.flatten().tolist())) == 6
    free = hashing("npairs", lam=0.0).buckets(outputs, CLASSES)
    means = (outputs[:CLASSES] + outputs[CLASSES:]).numpy() / 2
    assert free.tolist() == top_k(means, 2).buckets.tolist()


@given(st.integers(0, 10**6), st.integers(2, 4))
def test_renaming_the_buckets_changes_nothing(seed: int, n_rounds: int) -> None:
    rows = in_rounds(n_rounds, seed)
    outputs, order = activations(len(rows), seed=seed), torch.randperm(D, generator=draws())
    objective = hashing("triplet")
    torch.testing.assert_close(objective(outputs[:, order], rows, draws()), objective(outputs, rows, draws()))


def test_the_base_stage_is_the_metric_loss() -> None:
    rows = in_rounds(2)
    outputs = activations(len(rows))
    of_triplets = MetricObjective(LABELS, "triplet", margin=MARGIN, l2=L2)(outputs, rows, draws())
    assert torch.equal(of_triplets, metric_learning.triplet(outputs, LABELS[rows], margin=MARGIN))
    of_pairs = MetricObjective(LABELS, "npairs", margin=MARGIN, l2=L2)(outputs, rows, draws())
    assert torch.equal(of_pairs, metric_learning.npairs(outputs, l2=L2))


@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_from_the_second_batch_on_the_base_stage_makes_no_gpu_wait(base: str) -> None:
    objective, rows = MetricObjective(LABELS, base, margin=MARGIN, l2=L2), in_rounds(2)  # type: ignore[arg-type]
    outputs = activations(len(rows)).requires_grad_()
    waits = {"_local_scalar_dense", "nonzero", "unique_dim", "_unique2", "masked_select"}
    objective(outputs, rows, draws())
    objective.classes_in = lambda _: pytest.fail("looked again")  # type: ignore[method-assign,return-value]
    assert not watch(lambda: objective(outputs, rows, draws())).operations & waits
    assert "_local_scalar_dense" in watch(lambda: outputs.sum() * outputs.sum().item()).operations


@pytest.mark.parametrize("objective", [MetricObjective(LABELS, "triplet", margin=1.0, l2=0.0), hashing("npairs")])
def test_the_labels_are_no_part_of_a_checkpoint(objective: nn.Module) -> None:
    assert not objective.state_dict()
    assert objective.to("meta").labels.device.type == "meta"


BATCHES = {
    "one class": ([0, 1, 2, 3], "classes in the batch: 1; a negative needs two or more"),
    "nobody": ([], "classes in the batch: 0"),
    "one example a class": ([0, 6, 12], "one example a class in the batch; a positive needs two or more"),
    "classes side by side": ([0, 1, 6, 7], "not in rounds"),
    "another order": ([0, 6, 12, 7, 1, 13], "not in rounds"),
    "an uneven end": ([0, 6, 1, 7, 2], "not in rounds"),
    "a class more": ([0, 6, 1, 12], "not in rounds"),
}


@pytest.mark.parametrize(("rows", "complaint"), BATCHES.values(), ids=BATCHES)
@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_a_batch_that_is_not_in_rounds_is_refused_in_one_line(rows: list[int], complaint: str, base: str) -> None:
    for objective in (MetricObjective(LABELS, base, margin=MARGIN, l2=L2), hashing(base)):  # type: ignore[arg-type]
        with pytest.raises(HashbenchError, match=complaint) as caught:
            objective(activations(len(rows)), torch.tensor(rows, dtype=torch.long), draws())
        assert str(caught.value).startswith(f"{base}: ")
        assert "\n" not in str(caught.value)


def test_pairs_are_of_two() -> None:
    for objective in (MetricObjective(LABELS, "npairs", margin=MARGIN, l2=L2), hashing("npairs")):
        with pytest.raises(HashbenchError, match="npairs: 4 examples a class in the batch; a pair has two"):
            objective(activations(4 * CLASSES), in_rounds(4), draws())


@pytest.mark.parametrize(
    ("k", "lam", "value", "complaint"),
    [
        (0, 1.0, 1.0, "k = 0: a class sets 1 to 4 of 4 buckets"),
        (5, 1.0, 1.0, "k = 5"),
        (2, -0.5, 1.0, "lambda: negative"),
        (2, float("nan"), 1.0, "lambda: negative or not finite"),
        (2, 1.0, float("nan"), "not finite"),
        (2, 1.0, float("inf"), "not finite"),
    ],
)
@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_what_the_flow_cannot_solve_is_refused_in_one_line(
    base: str, k: int, lam: float, value: float, complaint: str
) -> None:
    rows = in_rounds(2)
    outputs = activations(len(rows))
    outputs[1, 2] *= value
    with pytest.raises(HashbenchError, match=complaint) as caught:
        hashing(base, k, lam)(outputs, rows, draws())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_activations_that_are_not_finite_make_the_base_loss_so(base: str) -> None:
    rows = in_rounds(2)
    outputs = activations(len(rows))
    outputs[0] = torch.nan
    objective = MetricObjective(LABELS, base, margin=MARGIN, l2=L2)  # type: ignore[arg-type]
    assert objective(outputs, rows, draws()).isnan()


@pytest.mark.parametrize(
    ("labels", "base", "variant", "complaint"),
    [
        (torch.ones(6, 3, dtype=torch.long), "triplet", "paper", "triplet compares examples by class.*several labels"),
        (torch.tensor([0, 0, 1, -1]), "npairs", "paper", "npairs compares examples by class.*no class"),
        (torch.zeros(4), "triplet", "paper", "class"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_one_line(
    labels: Tensor, base: str, variant: str, complaint: str
) -> None:
    with pytest.raises(HashbenchError, match=complaint) as caught:
        HashObjective(labels, base, k=1, lam=0.0, variant=variant, margin=1.0, l2=0.0)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


# Eight classes of noisy points in the plane, on a circle.
N_TOY, NOISE = 8, 0.12
TOY_LABELS = torch.arange(N_TOY).repeat(20)


def toy_points() -> Tensor:
    angle = TOY_LABELS * (2 * torch.pi / N_TOY)
    noise = NOISE * torch.randn(len(TOY_LABELS), 2, generator=torch.Generator().manual_seed(3))
    return torch.stack([angle.cos(), angle.sin()], 1) + noise


def toy_batch(step: int, n_rounds: int) -> Tensor:
    generator = torch.Generator().manual_seed(step)
    rounds = torch.randperm(20, generator=generator)[:n_rounds]  # the toy's rows are in rounds already
    return (rounds[:, None] * N_TOY + torch.randperm(N_TOY, generator=generator)).flatten()


def descend(objective: nn.Module, d: int, n_rounds: int, steps: int = 150) -> Tensor:
    """The outputs of a small network after so many steps down the ``objective``."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, d))
    optimiser, points = torch.optim.Adam(network.parameters(), lr=0.01), toy_points()
    for step in range(steps):
        rows = toy_batch(step, n_rounds)
        optimiser.zero_grad()
        objective(network(points[rows]), rows, draws()).backward()
        optimiser.step()
    return network(points).detach()


def nearest_agree(outputs: Tensor) -> float:
    """The share of points whose nearest other point, after the embedding, is of their class."""
    distance = torch.cdist(outputs, outputs).fill_diagonal_(torch.inf)
    return (TOY_LABELS[distance.argmin(1)] == TOY_LABELS).float().mean().item()


@pytest.mark.parametrize(("base", "n_rounds"), [("triplet", 4), ("npairs", 2)])
def test_descending_the_base_objective_pulls_classes_apart(base: str, n_rounds: int) -> None:
    objective = MetricObjective(TOY_LABELS, base, margin=0.5, l2=0.003)  # type: ignore[arg-type]
    outputs = descend(objective, 8, n_rounds)
    outputs = outputs / outputs.norm(dim=1, keepdim=True)
    assert nearest_agree(outputs) > 0.95
    means = outputs.view(-1, N_TOY, 8).mean(0)
    within = (outputs.view(-1, N_TOY, 8) - means).norm(dim=2).mean()
    assert within < 0.25 * nn.functional.pdist(means).mean()


def purity(outputs: Tensor) -> tuple[float, float]:
    """Of the pairs of a bucket the share that is of one class; of the pairs of a class the share in one bucket."""
    bucket = outputs.argmax(1)
    together, akin = bucket[:, None] == bucket, TOY_LABELS[:, None] == TOY_LABELS
    both = (together & akin).sum().item()
    return both / together.sum().item(), both / akin.sum().item()


# Eq. 10 tells classes apart at a bit but not which of them should be high there; that is left to the flow.
@pytest.mark.parametrize(
    ("base", "variant", "n_rounds", "least"),
    [("triplet", "paper", 4, 0.9), ("npairs", "paper", 2, 0.55), ("npairs", "released", 2, 0.9)],
)
def test_descending_the_hash_objective_gives_classes_buckets(
    base: str, variant: str, n_rounds: int, least: float
) -> None:
    objective = HashObjective(TOY_LABELS, base, k=1, lam=5.0, variant=variant, margin=1.0, l2=0.003)  # type: ignore[arg-type]
    assert purity(descend(objective, 16, n_rounds, steps=0))[0] < 0.5
    of_bucket, of_class = purity(descend(objective, 16, n_rounds))
    assert of_bucket > least
    assert of_class > 0.75
