"""The objectives that learn from items alone, against loops over the formulas; what the training loop gives them."""

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


def cosines(x: Tensor, y: Tensor) -> Tensor:
    """The cosines [n, m] of the rows; a row of zeros has the cosine 0 to all."""
    norms = x.norm(dim=1)[:, None] * y.norm(dim=1)
    return x @ y.T / torch.where(norms > 0, norms, 1.0)


def slow(name: str, u: Tensor, x: Tensor) -> Tensor:
    half = len(u) // 2
    codes = torch.where(u > 0, 1.0, -1.0).double()
    if name == "bihalf_u":  # of equal numbers the first is the larger one
        is_before = torch.ones(len(u), len(u)).tril(-1).bool()[:, :, None]
        larger = (u[None] > u[:, None]) | ((u[None] == u[:, None]) & is_before)
        codes = torch.where(larger.sum(1) < half, 1.0, -1.0).double()
    pairs = slice(0, half), slice(half, 2 * half)
    gaps = cosines(codes[pairs[0]], codes[pairs[1]]) - cosines(x[pairs[0]], x[pairs[1]])
    value = gaps.diagonal().square().sum() / max(half, 1)
    if name == "greedyhash_u":
        value = value + 0.3 * (u.abs() - 1).abs().pow(3).mean()
    return value


@pytest.mark.parametrize("name, m", [(name, m) for name in BUILD for m in (1, 2, 7, 8)])
def test_the_loss_is_the_loop_over_its_formula(name: str, m: int) -> None:
    activations = drawn(m, BITS)
    items = drawn(m, WIDTH, seed=2).abs()
    activations[0, 0] = 0.0  # its sign is -1
    items[-1] = 0.0  # an item of zeros has no direction
    actual = value(BUILD[name](), activations, items)
    assert actual.dtype == torch.float64
    assert actual.item() == pytest.approx(slow(name, activations, items).item(), rel=1e-10, abs=1e-14)
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


def divergence(u: Tensor, others: Tensor) -> Tensor:
    """The mean over items of the sum over bits of KL(sigmoid(u) || sigmoid(others))."""
    p = u.sigmoid()
    q = others.sigmoid()
    return (p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()).sum(1).mean()


