"""The objectives that learn from classes, against loops over the formulas; their centres, codes and refusals."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from support.one_line import one_line
from torch import Tensor

from hashbench.learning.losses import (
    CentreObjective,
    ClassSupervision,
    RowObjective,
    bihalf,
    ce,
    csq,
    dpn,
    fixed_centres,
    greedyhash,
    hbmp,
    jmlh,
    mds_centres,
    orthohash,
)
from hashbench.learning.losses._centres import Kind, centres, distances, eigen_signs
from hashbench.learning.losses._classes import HeadObjective
from hashbench.learning.losses._codes import bernoulli, bi_half
from hashbench.scoring.codes.hadamard import hadamard

Build = Callable[[ClassSupervision, int], RowObjective]


def bern(classes: ClassSupervision, bits: int) -> np.ndarray:
    return fixed_centres("bernoulli", classes, bits)


def to_centres(classes: ClassSupervision, bits: int, loss: Callable[[Tensor, Tensor, Tensor], Tensor]) -> RowObjective:
    return CentreObjective(classes, bern(classes, bits), loss)


BUILD: dict[str, Build] = {
    "ce": ce.Objective,
    "greedyhash": lambda c, b: greedyhash.Objective(c, b, alpha=0.3),
    "bihalf": lambda c, b: bihalf.Objective(c, b, gamma=6.0),
    "jmlh": lambda c, b: jmlh.Objective(c, b, weight=0.2),
    "jmlh_half": lambda c, b: jmlh.Objective(c, b, weight=0.2, noise="half"),
    "csq": lambda c, b: csq.Objective(c, bern(c, b), quantisation=0.3),
    "dpn": lambda c, b: to_centres(c, b, partial(dpn.loss, margin=0.8)),
    "hbmp": lambda c, b: hbmp.objective(c, b, margin=1.0),
    "orthocos": lambda c, b: to_centres(c, b, partial(orthohash.loss, scale=8.0, margin=0.2, form="cosine")),
    "orthoarc": lambda c, b: to_centres(c, b, partial(orthohash.loss, scale=8.0, margin=0.2, form="arc")),
    "mds_centres": lambda c, b: to_centres(c, b, partial(mds_centres.loss, quantisation=0.1)),
}
PASSED = ["greedyhash", "bihalf", "jmlh", "jmlh_half"]  # their gradient is not that of the value
SEVERAL = [name for name in BUILD if name not in PASSED]
M = 9
BITS = 7
IDS = torch.tensor([3, 0, 0, 5, -1, 3, 5, 0, 3])  # three classes; the fifth example has none
SETS = torch.tensor(
    [[1, 0, 1, 0], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0]] + 3 * [[1, 1, 0, 0]]
)


def setting(name: str, labels: Tensor) -> tuple[RowObjective, Tensor, Tensor]:
    """The objective in float64, generic activations of the examples in another order, and their labels."""
    objective = BUILD[name](ClassSupervision(labels, seed=3), BITS).double()
    hot = labels if labels.ndim == 2 else (labels[:, None] == torch.tensor([0, 3, 5])).long()
    used = hot[:, hot.any(0)] > 0
    activations = 1.3 * torch.randn(M, BITS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return objective, activations, used[ORDER]


ORDER = torch.randperm(M, generator=torch.Generator().manual_seed(2))


def value(objective: RowObjective, activations: Tensor) -> Tensor:
    return objective(activations, ORDER, torch.Generator().manual_seed(4))


def entropy(logits: Tensor, members: Tensor) -> Tensor:
    """The mean cross-entropy of examples whose labels share a weight of 1."""
    shares = members / members.sum(1, keepdim=True)
    return -(shares * (logits - logits.exp().sum(1, keepdim=True).log())).sum(1).mean()


def noise_of_jmlh() -> Tensor:
    return torch.rand(M, BITS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)


def slow(name: str, objective: RowObjective, u: Tensor, members: Tensor) -> Tensor:  # noqa: C901
    """The formula of each; an example without a class does not count."""
    kept = members.any(1)
    centre_rows = objective.centres.double() if isinstance(objective, CentreObjective) else torch.empty(0)

    def of_head(codes: Tensor) -> Tensor:
        assert isinstance(objective, HeadObjective)
        logits = codes @ objective.head.weight.T
        if objective.head.bias is not None:
            logits = logits + objective.head.bias
        return entropy(logits[kept], members[kept])

    all_rows = u
    u = u[kept]
    members = members.double()
    y = members[kept]
    cosines = u @ centre_rows.T / (u.norm(dim=1, keepdim=True) * BITS**0.5) if len(centre_rows) else u
    match name:
        case "ce":
            return of_head(all_rows)
        case "greedyhash":
            return (
                of_head(torch.where(all_rows > 0, 1.0, -1.0).double()) + 0.3 * (all_rows.abs() - 1).abs().pow(3).mean()
            )
        case "bihalf":
            larger = (all_rows[None] > all_rows[:, None]).sum(1)
            return of_head(torch.where(larger < M // 2, 1.0, -1.0).double())
        case "jmlh" | "jmlh_half":
            p = 1 / (1 + (-all_rows).exp())
            apart = (p * (2 * p).log() + (1 - p) * (2 - 2 * p).log()).sum() / M
            return of_head((p > (0.5 if "half" in name else noise_of_jmlh())).double()) + 0.2 * apart
        case "csq":
            assert isinstance(objective, csq.Objective)
            votes = y @ centre_rows
            is_one = torch.where(votes != 0, votes, objective.fill.double()) > 0
            share = (u.tanh() + 1) / 2
            return (0.3 * (u.tanh().abs() - 1).square() - torch.where(is_one, share, 1 - share).log()).mean()
        case "dpn":
            return (y[:, :, None] * (0.8 - u[:, None] * centre_rows).clamp(min=0)).sum((1, 2)).mean()
        case "hbmp":
            kinds = sorted({tuple(labels) for labels in y.tolist()})
            if (y.sum(1) <= 1).all():
                kinds = kinds[::-1]  # class 0 first
            codes = centre_rows[[kinds.index(tuple(labels)) for labels in y.tolist()]]
            return (1 - u * codes).clamp(min=0).sum(1).mean()
        case "mds_centres":
            p = (BITS**0.5 * cosines).softmax(1)
            return 0.1 * (u.abs() - 1).square().mean() - torch.where(y > 0, p, 1 - p).log().mean()
        case "orthocos":
            return entropy(8 * (cosines - 0.2 * y), y)
    assert name == "orthoarc"
    return entropy(8 * torch.cos(torch.acos(cosines) + 0.2 * y), y)


@pytest.mark.parametrize("name, labels", [(name, IDS) for name in BUILD] + [(name, SETS) for name in SEVERAL])
def test_the_loss_is_the_loop_over_its_formula(name: str, labels: Tensor) -> None:
    objective, activations, members = setting(name, labels)
    expected = slow(name, objective, activations, members).item()
    assert value(objective, activations).item() == pytest.approx(expected, rel=1e-10)
    # labels that are given as sets of one are the same as class ids
    if labels is IDS:
        sets = BUILD[name](ClassSupervision((IDS[:, None] == torch.arange(7)).long(), seed=3), BITS).double()
        assert value(sets, activations).item() == pytest.approx(expected, rel=1e-10)
    assert torch.isfinite(value(objective, 1e4 * activations))
    assert torch.isfinite(value(objective, 0 * activations))


@pytest.mark.parametrize("name, labels", [(name, labels) for name in SEVERAL for labels in (IDS, SETS)])
def test_the_gradient_is_that_of_the_value(name: str, labels: Tensor) -> None:
    objective, activations, _ = setting(name, labels)
    inputs = [activations.requires_grad_(), *objective.parameters()]
    assert torch.autograd.gradcheck(lambda u, *_: value(objective, u), inputs, fast_mode=True)


@pytest.mark.parametrize("name", PASSED)
def test_the_gradient_through_codes_is_the_stated_one(name: str) -> None:
    objective, activations, _ = setting(name, IDS)
    assert isinstance(objective, HeadObjective)
    u = activations.requires_grad_()
    p = activations.detach().sigmoid()
    value(objective, u).backward()
    codes = {
        "greedyhash": torch.where(u > 0, 1.0, -1.0),
        "bihalf": bi_half(u, 0.0),
        "jmlh": (p > noise_of_jmlh()).double(),
        "jmlh_half": (p > 0.5).double(),
    }[name]
    codes = codes.detach().double().requires_grad_()
    (of_codes,) = torch.autograd.grad(objective.cross_entropy(codes, ORDER), codes)
    v = u.detach()
    expected = {
        "greedyhash": of_codes + 0.3 * 3 * (v.abs() - 1).square() * (v.abs() - 1).sign() * v.sign() / (M * BITS),
        "bihalf": of_codes + 6 * (v - codes.detach()) / (M * BITS),
    }.get(name, p * (1 - p) * (of_codes + 0.2 * (p / (1 - p)).log() / M))
    torch.testing.assert_close(u.grad, expected)
    assert of_codes.count_nonzero() > 0


def test_codes_of_ties_and_of_odd_batches() -> None:
    u = torch.tensor([[0.0, 2.0], [0.0, -1.0], [0.0, 5.0], [0.0, 5.0], [0.0, 0.0]])
    assert bi_half(u, 6.0).T.tolist() == [[1, 1, -1, -1, -1], [-1, -1, 1, 1, -1]]
    assert bernoulli(torch.tensor([0.0, 0.5, 1.0]), torch.tensor([0.0, 0.5, 0.99])).tolist() == [0, 0, 1]


KINDS: list[Kind] = ["hadamard", "bernoulli", "max_distance"]
SIZES = [(10, 12), (10, 16), (10, 36), (21, 48)]


@pytest.mark.parametrize("kind, size", [*((kind, size) for kind in KINDS for size in SIZES), ("hadamard", (70, 32))])
def test_centres_differ_and_no_bit_is_the_same_in_all(kind: Kind, size: tuple[int, int]) -> None:
    n, bits = size
    actual = centres(kind, n, bits, seed=7)
    assert actual.shape == size
    assert actual.dtype == np.int8
    assert set(np.unique(actual)) == {-1, 1}
    assert len(np.unique(actual, axis=0)) == n
    assert not (actual == actual[0]).all(0).any()
    apart = [sum(a != b for a, b in zip(actual[i], actual[j], strict=True)) for i in range(n) for j in range(i)]
    assert distances(actual) == (min(apart), pytest.approx(sum(apart) / len(apart)))
    np.testing.assert_array_equal(actual, centres(kind, n, bits, seed=7))
    assert not np.array_equal(actual, centres(kind, n, bits, seed=8))
    if kind == "hadamard" and n <= bits:
        assert set(apart) == {bits // 2}
    if kind == "hadamard" and n > 2 * bits:  # the rows, then their negatives
        assert {(-row).tobytes() for row in actual[:bits]} == {row.tobytes() for row in actual[bits : 2 * bits]}
    if kind == "max_distance":
        assert min(apart) >= min(distances(centres("bernoulli", n, bits, seed=7)))


def test_hadamard_matrices_and_their_first_rows() -> None:
    for order in (1, 2, 4, 12, 16, 20, 28, 36, 44, 48, 64, 76):
        matrix = hadamard(order)
        assert matrix is not None
        np.testing.assert_array_equal(matrix.astype(int) @ matrix.T, order * np.eye(order))
    assert [hadamard(order) for order in (0, 3, 7, 52)] == [None] * 4
    from scipy.linalg import hadamard as sylvester

    first = centres("hadamard_first", 40, 32, seed=1)
    np.testing.assert_array_equal(first, np.concatenate([sylvester(32), -sylvester(32)])[:40])
    # at 64 bits ten classes have 16 different bits in the released order, most of 64 in a random one
    released, drawn = (
        len({tuple(bit * bit[0]) for bit in centres(kind, 10, 64, seed=1).T}) for kind in ("hadamard_first", "hadamard")
    )
    assert released == 16
    assert drawn > 40


def test_binary_matrix_pursuit_leaves_less_than_random_codes() -> None:
    for n, bits in ((10, 12), (10, 32), (40, 16)):
        codes = eigen_signs(np.eye(n), bits, seed=2).astype(float)
        wanted = bits * (2 * np.eye(n) - 1)
        random = centres("bernoulli", n, bits, seed=2).astype(float)
        assert np.linalg.norm(wanted - codes @ codes.T) < 0.995 * np.linalg.norm(wanted - random @ random.T)
        assert not (codes == codes[0]).all(0).any()
        assert not np.array_equal(codes, eigen_signs(np.eye(n), bits, seed=3))
    assert distances(eigen_signs(np.eye(10), 48, seed=1))[0] >= 18
    # combinations that share a label are nearer than those that do not
    labels = torch.tensor([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]] * 2)
    codes = hbmp.objective(ClassSupervision(labels, 3), 24, margin=1.0).centres.numpy().astype(int)
    products = codes @ codes.T
    assert len(codes) == 4
    assert products[0, 1] > products[0, 2]
    assert products[2, 3] > products[1, 3]


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "order": (lambda: centres("hadamard", 5, 7, 0), r"no Hadamard matrix of order 7.*max_distance"),
    "order of a multiple of 4": (lambda: centres("hadamard_first", 5, 52, 0), r"order 52.*max_distance"),
    "more classes than codes": (lambda: centres("bernoulli", 9, 3, 0), "9 classes at 3 bits.*there are 8 such codes"),
    "more than rows": (lambda: centres("hadamard", 9, 4, 0), "there are 8 such codes"),
    "not far apart": (lambda: centres("max_distance", 40, 6, 0), "40 codes of 6 bits.*were not found"),
    **{
        f"several labels of {name}": (
            lambda name=name: BUILD[name](ClassSupervision(SETS, 0), 8),
            f"{name}: training examples with several labels.*ce, csq",
        )
        for name in ("greedyhash", "bihalf", "jmlh")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_defined_is_refused_in_one_line(case: str) -> None:
    call, complaint = REFUSED[case]
    with one_line(complaint):
        call()
