"""DSDH and ADSH: objectives with discrete codes, against loops over examples and bits."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.on_digits import on_digits
from support.small_training import examples
from torch import Tensor

from hashbench.learning.contract import ItemRows, SavedHasher, SearchItems
from hashbench.learning.losses import ClassSupervision, LabelSupervision, adsh, as_row_objective, dpsh, dsdh
from hashbench.learning.methods import METHODS

M = 7
BITS = 4
LABELS = torch.tensor([0, 1, 2, 0, 1, 0, 1])
SEVERAL = torch.tensor([[1, 0, 1], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]])
ROWS = torch.arange(M)


def outputs(seed: int = 0) -> Tensor:
    return torch.randn(M, BITS, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def codes_by_loops(u: np.ndarray, y: np.ndarray, pull: float, ridge: float, classifier: str) -> np.ndarray:
    """Section 4 of the paper, bit by bit and example by example; or with the classifier of the released train.m."""

    def regression(codes: np.ndarray) -> np.ndarray:
        return np.linalg.inv(codes.T @ codes + ridge * np.eye(u.shape[1])) @ codes.T @ y

    b = np.zeros_like(u)
    w = regression(np.where(u > 0, 1.0, -1.0))
    for _ in range(10):
        before = b.copy()
        if classifier == "each_sweep":
            w = regression(b)
        for k in range(u.shape[1]):
            for i in range(len(u)):
                others = sum(b[i, other] * (w[other] @ w[k]) for other in range(u.shape[1]) if other != k)
                b[i, k] = 1 if y[i] @ w[k] + pull * u[i, k] - others > 0 else -1
        if (b == before).all():
            break
    return b


@pytest.mark.parametrize("classifier", ["once", "each_sweep"])
@pytest.mark.parametrize("labels", [LABELS, SEVERAL], ids=["one", "several"])
def test_dsdh_is_its_formula(labels: Tensor, classifier: Any) -> None:
    u = outputs().requires_grad_()
    classes = ClassSupervision(labels, 0)
    likelihood = as_row_objective(lambda codes, levels: dpsh.loss(codes, levels, eta=0.0), LabelSupervision(labels))
    weights: Any = {"eta": 0.3, "pull": 0.4, "ridge": 0.1, "classifier": classifier}
    actual = dsdh.Objective(likelihood, classes, **weights).forward(u, ROWS, torch.Generator())
    members = classes.members(ROWS).numpy()
    b = codes_by_loops(u.detach().numpy(), members, 0.4, 0.1, classifier)
    plain = u.detach().numpy()
    assert not (b == np.where(plain > 0, 1, -1)).all(), "the classes decide no bit here"
    pairs = [
        math.log1p(math.exp(theta)) - (members[i] @ members[j] > 0) * theta
        for i, j in product(range(M), repeat=2)
        if i != j
        for theta in [plain[i] @ plain[j] / 2]
    ]
    expected = np.mean(pairs) + 0.3 * np.mean(((b - plain) ** 2).sum(1))
    assert actual.item() == pytest.approx(expected, rel=1e-12)
    objective = dsdh.Objective(likelihood, classes, **weights)
    assert torch.autograd.gradcheck(lambda v: objective.forward(v, ROWS, torch.Generator()), (u,))


@pytest.mark.parametrize("labels", [LABELS, SEVERAL], ids=["one", "several"])
def test_adsh_is_its_formula(labels: Tensor) -> None:
    f = outputs(2).tanh().requires_grad_()
    objective = adsh.Objective(LabelSupervision(labels), BITS, gamma=3.0, every=1)
    with torch.no_grad():
        objective.forward(f, ROWS, torch.Generator())
    objective.after_epoch(0)
    v = objective.codes.numpy()
    plain = f.detach().numpy()
    hot = torch.nn.functional.one_hot(labels).numpy() if labels.ndim == 1 else labels.numpy()
    similar = hot @ hot.T > 0
    s = np.where(similar, 1.0, -similar.sum() / (~similar).sum())
    for k in range(BITS):  # from V = 0 on, in the order of the bits
        others = list(range(k))
        pull = BITS * s @ plain[:, k] + 3.0 * plain[:, k] - v[:, others] @ plain[:, others].T @ plain[:, k]
        np.testing.assert_array_equal(v[:, k], np.where(pull > 0, 1, -1))
    actual = objective.forward(f, ROWS, torch.Generator())
    expected = np.mean((plain @ v.T - BITS * s) ** 2) + 3.0 / M * np.mean(((v - plain) ** 2).sum(1))
    assert actual.item() == pytest.approx(expected, rel=1e-6)
    assert torch.autograd.gradcheck(lambda u: objective.forward(u, ROWS, torch.Generator()), (f,))


def test_learnt_codes_are_those_of_the_training_examples_in_the_database(tmp_path: Path) -> None:
    values = {"bits": 6, "epochs": 3, "batch_size": 20, "lr": 0.01, "searched": "learnt"}
    settings = on_digits("adsh", values).settings
    method = METHODS.get("adsh")
    data = examples(tmp_path, ids=np.arange(61)[::-1] * 2 + 5)
    hasher = method.fit(settings, data)
    plain = method.fit(settings.model_copy(update={"searched": "encoded"}), examples(tmp_path / "plain"))
    items = np.concatenate([data.items, data.items[:9]])
    places = np.arange(70)
    database = np.concatenate([data.ids, [0, 2, 4, 999, 1000, 1002, 1004, 1006, 1008]])
    # the items as the data set would have them, at the places of their ids
    whole = np.zeros((1100, *items.shape[1:]), items.dtype)
    whole[database] = items[places]
    search = SearchItems("toy", ItemRows(whole, database[:5]), ItemRows(whole, database))
    learnt, encoded = (likelihood_.output(search).database.bits() for likelihood_ in (hasher, plain))
    np.testing.assert_array_equal(learnt[61:], encoded[61:])  # others than the training examples
    assert (learnt[:61] != encoded[:61]).any()
    np.testing.assert_array_equal(hasher.output(search).query.bits(), plain.output(search).query.bits())
    folder = tmp_path / "saved"
    folder.mkdir()
    hasher.save(folder)
    again = method.load(settings, SavedHasher(folder, "cpu"))
    np.testing.assert_array_equal(again.output(search).database.bits(), learnt)