def contrast(codes: Tensor) -> Tensor:
    """The mean of -log of the share of the other view of an item, at the temperature 0.4."""
    n = len(codes)
    powers = torch.exp(torch.cosine_similarity(codes[:, None], codes[None], dim=2) / 0.4)
    shares = [powers[i, (i + n // 2) % n] / (powers[i].sum() - powers[i, i]) for i in range(n)]
    return -torch.stack(shares).log().mean()


@pytest.mark.parametrize("m", [1, 4, 5])
def test_cibhash_is_its_formula_and_its_gradient_the_stated_one(m: int) -> None:
    objective = cibhash.Objective(temperature=0.4, beta=0.3)
    u = drawn(2 * m, BITS).requires_grad_()
    actual = objective(u, torch.arange(m), torch.Generator())
    v = u.detach()
    codes = torch.where(v > 0, 1.0, -1.0).double().requires_grad_()
    views = v.clone().requires_grad_()
    added = 0.3 * divergence(views, v.roll(m, 0))  # of its first argument only
    expected = contrast(codes) + added
    assert actual.item() == pytest.approx(expected.item(), rel=1e-10)
    actual.backward()
    of_codes, of_views = torch.autograd.grad(expected, (codes, views))
    torch.testing.assert_close(u.grad, v.sigmoid() * (1 - v.sigmoid()) * of_codes + of_views)
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


def distances_of(x: Tensor) -> Tensor:
    return (1 - cosines(x, x)).clamp(min=0)


def slow_limits(x: Tensor, alpha: float, beta: float) -> tuple[float, float]:
    """By a list of all distances, and mirrored ones."""
    actual = distances_of(x)[~torch.eye(len(x), dtype=torch.bool)]
    mode = ssdh.BIN * int(torch.bincount((actual / ssdh.BIN).long()).argmax())
    left, right = (
        float(torch.cat([side, 2 * mode - side]).std(correction=0))
        for side in (actual[actual <= mode], actual[actual > mode])
    )
    return mode - alpha * left, mode + beta * right


@pytest.mark.parametrize("signed", [False, True])
def test_ssdh_fits_both_halves_of_the_distances(signed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssdh, "_BLOCK", 7)  # which is no part of 30
    items = drawn(30, WIDTH, seed=5) if signed else drawn(30, WIDTH, seed=5).abs()
    actual = ssdh.limits(items.view(30, 7, 1), 1.5, 0.5)
    assert actual == pytest.approx(slow_limits(items, 1.5, 0.5), rel=1e-9)
    assert ssdh.limits(torch.ones(4, 3), 2.0, 2.0) == pytest.approx(
        (0.0, 0.0), abs=1e-12
    )  # nothing is similar, and nothing dissimilar


@pytest.mark.parametrize("m", [1, 6, 9])
def test_ssdh_is_the_loop_over_its_formula_and_has_its_gradient(m: int) -> None:
    h = drawn(m, BITS).tanh().requires_grad_()
    x = drawn(m, WIDTH, seed=2).abs()
    objective = ssdh.Objective(0.2, 0.4)
    distance = distances_of(x)
    s = (distance < 0.2).double() - (distance > 0.4).double()
    assert set(s.flatten().tolist()) == ({1} if m == 1 else {-1, 0, 1})
    expected = (s.abs() * (h @ h.T / BITS - s).square()).mean()
    assert value(objective, h, x).item() == pytest.approx(expected.item(), rel=1e-10)
    assert torch.autograd.gradcheck(lambda codes: value(objective, codes, x), h)
    assert objective.logged() == {"similar_below": 0.2, "dissimilar_above": 0.4}


def tbh_by_formula(objective: Any, codes: Tensor, x: Tensor, sign: float) -> Tensor:
    """The error of the decoder plus ``sign`` times the cross-entropies of the adversaries."""
    x = x / 2.0
    z = objective.to_z(x)
    apart = [torch.stack([(p * (1 - q) + q * (1 - p)).sum().abs() for q in codes]) for p in codes]
    graph = (1 - torch.stack(apart) / BITS).clamp(min=0) ** 1.4
    degree = graph.sum(1)
    g = torch.sigmoid(graph / torch.outer(degree, degree).sqrt() @ objective.graph(z))
    value = (objective.decoder(g) - x).square().sum() / 2
    generator = torch.Generator().manual_seed(4)
    torch.rand(codes.shape, generator=generator, dtype=torch.float64)  # the noise of the codes
    coins = (torch.rand(codes.shape, generator=generator, dtype=torch.float64) > 0.5).double()
    uniform = torch.rand(g.shape, generator=generator, dtype=torch.float64)
    for adversary, learned, real in zip(objective.adversaries, (codes, g), (coins, uniform), strict=True):
        value = value - sign * adversary(real).sigmoid().log().mean()
        value = value - sign * (1 - adversary(learned).sigmoid()).log().mean()
    return value


@pytest.mark.parametrize("m, noise", [(1, "half"), (5, "uniform"), (6, "half")])
def test_tbh_is_its_formula_and_both_players_have_their_gradients(m: int, noise: Noise) -> None:
    objective = tbh.Objective(WIDTH, BITS, bottleneck=4, hidden=3, value_max=2.0, noise=noise, seed=6).double()
    u = drawn(m, BITS).requires_grad_()
    x = drawn(m, WIDTH, seed=2).abs()
    drawn_noise = torch.rand(m, BITS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    threshold = drawn_noise if noise == "uniform" else 0.5
    p = u.detach().sigmoid()
    codes = (p > threshold).double().requires_grad_()
    actual = value(objective, u, x)
    lowered = tbh_by_formula(objective, codes, x, 1.0)
    assert actual.item() == pytest.approx(lowered.item(), rel=1e-10)
    actual.backward()
    raised = tbh_by_formula(objective, codes, x, -1.0)
    for name, values in objective.named_parameters():  # the adversaries lower what the others raise
        by_formula = lowered if "adversaries" in name else raised
        torch.testing.assert_close(values.grad, torch.autograd.grad(by_formula, values, retain_graph=True)[0])
    (of_codes,) = torch.autograd.grad(raised, codes)
    torch.testing.assert_close(u.grad, p * (1 - p) * of_codes)
    assert of_codes.count_nonzero() > 0


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
