"""The objectives that learn from classes, against loops over the formulas; their centres, codes and refusals."""

import math
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

Matrix = list[list[float]]
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


def setting(name: str, labels: Tensor) -> tuple[RowObjective, Tensor, Matrix]:
    """The objective in float64, generic activations of the examples in another order, and their labels."""
    objective = BUILD[name](ClassSupervision(labels, seed=3), BITS).double()
    hot = labels if labels.ndim == 2 else (labels[:, None] == torch.tensor([0, 3, 5])).long()
    used = hot[:, hot.any(0)]
    activations = 1.3 * torch.randn(M, BITS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return objective, activations, used[ORDER].tolist()


ORDER = torch.randperm(M, generator=torch.Generator().manual_seed(2))


def value(objective: RowObjective, activations: Tensor) -> Tensor:
    return objective(activations, ORDER, torch.Generator().manual_seed(4))


def entropy(logits: list[float], labels: list[float]) -> float:
    total = math.log(sum(math.exp(logit) for logit in logits))
    return sum(y / sum(labels) * (total - z) for y, z in zip(labels, logits, strict=True))


def head_entropy(objective: RowObjective, codes: Matrix, labels: Matrix) -> float:
    assert isinstance(objective, HeadObjective)
    weight = objective.head.weight.tolist()
    bias = [0.0] * len(weight) if objective.head.bias is None else objective.head.bias.tolist()
    costs = []
    for code, members in zip(codes, labels, strict=True):
        if sum(members):
            logits = [
                sum(w * c for w, c in zip(row, code, strict=True)) + a for row, a in zip(weight, bias, strict=True)
            ]
            costs.append(entropy(logits, members))
    return sum(costs) / len(costs)


def slow(name: str, objective: RowObjective, u: Matrix, labels: Matrix) -> float:  # noqa: C901
    """The formula of each, in plain loops."""
    rows = [i for i in range(M) if sum(labels[i])]
    centre_rows = objective.centres.tolist() if isinstance(objective, CentreObjective) else []
    total = 0.0
    match name:
        case "ce":
            return head_entropy(objective, u, labels)
        case "greedyhash":
            cubes = [abs(abs(x) - 1) ** 3 for row in u for x in row]
            return head_entropy(objective, [[1 if x > 0 else -1 for x in row] for row in u], labels) + 0.3 * sum(
                cubes
            ) / len(cubes)
        case "bihalf":
            halves = [[0.0] * BITS for _ in u]
            for t in range(BITS):
                for i in range(M):
                    larger = sum(u[j][t] > u[i][t] for j in range(M))
                    halves[i][t] = 1 if larger < M // 2 else -1
            return head_entropy(objective, halves, labels)
        case "jmlh" | "jmlh_half":
            noise = torch.rand(M, BITS, generator=torch.Generator().manual_seed(4), dtype=torch.float64).tolist()
            p = [[1 / (1 + math.exp(-x)) for x in row] for row in u]
            drawn = [[float(p[i][t] > (0.5 if "half" in name else noise[i][t])) for t in range(BITS)] for i in range(M)]
            apart = sum(x * math.log(2 * x) + (1 - x) * math.log(2 - 2 * x) for row in p for x in row) / M
            return head_entropy(objective, drawn, labels) + 0.2 * apart
        case "csq":
            assert isinstance(objective, csq.Objective)
            fill = objective.fill.tolist()
            for i in rows:
                for t in range(BITS):
                    votes = sum(y * c[t] for y, c in zip(labels[i], centre_rows, strict=True))
                    is_one = (votes if votes else fill[t]) > 0
                    share = (math.tanh(u[i][t]) + 1) / 2
                    cost = -math.log(share if is_one else 1 - share)
                    total += (cost + 0.3 * (abs(math.tanh(u[i][t])) - 1) ** 2) / BITS
        case "dpn":
            for i in rows:
                for k, y in enumerate(labels[i]):
                    total += y * sum(max(0, 0.8 - u[i][t] * centre_rows[k][t]) for t in range(BITS))
        case "hbmp":
            kinds = sorted({tuple(members) for members in labels if sum(members)})
            if all(sum(members) <= 1 for members in labels):
                kinds = kinds[::-1]  # class 0 first
            for i in rows:
                code = centre_rows[kinds.index(tuple(labels[i]))]
                total += sum(max(0, 1 - u[i][t] * code[t]) for t in range(BITS))
        case "orthocos" | "orthoarc" | "mds_centres":
            for i in rows:
                norm = math.sqrt(sum(x * x for x in u[i]) * BITS)
                cosines = [sum(x * c for x, c in zip(u[i], code, strict=True)) / norm for code in centre_rows]
                if name == "mds_centres":
                    powers = [math.exp(math.sqrt(BITS) * x) for x in cosines]
                    p = [x / sum(powers) for x in powers]
                    total -= sum(math.log(q if y else 1 - q) for y, q in zip(labels[i], p, strict=True)) / len(
                        centre_rows
                    )
                    total += 0.1 * sum((abs(x) - 1) ** 2 for x in u[i]) / BITS
                elif name == "orthocos":
                    total += entropy([8 * (x - 0.2 * y) for x, y in zip(cosines, labels[i], strict=True)], labels[i])
                else:
                    moved = [8 * math.cos(math.acos(x) + 0.2 * y) for x, y in zip(cosines, labels[i], strict=True)]
                    total += entropy(moved, labels[i])
    return total / len(rows)


@pytest.mark.parametrize("name, labels", [(name, IDS) for name in BUILD] + [(name, SETS) for name in SEVERAL])
def test_the_loss_is_the_loop_over_its_formula(name: str, labels: Tensor) -> None:
    objective, activations, members = setting(name, labels)
    expected = slow(name, objective, activations.tolist(), members)
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
    noise = torch.rand(M, BITS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    codes = {
        "greedyhash": torch.where(u > 0, 1.0, -1.0),
        "bihalf": bi_half(u, 0.0),
        "jmlh": (p > noise).double(),
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
