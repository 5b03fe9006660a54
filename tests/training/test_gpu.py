"""What only a GPU can show; make gpu-check."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import small_fits
from support.on_digits import on_digits
from torch import Tensor

from hashbench.foundation.execution import Execution
from hashbench.learning.losses import LabelSupervision, label_levels, tie_aware_ap, tie_aware_ndcg
from hashbench.learning.methods import METHODS
from hashbench.learning.training import graphs, loop
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.data import open_data
from hashbench.running.runs.guard import load_hasher, row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
    # what CUDA's libraries and compilers warn of is shown, and is no failure
    pytest.mark.filterwarnings("default"),
]

DEEP = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, DeepSettings)]
# each objective, and each way to train that computes something of its own; the AP that it reaches on a CPU, and less
Settings = dict[str, int | float | str]
LOWER = {"ce": 0.7, "dbdh": 0.6, "lcdsh": 0.75, "idhn": 0.8, "dch": 0.85, "dfh": 0.85, "dhn": 0.85, "qsmi": 0.85}
LOWER |= {"dsdh": 0.8, "cibhash": 0.55, "greedyhash_u": 0.35, "ssdh": 0.28, "tbh": 0.27, "bihalf_u": 0.18}
CELLS: list[tuple[str, Settings, float]] = [(name, {}, LOWER.get(name, 0.9)) for name in DEEP] + [
    ("dpsh", {"pairing": "memory"}, 0.14),
    ("dtsh", {"pairing": "memory", "lr": 0.005}, 0.2),
    ("hashnet", {"pairing": "streams", "momentum_form": "lr_inside"}, 0.9),
    ("talr_ap", {"clip_norm": 1.0}, 0.9),
    ("talr_ap", {"variant": "exact"}, 0.9),
    ("talr_ap", {"model": "small_cnn", "epochs": 10}, 0.15),
    ("mihash", {"model": "squeezenet1_1", "weights": "none", "epochs": 1, "lr": 0.001}, 0.1),
]


def cell(method: str = "talr_ap", **settings: int | float | str) -> Run:
    return on_digits(method, {"bits": 16, **settings})


@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_every_precision_trains(precision: str, tmp_path: Path) -> None:
    row = row_of(cell(), Store(tmp_path), Execution("cuda", precision=precision))
    assert row.arithmetic is not None
    assert row.arithmetic.precision == ("float32" if precision == "float32" else "bfloat16")
    assert (row.metrics["ap"].mean or 0) > 0.9


@pytest.mark.parametrize("method, settings, least", CELLS, ids=str)
def test_every_objective_trains(method: str, settings: Settings, least: float, tmp_path: Path) -> None:
    row = row_of(cell(method, **settings), Store(tmp_path), Execution(device="cuda"))
    assert row.status == "ok", row.reason
    assert (row.metrics["ap"].mean or 0) > least


@pytest.fixture
def exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two trainings sum alike: without TF32, and without algorithms that are chosen by their time."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(loop, "fastest_algorithms", lambda device: nullcontext())
    monkeypatch.setattr(graphs, "LEAST_STEPS", 0)


def recorded_steps(monkeypatch: pytest.MonkeyPatch) -> list[graphs.RecordedSteps]:
    """The recorded steps of the runs to come."""
    recorded_runs: list[graphs.RecordedSteps] = []
    begin = graphs.RecordedSteps.__init__
    monkeypatch.setattr(
        graphs.RecordedSteps, "__init__", lambda run, *arguments: recorded_runs.append(run) or begin(run, *arguments)
    )
    return recorded_runs


@pytest.mark.usefixtures("exactly")
@pytest.mark.parametrize("method, changes, n_recorded", small_fits.RECORDED, ids=str)
def test_graphs_end_with_the_weights_of_plain_steps(
    method: str, changes: dict[str, Any], n_recorded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded_runs = recorded_steps(monkeypatch)
    recorded = small_fits.fit(method, changes, tmp_path / "recorded", "cuda", "float32")
    (steps,) = recorded_runs
    assert steps.recorded is not None
    if method != "ce":  # which waits on a CPU only
        assert (steps.recorded.replay_objective is not None) == (n_recorded == 3)
    monkeypatch.setattr(graphs, "recorder_for", lambda device: None)
    plain = small_fits.fit(method, changes, tmp_path / "plain", "cuda", "float32")
    for name, values in plain.items():
        torch.testing.assert_close(
            recorded[name], values, rtol=1e-3, atol=1e-4, msg=lambda text, key=name: f"{key}: {text}"
        )


def test_a_hasher_gives_the_same_codes_on_both(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = row_of(cell(), store, Execution(device="cpu"))
    data = (opened := open_data(cell())).dataset
    ids = opened.ids
    items = data.items[ids.query_ids]
    activations = [load_hasher(row, store, device).encode(items) for device in ("cpu", "cuda")]
    np.testing.assert_allclose(*activations, atol=1e-3)


def value_and_gradient(name: str, dtype: torch.dtype, device: str) -> tuple[Tensor, Tensor]:
    """Of a list of 40 examples of 4 classes, in which the memories hold something."""
    relaxed = torch.randn(40, small_fits.BITS, generator=torch.Generator().manual_seed(0)).tanh()
    relaxed = relaxed.to(device, dtype).requires_grad_()
    labels = small_fits.LABELS
    if name in small_fits.LISTWISE:
        loss = small_fits.LISTWISE[name](relaxed, label_levels(labels.to(device)))
    else:
        memory = small_fits.MEMORIES[name](LabelSupervision(labels), small_fits.BITS)
        memory.outputs.normal_(generator=torch.Generator().manual_seed(1))
        part = torch.arange(0, 40, 3, device=device)
        loss = memory.to(device).forward(relaxed[part], part, torch.Generator().manual_seed(2))
    loss.backward()
    assert relaxed.grad is not None
    return loss.detach().cpu(), relaxed.grad.cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", [*small_fits.LISTWISE, *small_fits.MEMORIES])
def test_an_objective_is_that_of_the_cpu(name: str, dtype: torch.dtype) -> None:
    on_cpu, on_gpu = (value_and_gradient(name, dtype, device) for device in ("cpu", "cuda"))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    for expected, actual in zip(on_cpu, on_gpu, strict=True):
        torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("loss", [tie_aware_ap.simplified, tie_aware_ap.exact, tie_aware_ndcg.simplified])
def test_a_list_of_16384_fits_in_16_gb(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    relaxed = torch.randn(16_384, 48, device="cuda").tanh().requires_grad_()
    loss(relaxed, label_levels(torch.arange(16_384, device="cuda") % 10)).backward()
    assert relaxed.grad is not None
    assert relaxed.grad.isfinite().all()
    assert torch.cuda.max_memory_allocated() < 16e9
