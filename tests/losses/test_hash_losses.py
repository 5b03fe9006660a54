"""The gated objectives of the hash stage against eq. 8 to 10 of Jeong and Song (2018), written out in loops."""

import math

import pytest
import torch
from torch import Tensor

from hashbench.learning.losses import gated

N_CLASSES = 4
D = 7
K = 2


def batch(n_rounds: int, seed: int = 0, k: int = K) -> tuple[Tensor, Tensor, Tensor]:
    """Embeddings, labels and buckets in rounds; a class has one code, and two classes share a bucket."""
    generator = torch.Generator().manual_seed(seed)
    of_classes = torch.stack([torch.randperm(D, generator=generator)[:k] for _ in range(N_CLASSES)])
    of_classes[1] = (of_classes[0, 0] + torch.arange(k)) % D
    embeddings = torch.randn(n_rounds * N_CLASSES, D, generator=generator, dtype=torch.float64)
    return embeddings, torch.arange(N_CLASSES).repeat(n_rounds), of_classes.repeat(n_rounds, 1)


def gated_distance(f: list[float], g: list[float], b: list[int], c: list[int]) -> float:
    """Eq. 8: || (h_i or h_j) * (f_i - f_j) ||_1."""
    return sum(abs(((t in b) or (t in c)) * (f[t] - g[t])) for t in range(len(f)))


def slow_triplet(embeddings: Tensor, labels: Tensor, buckets: Tensor, margin: float) -> float:
    """Eq. 9, with the negatives mined among the gated distances."""
    unit = [[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in embeddings.tolist()]
    codes = buckets.tolist()
    classes = labels.tolist()
    costs = []
    for i, label in enumerate(classes):
        to = [gated_distance(unit[i], unit[j], codes[i], codes[j]) for j in range(len(unit))]
        negatives = sorted(to[k] for k in range(len(unit)) if classes[k] != label)
        for j in range(len(unit)):
            if j != i and classes[j] == label:
                farther = [d for d in negatives if d > to[j]]
                costs.append(max(0.0, to[j] + margin - (farther or negatives[-1:])[0]))
    return sum(costs) / len(costs)


def slow_npairs(embeddings: Tensor, buckets: Tensor, l2: float, *, released: bool) -> float:
    """Eq. 10 over pairs (anchor, positive) whose negatives are the other positives; or its inner products."""
    rows = embeddings.tolist()
    codes = buckets.tolist()
    n = len(rows) // 2

    def score(i: int, j: int) -> float:
        f = rows[i]
        g = rows[n + j]
        b = codes[i]
        c = codes[n + j]
        inner = sum(f[t] * g[t] for t in range(D) if t in b or t in c)
        return math.exp(inner if released else -gated_distance(f, g, b, c))

    terms = [-math.log(score(i, i) / (score(i, i) + sum(score(i, k) for k in range(n) if k != i))) for i in range(n)]
    squares = [sum(x * x for x in row) for row in rows]
    return sum(terms) / n + 0.25 * l2 * (sum(squares[:n]) / n + sum(squares[n:]) / n)


@pytest.mark.parametrize("margin", [0.1, 1.0])
@pytest.mark.parametrize("n_rounds, k, seed", [(2, 2, 0), (3, 1, 1), (3, 3, 2), (2, D, 3)])
def test_hash_triplet_is_eq_9(n_rounds: int, k: int, seed: int, margin: float) -> None:
    case = batch(n_rounds, seed, k)
    expected = slow_triplet(*case, margin)
    assert gated.triplet(*case, margin=margin).item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("l2", [0.0, 0.003, 1.0])
@pytest.mark.parametrize("k, seed", [(1, 0), (2, 1), (3, 2), (D, 3)])
def test_hash_npairs_is_eq_10_and_the_released_form(k: int, seed: int, l2: float) -> None:
    embeddings, _, buckets = batch(2, seed, k)
    paper = gated.npairs(embeddings, buckets, l2=l2)
    released = gated.npairs_as_released(embeddings, buckets, l2=l2)
    assert paper.item() == pytest.approx(slow_npairs(embeddings, buckets, l2, released=False), rel=1e-12)
    assert released.item() == pytest.approx(slow_npairs(embeddings, buckets, l2, released=True), rel=1e-12)
