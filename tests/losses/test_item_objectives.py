"""The objectives that learn from items alone, against loops over the formulas; what the training loop gives them."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.on_digits import on_digits
from support.one_line import one_line
from torch import Tensor

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import ItemObjective, RowObjective, bihalf_u, cibhash, greedyhash_u, ssdh, tbh
from hashbench.learning.losses._codes import Noise, bi_half
from hashbench.learning.losses._halves import cosine_gap
from hashbench.learning.training.loop import Trainer

Vectors = list[list[float]]
BITS = 5
WIDTH = 7
BUILD: dict[str, Callable[[], ItemObjective]] = {
    "greedyhash_u": lambda: greedyhash_u.Objective(alpha=0.3),
    "bihalf_u": lambda: bihalf_u.Objective(gamma=6.0),
}


def drawn(m: int, width: int, seed: int = 1) -> Tensor:
    return 1.3 * torch.randn(m, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def value(objective: ItemObjective, activations: Tensor, items: Tensor) -> Tensor:
    objective.items = items
    return objective(activations, torch.arange(len(activations)), torch.Generator().manual_seed(4))


def cosine(a: list[float], b: list[float]) -> float:
    product = sum(x * y for x, y in zip(a, b, strict=True))
    norms = math.hypot(*a) * math.hypot(*b)
    return product / norms if norms else 0.0


def halves(u: Vectors) -> Vectors:
    n = len(u)
    ranks = [[sum((u[j][t], -j) > (u[i][t], -i) for j in range(n)) for t in range(BITS)] for i in range(n)]
    return [[1.0 if rank < n // 2 else -1.0 for rank in row] for row in ranks]


def slow(name: str, u: Vectors, x: Vectors) -> float:
    half = len(u) // 2
    total = 0.0
    codes = halves(u) if name == "bihalf_u" else np.where(np.array(u) > 0, 1.0, -1.0).tolist()
    for i in range(half):
        total += (cosine(codes[i], codes[i + half]) - cosine(x[i], x[i + half])) ** 2 / half
    if name == "greedyhash_u":
        total += 0.3 * sum(abs(abs(value) - 1) ** 3 for row in u for value in row) / (len(u) * BITS)
    return total


@pytest.mark.parametrize("name, m", [(name, m) for name in BUILD for m in (1, 2, 7, 8)])
def test_the_loss_is_the_loop_over_its_formula(name: str, m: int) -> None:
    activations = drawn(m, BITS)
    items = drawn(m, WIDTH, seed=2).abs()
    activations[0, 0] = 0.0  # its sign is -1
    items[-1] = 0.0  # an item of zeros has no direction
    actual = value(BUILD[name](), activations, items)
    assert actual.dtype == torch.float64
    assert actual.item() == pytest.approx(slow(name, activations.tolist(), items.tolist()), rel=1e-10, abs=1e-14)
    assert torch.isfinite(value(BUILD[name](), 1e4 * activations, 1e4 * items))


def test_the_gradient_of_the_gap_is_that_of_its_value() -> None:
    for m in (2, 7):
        codes = drawn(m, BITS).requires_grad_()
        items = drawn(m, WIDTH, seed=2)
        assert torch.autograd.gradcheck(lambda b, x=items: cosine_gap(b, x), codes)


@pytest.mark.parametrize("name", BUILD)
def test_the_gradient_through_codes_is_the_stated_one(name: str) -> None:
    for m in (1, 7, 8):
        u = drawn(m, BITS).requires_grad_()
        items = drawn(m, WIDTH, seed=2).requires_grad_()
        value(BUILD[name](), u, items).backward()
        v = u.detach()
        codes = bi_half(v, 0.0) if name == "bihalf_u" else torch.where(v > 0, 1.0, -1.0).double()
        codes.requires_grad_()
        (of_codes,) = torch.autograd.grad(cosine_gap(codes, items.detach()), codes)
        others = {
            "bihalf_u": 6 * (v - codes.detach()) / (m * BITS),
            "greedyhash_u": 0.9 * (v.abs() - 1).square() * (v.abs() - 1).sign() * v.sign() / (m * BITS),
        }
        torch.testing.assert_close(u.grad, of_codes + others[name])
        assert (of_codes.count_nonzero() > 0) == (m > 1)
        assert items.grad is None  # an item is a target, not what is learnt


def divergence(p: float, q: float) -> float:
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


def slow_cibhash(u: Vectors, codes: Vectors) -> float:
    """Of the codes in place of the signs, so that a gradient can be checked; the temperature is 0.4, beta 0.3."""
    n = len(u)
    total = 0.0
    for i in range(n):
        other = (i + n // 2) % n
        powers = [math.exp(cosine(codes[i], codes[j]) / 0.4) for j in range(n)]
        total -= math.log(powers[other] / (sum(powers) - powers[i])) / n
        for x, y in zip(u[i], u[other], strict=True):
            total += 0.3 * divergence(1 / (1 + math.exp(-x)), 1 / (1 + math.exp(-y))) / n
    return total


@pytest.mark.parametrize("m", [1, 4, 5])
def test_cibhash_is_the_loop_over_its_formula_and_its_gradient_the_stated_one(m: int) -> None:
    objective = cibhash.Objective(temperature=0.4, beta=0.3)
    u = drawn(2 * m, BITS).requires_grad_()
    actual = objective(u, torch.arange(m), torch.Generator())
    codes = torch.where(u.detach() > 0, 1.0, -1.0).tolist()
    assert actual.item() == pytest.approx(slow_cibhash(u.tolist(), codes), rel=1e-10)
    actual.backward()
    assert u.grad is not None
    step = 1e-6
    v = u.detach()
    p = v.sigmoid()
    q = v.roll(m, 0).sigmoid()
    of_divergence = 0.3 * p * (1 - p) * ((p / (1 - p)).log() - (q / (1 - q)).log()) / (2 * m)  # only its first argument
    for i in range(2 * m):
        for t in range(BITS):
            moved = [[list(row) for row in codes] for _ in range(2)]
            moved[0][i][t] += step
            moved[1][i][t] -= step
            of_code = (slow_cibhash(v.tolist(), moved[0]) - slow_cibhash(v.tolist(), moved[1])) / (2 * step)
            expected = (p * (1 - p))[i, t].item() * of_code + of_divergence[i, t].item()
            assert u.grad[i, t].item() == pytest.approx(expected, rel=1e-5, abs=1e-9)
    assert torch.isfinite(objective(1e4 * v, torch.arange(m), torch.Generator()))
    assert torch.isfinite(objective(0 * v, torch.arange(m), torch.Generator()))


def test_cibhash_needs_views_that_differ() -> None:
    for changes, message in (
        ({"feature_dropout": 0.0}, "two equal views"),
        ({"features": "gist", "model": "mlp", "copies": 1}, "two equal views"),
    ):
        with one_line(message):
            on_digits("cibhash", {"bits": 8, **changes})
    on_digits("cibhash", {"bits": 8, "feature_dropout": 0.0, "augment": "flip"})


def slow_limits(x: Vectors, alpha: float, beta: float) -> tuple[float, float]:
    """By a list of all distances, and mirrored ones."""
    actual = [max(0.0, 1 - cosine(a, b)) for a in x for b in x if a is not b]
    bins = [int(distance / ssdh.BIN) for distance in actual]
    mode = ssdh.BIN * min(range(201), key=lambda one: (-bins.count(one), one))
    left, right = ([d for d in actual if (d <= mode) == is_left] for is_left in (True, False))
    spread = [np.std([*side, *(2 * mode - d for d in side)]) if side else 0.0 for side in (left, right)]
    return mode - alpha * spread[0], mode + beta * spread[1]


@pytest.mark.parametrize("signed", [False, True])
def test_ssdh_fits_both_halves_of_the_distances(signed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssdh, "_BLOCK", 7)  # which is no part of 30
    items = drawn(30, WIDTH, seed=5) if signed else drawn(30, WIDTH, seed=5).abs()
    actual = ssdh.limits(items.view(30, 7, 1), 1.5, 0.5)
    assert actual == pytest.approx(slow_limits(items.tolist(), 1.5, 0.5), rel=1e-9)
    assert ssdh.limits(torch.ones(4, 3), 2.0, 2.0) == pytest.approx(
        (0.0, 0.0), abs=1e-12
    )  # nothing is similar, and nothing dissimilar


@pytest.mark.parametrize("m", [1, 6, 9])
def test_ssdh_is_the_loop_over_its_formula_and_has_its_gradient(m: int) -> None:
    h = drawn(m, BITS).tanh().requires_grad_()
    x = drawn(m, WIDTH, seed=2).abs()
    objective = ssdh.Objective(0.2, 0.4)
    kinds = set()
    total = 0.0
    for i in range(m):
        for j in range(m):
            distance = max(0.0, 1 - cosine(x[i].tolist(), x[j].tolist()))
            s = int(distance < 0.2) - int(distance > 0.4)
            kinds.add(s)
            product = sum(a * b for a, b in zip(h[i].tolist(), h[j].tolist(), strict=True))
            total += abs(s) * (product / BITS - s) ** 2 / m**2
    assert kinds == ({1} if m == 1 else {-1, 0, 1})
    assert value(objective, h, x).item() == pytest.approx(total, rel=1e-10)
    assert torch.autograd.gradcheck(lambda codes: value(objective, codes, x), h)
    assert objective.logged() == {"similar_below": 0.2, "dissimilar_above": 0.4}


def small_tbh(noise: Noise) -> tbh.Objective:
    return tbh.Objective(WIDTH, BITS, bottleneck=4, hidden=3, value_max=2.0, noise=noise, seed=6).double()


def layer(weights: Any, rows: Vectors) -> Vectors:
    columns = list(zip(weights.weight.tolist(), weights.bias.tolist(), strict=True))
    return [[sum(w * x for w, x in zip(learned, row, strict=True)) + bias for learned, bias in columns] for row in rows]


def sigmoids(rows: Vectors) -> Vectors:
    return [[1 / (1 + math.exp(-value)) for value in row] for row in rows]


def slow_tbh(objective: Any, codes: Vectors, x: Vectors, parts: tuple[float, float]) -> float:
    """The error times the first of ``parts``, plus the cross-entropies times the second."""
    m = len(x)
    total = 0.0
    x = [[value / 2.0 for value in row] for row in x]
    z = sigmoids(layer(objective.to_z[2], [[max(0, v) for v in row] for row in layer(objective.to_z[0], x)]))
    near = [
        [1 - abs(sum(a * (1 - b) + b * (1 - a) for a, b in zip(p, q, strict=True))) / BITS for q in codes]
        for p in codes
    ]
    graph = [[max(0, value) ** 1.4 for value in row] for row in near]
    degree = [sum(row) for row in graph]
    values = layer(objective.graph, z)
    g = sigmoids(
        [
            [sum(graph[i][j] / math.sqrt(degree[i] * degree[j]) * values[j][t] for j in range(m)) for t in range(4)]
            for i in range(m)
        ]
    )
    decoded = layer(objective.decoder[2], [[max(0, v) for v in row] for row in layer(objective.decoder[0], g)])
    for one, other in zip(decoded, x, strict=True):
        total += parts[0] * sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) / 2
    generator = torch.Generator().manual_seed(4)
    torch.rand(m, BITS, generator=generator, dtype=torch.float64)  # the noise of the codes
    for adversary, learned, width in zip(objective.adversaries, (codes, g), (BITS, 4), strict=True):
        real = torch.rand(m, width, generator=generator, dtype=torch.float64)
        real = (real > 0.5).double() if width == BITS else real
        for (of_real,), (of_own,) in zip(
            sigmoids(layer(adversary, real.tolist())), sigmoids(layer(adversary, learned)), strict=True
        ):
            total -= parts[1] * (math.log(of_real) + math.log(1 - of_own)) / m
    return total


@pytest.mark.parametrize("m, noise", [(1, "half"), (5, "uniform"), (6, "half")])
def test_tbh_is_the_loop_over_its_formula_and_both_players_have_their_gradients(m: int, noise: Noise) -> None:
    objective = small_tbh(noise)
    u = drawn(m, BITS).requires_grad_()
    x = drawn(m, WIDTH, seed=2).abs()
    drawn_noise = torch.rand(m, BITS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    threshold = drawn_noise if noise == "uniform" else 0.5
    codes = (u.detach().sigmoid() > threshold).double().tolist()
    actual = value(objective, u, x)
    assert actual.item() == pytest.approx(slow_tbh(objective, codes, x.tolist(), (1.0, 1.0)), rel=1e-10)
    actual.backward()
    step = 1e-6

    def slope(values: Tensor, sign: float) -> Tensor:
        """By differences of the loop, in each of ``values``, with this sign of the adversaries' terms."""
        flat = values.data.view(-1)
        slopes = []
        for place in range(len(flat)):
            ends = []
            for moved in (step, -2 * step):
                flat[place] += moved
                ends.append(slow_tbh(objective, b.tolist(), x.tolist(), (1.0, sign)))
            flat[place] += step
            slopes.append((ends[0] - ends[1]) / (2 * step))
        return torch.tensor(slopes, dtype=torch.float64).view(values.shape)

    b = torch.tensor(codes, dtype=torch.float64)
    for name, values in objective.named_parameters():  # the adversaries lower what the others raise
        torch.testing.assert_close(
            values.grad, slope(values, 1.0 if "adversaries" in name else -1.0), rtol=1e-5, atol=1e-7
        )
    if m > 1:
        p = u.detach().sigmoid()
        linear = b @ (1 - b).T  # the gradient of a code is that of the Hamming distance, which is bilinear in the codes
        assert linear.count_nonzero() > 0
        torch.testing.assert_close(u.grad, p * (1 - p) * slope(b, -1.0), rtol=1e-4, atol=1e-7)


