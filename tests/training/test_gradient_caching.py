"""Encoding in chunks gives the gradient of the whole list."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hashbench.contract import TrainingData
from hashbench.foundation.errors import HashbenchError
from hashbench.losses import dpsh, tie_aware_ap
from hashbench.methods import METHODS
from hashbench.runs.run import Run
from hashbench.training.distributed import backward

M, BITS = 23, 6
LABELS = torch.arange(M) % 4
LEVELS = (LABELS[:, None] == LABELS).long()


def network(dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(7, 11), nn.ReLU(), nn.Dropout(dropout), nn.Linear(11, BITS))


def gradients(chunk: int, dtype: torch.dtype, model: nn.Module, listwise: bool = True) -> tuple[Tensor, list[Tensor]]:
    inputs = torch.randn(M, 7, generator=torch.Generator().manual_seed(2)).to(dtype)
    model.to(dtype)
    torch.manual_seed(3)

    def loss_of(relaxed: Tensor) -> Tensor:
        return tie_aware_ap.exact(relaxed, LEVELS) if listwise else dpsh.loss(relaxed, LEVELS, eta=0.1)

    loss = backward(lambda part: torch.tanh(model(inputs[part])), loss_of, M, chunk)
    return loss, [values.grad for values in model.parameters() if values.grad is not None]


@pytest.mark.parametrize("listwise", [True, False])
@pytest.mark.parametrize("chunk", [1, 5, 22, 23, 100])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-6), (torch.float64, 1e-13)])
def test_chunks_give_the_plain_gradient(chunk: int, dtype: torch.dtype, tolerance: float, listwise: bool) -> None:
    plain, cached = (gradients(size, dtype, network(), listwise) for size in (0, chunk))
    torch.testing.assert_close(cached, plain, rtol=tolerance, atol=tolerance)
    assert len(cached[1]) == 4


def test_the_second_pass_has_the_random_numbers_of_the_first() -> None:
    model, chunk = network(dropout=0.5).double(), 5
    loss, found = gradients(chunk, torch.float64, model)
    # the masks that were drawn, chunk by chunk, used in one plain pass
    torch.manual_seed(3)
    masks = torch.cat([nn.functional.dropout(torch.ones(n, 11).double(), 0.5) for n in (5, 5, 5, 5, 3)])
    drawn = torch.rand(3)  # and what comes after is as if there had been one pass
    plain = network().double()
    inputs = torch.randn(M, 7, generator=torch.Generator().manual_seed(2)).double()
    first, relu, _, last = plain.children()
    expected = tie_aware_ap.exact(torch.tanh(last(relu(first(inputs)) * masks)), LEVELS)
    expected.backward()
    torch.testing.assert_close(loss, expected.detach())
    torch.testing.assert_close(found, [values.grad for values in plain.parameters()])
    gradients(chunk, torch.float64, network(dropout=0.5))
    assert torch.equal(torch.rand(3), drawn)


def training_data(folder: Path, shape: tuple[int, ...] = (8, 8, 1)) -> TrainingData:
    rng = np.random.default_rng(0)
    items = rng.integers(0, 17, (60, *shape), np.uint8)
    return TrainingData(items, rng.integers(0, 3, 60), 16.0, seed=1, folder=folder, device="cpu")


@pytest.mark.parametrize("method", ["talr_ap", "dpsh", "dtsh"])
def test_training_in_chunks_ends_where_plain_training_does(method: str, tmp_path: Path) -> None:
    weights = []
    for chunk in (0, 7):
        (tmp_path / str(chunk)).mkdir()
        given = {"bits": 8, "epochs": 2, "batch_size": 30, "chunk": chunk, "model": "mlp", "augment": "crop_flip"}
        chosen = Run.resolve("digits", "s1", method, given).settings
        hasher = METHODS.get(method).fit(chosen, training_data(tmp_path / str(chunk)))
        weights.append(hasher.state_dict())  # type: ignore[attr-defined]
    torch.testing.assert_close(weights[1], weights[0], rtol=1e-4, atol=1e-5)


def test_batch_normalisation_is_refused_in_one_line(tmp_path: Path) -> None:
    given = {"bits": 8, "chunk": 7, "model": "small_cnn"}
    chosen = Run.resolve("digits", "s1", "talr_ap", given).settings
    with pytest.raises(HashbenchError, match="normalises by batch") as caught:
        METHODS.get("talr_ap").fit(chosen, training_data(tmp_path))
    assert "\n" not in str(caught.value)
