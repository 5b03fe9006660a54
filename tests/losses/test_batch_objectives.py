"""Objectives of a batch (DSH, DHN, DCH, DBDH, QSMI, LCDSH, FastAP, IDHN, HSWD, DFH): formulas, gradients, effect."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from support import batch_oracles as oracle
from torch import Tensor

from hashbench.learning.losses import (
    LabelSupervision,
    as_row_objective,
    dbdh,
    dch,
    dfh,
    dhn,
    dsh,
    fastap,
    hashnet,
    hswd,
    idhn,
    label_levels,
    lcdsh,
    qsmi,
)

BITS = 5
CLASSES = 3
Loss = Callable[[Tensor, Tensor], Tensor]
COSINE: Any = {"similarity": "cosine", "scale": 3.0, "weighting": "similar"}
INNER: Any = {"similarity": "inner_product", "scale": 0.5, "weighting": "none"}
BINARY: Any = {"binary": True, "clip": 1.0, "scale": 0.5, "over": "items"}
CLAMPED: Any = {"binary": False, "clip": 1.0, "scale": 0.3, "over": "bits"}
BOTH: Any = {"distance": "cosine", "gamma": 2.0, "weighting": "both"}
RELEASED: Any = {"distance": "euclidean", "gamma": 8.0, "weighting": "similar"}
# the loss, its transcription
CASES: dict[str, tuple[Loss, Callable[[oracle.Rows, oracle.Labels], float]]] = {
    "dsh": (partial(dsh.loss, margin=4.0, alpha=0.03), partial(oracle.dsh, m=4.0, alpha=0.03)),
    "dhn_cosine": (
        partial(dhn.loss, **COSINE, eta=0.2),
        partial(oracle.dhn, cosines=True, a=3.0, weigh_similar=True, eta=0.2),
    ),
    "dhn_inner": (
        partial(dhn.loss, **INNER, eta=0.2),
        partial(oracle.dhn, cosines=False, a=0.5, weigh_similar=False, eta=0.2),
    ),
    "dch_cosine": (
        partial(dch.loss, **BOTH, eta=0.2),
        partial(oracle.dch, cosines=True, gamma=2.0, weighting="both", eta=0.2),
    ),
    "dch_euclidean": (
        partial(dch.loss, **RELEASED, eta=0.2),
        partial(oracle.dch, cosines=False, gamma=8.0, weighting="similar", eta=0.2),
    ),
    "dbdh_binary": (
        partial(dbdh.loss, **BINARY, eta=0.4),
        partial(oracle.dbdh, binary=True, scale=0.5, eta=0.4, over_items=True),
    ),
    "dbdh_clamped": (
        partial(dbdh.loss, **CLAMPED, eta=0.4),
        partial(oracle.dbdh, binary=False, scale=0.3, eta=0.4, over_items=False),
    ),
    "qsmi": (partial(qsmi.loss, clamped=True, alpha=0.01), partial(oracle.qsmi, clamped=True, alpha_of_sum=0.08)),
    "qsmi_plain": (partial(qsmi.loss, clamped=False, alpha=0.0), partial(oracle.qsmi, clamped=False, alpha_of_sum=0)),
    "lcdsh": (partial(lcdsh.loss, eta=3.0), partial(oracle.lcdsh, eta=3.0)),
    "fastap": (partial(fastap.loss, n_bins=4), partial(oracle.fastap, n_bins=4)),
    "idhn": (partial(idhn.loss, scale=5.0, gamma=0.3, eta=0.2), partial(oracle.idhn, scale=5.0, gamma=0.3, eta=0.2)),
    "dfh": (partial(dfh.loss, margin=0.6), partial(oracle.margin_likelihood, margin=0.6)),
}

ONE = [{0}, {1}, {0}, {2}, {1}, {0}, {2}, {1}]
SEVERAL = [{0, 1}, {1}, {0}, {0, 1, 2}, {2}, set(), {1, 2}, {0, 1}]


def outputs(m: int = 8, bits: int = BITS, seed: int = 0, scale: float = 1.0) -> Tensor:
    drawn = torch.randn(m, bits, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return scale * torch.tanh(drawn)


def hot(labels: oracle.Labels) -> Tensor:
    return torch.tensor([[int(k in label_set) for k in range(CLASSES)] for label_set in labels])


def levels(labels: oracle.Labels) -> Tensor:
    return label_levels(hot(labels))


def gradient(loss: Callable[[Tensor], Tensor], activations: Tensor) -> Tensor:
    leaf = activations.clone().requires_grad_()
    loss(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


@pytest.mark.parametrize("name, labels", [(name, labels) for name in CASES for labels in (ONE, SEVERAL)])
def test_it_is_the_formula_of_the_paper_in_loops(name: str, labels: oracle.Labels) -> None:
    loss, slow = CASES[name]
    for scale in (1.0,) if name == "fastap" else (1.0, 1.7):  # beyond 1 too
        rows = outputs(scale=scale)
        assert loss(rows, levels(labels)).item() == pytest.approx(slow(rows.tolist(), labels), rel=1e-10)


def test_dbdhs_gradient_is_that_of_its_codes_where_outputs_are_within_the_clip() -> None:
    u = outputs(scale=1.6)
    relevance = levels(ONE)
    assert 0 < (u.abs() > 1).sum() < u.numel()
    at_codes = gradient(
        lambda b: dbdh.loss(b, relevance, **{**BINARY, "binary": False, "clip": 0.0}, eta=0.4), u.sign()
    )
    for clip, passes in ((1.0, u.abs() <= 1), (0.0, torch.ones_like(u))):
        actual = gradient(partial(dbdh.loss, relevance=relevance, **{**BINARY, "clip": clip}, eta=0.4), u)
        torch.testing.assert_close(actual, at_codes * passes)


@pytest.mark.parametrize(
    "loss", [partial(dhn.loss, **COSINE), partial(dch.loss, **BOTH), partial(dch.loss, **RELEASED)]
)
def test_the_released_quantisation_is_a_square(loss: Callable[..., Tensor]) -> None:
    u = outputs()
    of_sets = levels(SEVERAL)
    added = loss(u, of_sets, eta=0.2, quantisation="square") - loss(u, of_sets, eta=0.0)
    assert added.item() == pytest.approx(0.2 * oracle.mean_off_corners(u.tolist(), lambda gap: gap**2))


def draws(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_hswd_is_the_likelihood_of_the_tanh_and_the_transport_of_the_outputs() -> None:
    rows = torch.arange(8)
    supervision = LabelSupervision(hot(SEVERAL))
    base = as_row_objective(partial(hashnet.loss, scale=0.7), supervision)
    signs = (2.0 * torch.randint(2, (8, BITS), generator=draws()) - 1).tolist()
    u = outputs(scale=1.5)
    for squash in (False, True):
        objective = hswd.WithTransport(base, alpha=0.3, squash=squash)
        squashed = (u.tanh() if squash else u).tolist()
        expected = oracle.hashnet(squashed, SEVERAL, 0.7) + 0.3 * oracle.transport(u.tolist(), signs)
        assert objective(u, rows, draws()).item() == pytest.approx(expected, rel=1e-10)
        assert torch.autograd.gradcheck(lambda v, o=objective: o(v, rows, draws()), (u.clone().requires_grad_(),))


@pytest.mark.parametrize("labels", [ONE, SEVERAL])
def test_dfh_is_the_loop_over_its_batches(labels: oracle.Labels) -> None:
    weights: Any = {"margin": 0.5, "mu": 0.8, "vul": 0.3, "eta": 0.4}
    slow = oracle.Dfh(labels, CLASSES, BITS, **weights)
    class_labels = hot(labels) if labels is SEVERAL else torch.tensor([10 * k for (k,) in labels])
    objective = dfh_objective(LabelSupervision(class_labels), BITS, **weights).double()
    for step, rows in enumerate(([0, 1, 2], [3, 4, 5, 6], [7, 0, 3], [2])):
        u = outputs(len(rows), seed=step)
        actual = objective(u, torch.tensor(rows), draws())
        assert actual.item() == pytest.approx(slow.loss(u.tolist(), rows), rel=1e-10)
        assert objective.centres.tolist() == slow.centres
    assert set(objective.state_dict()) == {"likelihood.outputs", "centres"}


def dfh_objective(of: LabelSupervision, bits: int, *, margin: float, **weights: float) -> dfh.Objective:
    return dfh.Objective(dfh.MemoryLikelihood(of, bits, margin=margin), of.labels, bits, **weights)


# as the methods' files have them; whether the outputs are relaxed by tanh