class Recording(ItemObjective):
    """Takes down what it is given in each step."""

    def __init__(self, n_views: int) -> None:
        super().__init__()
        self.n_views = n_views  # type: ignore[misc]
        self.seen: list[tuple[Tensor, Tensor, Tensor]] = []

    def forward(self, activations: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        self.seen.append((activations.detach().clone(), rows, self.items))
        return activations.square().mean()


def training_data(folder: Path, **changes: Any) -> TrainingData:
    """Features without labels, the same vector but for its length in each item."""
    items = (1 + np.arange(20, dtype=np.float32))[:, None] * np.ones((1, 50), np.float32)
    return replace(TrainingData(items, np.full(20, -1), 1.0, 1, folder, execution=Execution("cpu")), **changes)


def one_epoch(objective: RowObjective, data: TrainingData, **changes: Any) -> Trainer:
    setting_values = {"bits": BITS, "epochs": 1, "batch_size": 8, "model": "linear", "lr": 1e-9, **changes}
    settings = on_digits("greedyhash_u", setting_values).settings
    trainer = Trainer(settings, objective, data, "recording")  # type: ignore[arg-type]
    trainer.epoch(0, type("Bar", (), {"update": lambda *_: None}))
    return trainer


@pytest.mark.parametrize("n_views", [1, 2])
def test_the_objective_is_given_the_items_that_the_network_saw(n_views: int, tmp_path: Path) -> None:
    objective = Recording(n_views)
    data = training_data(tmp_path)
    trainer = one_epoch(objective, data, feature_dropout=0.25)
    assert [len(rows) for _, rows, _ in objective.seen] == [8, 8, 4]
    values = []
    for activations, rows, items in objective.seen:
        assert len(activations) == len(items) == n_views * len(rows)
        learned = torch.from_numpy(data.items)[rows.repeat(n_views)]
        is_kept = items != 0
        torch.testing.assert_close(items, learned * is_kept / 0.75)
        values.append(is_kept)
        trainer.hasher.eval()
        with torch.no_grad():
            torch.testing.assert_close(
                activations, trainer.hasher(trainer.hasher.normalised(items)), rtol=0.01, atol=1e-3
            )
    kept = torch.cat(values)
    assert 0.65 < kept.float().mean() < 0.85
    assert len({tuple(row) for row in kept.tolist()}) == len(kept)  # views, items and steps have their own


@pytest.mark.parametrize("n_views", [1, 2])
def test_each_item_is_one_of_its_copies_and_views_take_different_ones(n_views: int, tmp_path: Path) -> None:
    item = np.arange(20, dtype=np.float32)[:, None] * np.ones((1, 50), np.float32)
    data = training_data(tmp_path, copies=np.stack([item, item + 100, item + 200]))
    objective = Recording(n_views)
    one_epoch(objective, data, feature_dropout=0.0, features="gist", copies=3)
    views = set()
    for _, rows, items in objective.seen:
        assert torch.equal(items[:, 0] % 100, rows.repeat(n_views).float())
        views |= {tuple(copies) for copies in (items[:, 0] // 100).view(n_views, -1).T.tolist()}
    assert views == set(permutations((0, 1, 2), n_views))
