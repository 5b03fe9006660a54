"""DPSH, DTSH and HashNet against loops over pairs and triplets."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hashbench.learning.losses import dpsh, dtsh, hashnet


def batch(m: int, bits: int, seed: int = 0, n_classes: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    label = torch.randint(n_classes, (m,), generator=generator)
    return torch.randn(m, bits, generator=generator, dtype=torch.float64), (label[:, None] == label).long()


def quantisation(activations: Tensor) -> Tensor:
    return (torch.where(activations > 0, 1.0, -1.0) - activations).square().sum(1).mean()


def others(relevance: Tensor) -> Tensor:
    """The mask of pairs i != j."""
    return ~torch.eye(len(relevance), dtype=torch.bool)


@pytest.mark.parametrize("eta", [0.0, 0.1, 10.0])
def test_dpsh_is_its_formula(eta: float) -> None:
    activations, relevance = batch(9, 5)
    theta = activations @ activations.T / 2
    costs = theta.exp().log1p() - relevance * theta
    expected = costs[others(relevance)].mean() + eta * quantisation(activations)
    assert dpsh.loss(activations, relevance, eta=eta).item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("clip", [15.0, 1.0])
def test_hashnet_is_its_formula(clip: float) -> None:
    activations, relevance = batch(9, 5)
    relaxed = torch.tanh(activations)
    counted = others(relevance)
    product = (0.7 * relaxed @ relaxed.T)[counted]
    similar = relevance[counted]
    n_similar = similar.sum().double()
    weights = torch.where(similar > 0, len(similar) / n_similar, len(similar) / (len(similar) - n_similar))
    costs = torch.where(product > clip, product, product.exp().log1p()) - similar * product
    expected = (weights * costs).sum() / weights.sum()
    assert hashnet.loss(relaxed, relevance, scale=0.7, clip=clip).item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("margin, eta", [(2.5, 0.1), (0.0, 0.0)])
def test_dtsh_is_its_formula(margin: float, eta: float) -> None:
    activations, relevance = batch(11, 5, n_classes=4)
    theta = activations @ activations.T / 2
    is_triplet = ((relevance > 0) & others(relevance))[:, :, None] & (relevance == 0)[:, None]
    costs = (margin + theta[:, None] - theta[:, :, None]).exp().log1p()
    expected = costs[is_triplet].mean() + eta * quantisation(activations)
    assert dtsh.loss(activations, relevance, margin=margin, eta=eta).item() == pytest.approx(expected.item(), rel=1e-12)


def test_dtsh_cuts_a_large_batch_into_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    activations, relevance = batch(40, 6, n_classes=5)

    def run() -> tuple[Tensor, Tensor]:
        leaf = activations.clone().requires_grad_()
        value = dtsh.loss(leaf, relevance, margin=3.0, eta=0.0)
        value.backward()
        assert leaf.grad is not None
        return value.detach(), leaf.grad

    whole = run()
    # it takes a batch of a thousand to have more than one block without it
    monkeypatch.setattr(dtsh, "BLOCK", 1)
    torch.testing.assert_close(run(), whole, rtol=1e-12, atol=1e-14)


def released_hashnet(
    codes: tuple[np.ndarray, np.ndarray],
    labels: tuple[np.ndarray, np.ndarray],
    a: float,
    class_num: float,
    graded: bool,
) -> tuple[float, np.ndarray]:
    """The loss of pairwise_loss_layer.cu and what its backward pass gives both streams, in the order of its calls."""
    shared = (labels[0] @ labels[1].T).astype(float)
    n_labels = [np.maximum(of_stream.sum(axis=1), 1) for of_stream in labels]
    c = shared**2 / (n_labels[0][:, None] * n_labels[1][None, :])
    c[c == 0] = 0.25
    similar = shared > 0
    product = a * codes[0] @ codes[1].T
    costs = np.where(product >= 15, product * (1 - similar), np.log1p(np.exp(product)) - similar * product)
    count = np.where(similar, class_num, 1.0)
    diff = 2 * (1 / (1 + np.exp(-product)) - similar) * count
    if graded:
        diff = diff * c * 4
    actual = [diff @ codes[1] / count.sum(), diff.T @ codes[0] / count.sum()]
    for gradient in actual:
        gradient.reshape(-1)[: len(gradient)] *= a  # caffe_gpu_scal(outer_num_, sigmoid_param_, ...)
    return float((costs * count).sum() / count.sum()), np.concatenate(actual)


@pytest.mark.parametrize("one_class", [False, True])
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("bits", [6, 48])
def test_hashnets_gradient_is_half_the_released_one(bits: int, graded: bool, one_class: bool) -> None:
    rng = np.random.default_rng(bits)
    labels = np.eye(4, dtype=int)[rng.integers(0, 4, 12)] if one_class else (rng.random((12, 4)) < 0.4).astype(int)
    relaxed = np.tanh(3 * rng.standard_normal((12, bits)))
    relaxed[6] = relaxed[0] = 1.0  # a product above 15 where a is large
    a = 10 / bits if bits > 6 else 3.0
    value, gradient = released_hashnet((relaxed[:6], relaxed[6:]), (labels[:6], labels[6:]), a, 7.0, graded)
    leaf = torch.from_numpy(relaxed).requires_grad_()
    actual = hashnet.loss(
        leaf,
        torch.from_numpy(labels @ labels.T),
        scale=a,
        weight_similar=7.0,
        streams=True,
        continuous_similarity=graded,
        partly_scaled=True,
    )
    actual.backward()
    assert actual.item() == pytest.approx(value, rel=1e-6)  # log(1 + e^15) - 15 = 3e-7
    assert leaf.grad is not None
    np.testing.assert_allclose(leaf.grad, gradient / 2, rtol=1e-6, atol=1e-7)
