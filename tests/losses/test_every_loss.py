"""Properties of every objective: correct gradients, finite values, no effect of the order of the batch."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hashbench.learning.losses import (
    dbdh,
    dch,
    dfh,
    dhn,
    dpsh,
    dsh,
    dtsh,
    fastap,
    gated,
    hashnet,
    idhn,
    lcdsh,
    metric_learning,
    mihash,
    qsmi,
    tie_aware_ap,
    tie_aware_ndcg,
)

Loss = Callable[[Tensor, Tensor], Tensor]

LISTWISE: dict[str, Loss] = {
    "ap_simplified": tie_aware_ap.simplified,
    "ap_exact": tie_aware_ap.exact,
    "ap_exact_wide": partial(tie_aware_ap.exact, n_bins=4, delta=2.0),
    "ndcg_simplified": tie_aware_ndcg.simplified,
    "ndcg_exact": tie_aware_ndcg.exact,
    "ndcg_exact_wide": partial(tie_aware_ndcg.exact, n_bins=4, delta=1.5),
    "mihash": mihash.loss,
    "mihash_wide": partial(mihash.loss, n_bins=5, delta=2.0),
    "fastap": fastap.loss,
}
LIKELIHOOD: dict[str, Loss] = {
    "dpsh": partial(dpsh.loss, eta=0.1),
    "dtsh": partial(dtsh.loss, margin=3.0, eta=0.1),
    "hashnet": partial(hashnet.loss, scale=10 / 6),
    "hashnet_released": partial(hashnet.loss, scale=10 / 6, weight_similar=5.0),
    "dsh": partial(dsh.loss, margin=12.0, alpha=0.01),
    "dhn": partial(dhn.loss, similarity="cosine", scale=10.0, weighting="similar", eta=0.1),
    "dhn_inner": partial(dhn.loss, similarity="inner_product", scale=0.5, weighting="none", eta=0.2),
    "dch": partial(dch.loss, distance="cosine", gamma=5.0, weighting="both", eta=0.1),
    "dch_released": partial(dch.loss, distance="euclidean", gamma=20.0, weighting="similar", eta=0.1),
    "dbdh": partial(dbdh.loss, binary=False, clip=0.0, scale=0.5, eta=0.1, over="items"),
    "dbdh_clamped": partial(dbdh.loss, binary=False, clip=1.0, scale=0.3, eta=0.4, over="bits"),
    "qsmi": partial(qsmi.loss, clamped=True, alpha=0.01),
    "qsmi_plain": partial(qsmi.loss, clamped=False, alpha=0.0),
    "lcdsh": partial(lcdsh.loss, eta=3.0),
    "dfh": partial(dfh.loss, margin=0.6),
}
OF_LABELS: dict[str, Loss] = {"idhn": partial(idhn.loss, scale=5.0, gamma=0.3, eta=0.2)}  # of the diagonal too
# of embeddings in two rounds of classes; the second argument, the relevance, decides nothing
METRIC: dict[str, Loss] = {
    "triplet": lambda f, relevance: metric_learning.triplet(f, classes(f), margin=0.5),
    "npairs": lambda f, relevance: metric_learning.npairs(f, l2=0.1),
    "gated_triplet": lambda f, relevance: gated.triplet(f, classes(f), buckets(f), margin=1.0),
    "gated_npairs": lambda f, relevance: gated.npairs(f, buckets(f), l2=0.003),
    "gated_npairs_released": lambda f, relevance: gated.npairs_as_released(f, buckets(f), l2=0.003),
}
RANKING = LISTWISE | LIKELIHOOD
OF_BATCHES = RANKING | OF_LABELS
LOSSES = OF_BATCHES | METRIC


def of(losses: dict[str, Loss]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("loss", losses.values(), ids=losses)


def classes(rows: Tensor) -> Tensor:
    return torch.arange(len(rows)) % (len(rows) // 2)


def buckets(rows: Tensor) -> Tensor:
    """Two of each example, the same in a class; a class shares one with the next."""
    return (classes(rows)[:, None] + torch.arange(2)) % rows.shape[1]


def batch(m: int = 10, bits: int = 6, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Relaxed codes and the numbers of shared labels, several levels."""
    generator = torch.Generator().manual_seed(seed)
    relaxed = torch.tanh(torch.randn(m, bits, generator=generator, dtype=torch.float64))
    labels = (torch.rand(m, 4, generator=generator) < 0.3).long()
    return relaxed, labels @ labels.T


def value_and_gradient(loss: Loss, relaxed: Tensor, relevance: Tensor) -> tuple[Tensor, Tensor]:
    leaf = relaxed.clone().requires_grad_()
    value = loss(leaf, relevance)
    assert value.shape == ()
    value.backward()
    assert leaf.grad is not None
    return value.detach(), leaf.grad


@of(LOSSES)
def test_gradient_is_that_of_the_value(loss: Loss) -> None:
    for seed, scale in ((0, 1.0), (1, 1.0), (2, 2.5)):  # 2.5: outside the cube
        relaxed, relevance = batch(seed=seed)
        assert torch.autograd.gradcheck(partial(loss, relevance=relevance), ((scale * relaxed).requires_grad_(),))


def saturated() -> dict[str, Tensor]:
    signs = torch.where(batch(20, 12)[0] > 0, 1.0, -1.0)
    return {
        "equal": torch.ones(20, 12),
        "opposite": signs[:1] * torch.tensor([1.0, -1.0]).repeat(10)[:, None],
        "signs": signs,
        "zero": torch.zeros(20, 12),
        "nearly signs": signs * (1 - 1e-7),
        "beyond signs": signs * (1 + 1e-6),
        "huge": 1e4 * signs,
        "huge and random": 1e4 * batch(20, 12)[0].float(),
        "tiny": 1e-30 * signs,
        "enormous": 1e12 * signs,
    }


@of(LOSSES)
def test_value_and_gradient_are_finite_at_saturation(loss: Loss) -> None:
    bad = []
    for kind, relaxed in saturated().items():
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            value, gradient = value_and_gradient(loss, relaxed.to(dtype), batch(20, 12)[1])
            if not (value.isfinite() and gradient.isfinite().all() and gradient.dtype == dtype):
                bad.append((kind, dtype))
    assert bad == []


@of(OF_BATCHES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_finite_for_any_small_batch(loss: Loss, data: st.DataObject) -> None:
    m = data.draw(st.integers(1, 6))
    bits = data.draw(st.integers(1, 4))
    number = st.one_of(st.sampled_from([-1.0, 0.0, 1.0, 0.5]), st.floats(-2, 2))
    rows = data.draw(st.lists(st.lists(number, min_size=bits, max_size=bits), min_size=m, max_size=m))
    levels = data.draw(st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=m, max_size=m))
    value, gradient = value_and_gradient(loss, torch.tensor(rows), torch.tensor(levels))
    assert value.isfinite()
    assert gradient.isfinite().all()


@of(OF_BATCHES)
def test_order_of_the_batch_does_not_matter(loss: Loss) -> None:
    relaxed, relevance = batch(16, 8)
    order = torch.randperm(16, generator=torch.Generator().manual_seed(1))
    value, gradient = value_and_gradient(loss, relaxed, relevance)
    permuted_value, permuted_gradient = value_and_gradient(loss, relaxed[order], relevance[order][:, order])
    torch.testing.assert_close(permuted_value, value, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(permuted_gradient, gradient[order], rtol=1e-9, atol=1e-12)


@of(RANKING)
def test_an_example_never_counts_for_itself(loss: Loss) -> None:
    relaxed, relevance = batch(12, 8)
    garbage = relevance.clone()
    garbage.diagonal().copy_(torch.tensor([-7, 99, 0, 1] * 3))
    expected, measured = (value_and_gradient(loss, relaxed, levels) for levels in (relevance, garbage))
    assert torch.equal(measured[0], expected[0])
    assert torch.equal(measured[1], expected[1])


@of(LISTWISE)
def test_a_batch_without_relevant_pairs_is_zero_and_can_be_differentiated(loss: Loss) -> None:
    for m in (1, 8):
        value, gradient = value_and_gradient(loss, batch(m)[0], torch.eye(m, dtype=torch.long))
        assert value.item() == 0
        assert gradient.count_nonzero() == 0


@of(LOSSES)
def test_autocast_changes_nothing(loss: Loss) -> None:
    relaxed, relevance = batch(16, 24)
    relaxed = relaxed.float()
    outside = loss(relaxed, relevance)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(loss(relaxed, relevance), outside)


@pytest.mark.parametrize("name", ["ap_simplified", "ap_exact", "mihash", "fastap", *LIKELIHOOD])
def test_binary_objectives_see_only_whether_a_level_is_above_zero(name: str) -> None:
    relaxed, relevance = batch(14, 8)
    assert (relevance > 1).any()
    assert torch.equal(LOSSES[name](relaxed, relevance), LOSSES[name](relaxed, (relevance > 0).long()))
    assert torch.equal(LOSSES[name](relaxed, relevance), LOSSES[name](relaxed, relevance > 0))


@of(LOSSES)
def test_not_a_number_in_gives_not_a_number_out(loss: Loss) -> None:
    relaxed, relevance = batch(8)
    relaxed[0] = torch.nan
    assert loss(relaxed, torch.ones_like(relevance) - torch.eye(8, dtype=torch.long).roll(1, 0)).isnan()
