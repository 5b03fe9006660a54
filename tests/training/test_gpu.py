"""What only a GPU can show; make gpu-check."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support import two_processes
from torch import Tensor

from hashbench.foundation.parallel import DEFAULT_COMPUTE, ComputeOptions
from hashbench.losses import LabelSupervision, label_levels, tie_aware_ap, tie_aware_ndcg
from hashbench.methods import METHODS
from hashbench.runs.data import open_data
from hashbench.runs.guard import load_hasher, row_of
from hashbench.runs.run import Options, Run
from hashbench.runs.store import Store
from hashbench.training import loop
from hashbench.training.settings import DeepSettings

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
    return Run.resolve("digits", "s1", method, {"bits": 16, **settings})


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_training_on_the_gpu_is_as_good_as_on_the_cpu(precision: str, tmp_path: Path) -> None:
    chosen = cell(precision=precision)
    on_gpu = row_of(chosen, Store(tmp_path / "gpu"), Options(device="cuda"))
    on_cpu = row_of(cell(), Store(tmp_path / "cpu"), Options(device="cpu"))
    assert on_gpu.hardware["gpu"]
    assert on_gpu.arithmetic is not None
    assert on_gpu.arithmetic.precision == precision
    assert on_gpu.metrics["ap"].mean == pytest.approx(on_cpu.metrics["ap"].mean, abs=0.03)


@pytest.mark.parametrize(
    "compute",
    [DEFAULT_COMPUTE, ComputeOptions("float32"), ComputeOptions(channels_last=False), ComputeOptions(compiled=True)],
    ids=str,
)
def test_every_way_to_compute_trains(compute: ComputeOptions, tmp_path: Path) -> None:
    row = row_of(cell(), Store(tmp_path), Options(device="cuda", compute=compute))
    assert row.arithmetic is not None
    assert row.arithmetic.precision == ("float32" if compute.precision == "float32" else "bfloat16")
    assert (row.metrics["ap"].mean or 0) > 0.9


@pytest.mark.parametrize(("method", "settings", "least"), CELLS, ids=str)
def test_every_objective_trains(method: str, settings: Settings, least: float, tmp_path: Path) -> None:
    row = row_of(cell(method, **settings), Store(tmp_path), Options(device="cuda"))
    assert row.status == "ok", row.reason
    assert (row.metrics["ap"].mean or 0) > least


def test_a_resumed_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = loop.Trainer.save_checkpoint_if_due

    def save_and_stop(run: loop.Trainer) -> None:
        save(run)
        if run.epochs_done == 30:
            raise KeyboardInterrupt

    chosen = cell("dpsh", pairing="memory", epochs=60)  # the memory is part of the checkpoint
    options = Options(device="cuda", checkpoint_every_s=0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop.Trainer, "save_checkpoint_if_due", save_and_stop)
        row_of(chosen, Store(tmp_path), options)
    epochs: list[int] = []
    epoch = loop.Trainer.epoch
    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "epoch", lambda run, at, bar: epochs.append(at) or epoch(run, at, bar))
        row = row_of(chosen, Store(tmp_path), options)
    assert epochs == list(range(30, 60))
    assert row.status == "ok"


def test_a_hasher_gives_the_same_codes_on_both(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = row_of(cell(), store, Options(device="cpu"))
    data, ids = (opened := open_data(cell())).dataset, opened.ids
    items = data.items[ids.query_ids]
    activations = [load_hasher(row, store, device).encode(items) for device in ("cpu", "cuda")]
    np.testing.assert_allclose(*activations, atol=1e-3)


def value_and_gradient(name: str, dtype: torch.dtype, device: str) -> tuple[Tensor, Tensor]:
    """Of a list of 40 examples of 4 classes, in which the memories hold something."""
    relaxed = torch.randn(40, two_processes.BITS, generator=torch.Generator().manual_seed(0)).tanh()
    relaxed = relaxed.to(device, dtype).requires_grad_()
    labels = two_processes.LABELS
    if name in two_processes.LISTWISE:
        loss = two_processes.LISTWISE[name](relaxed, label_levels(labels.to(device)))
    else:
        memory = two_processes.MEMORIES[name](LabelSupervision(labels), two_processes.BITS)
        memory.outputs.normal_(generator=torch.Generator().manual_seed(1))
        part = torch.arange(0, 40, 3, device=device)
        loss = memory.to(device).forward(relaxed[part], part, torch.Generator().manual_seed(2))
    loss.backward()
    assert relaxed.grad is not None
    return loss.detach().cpu(), relaxed.grad.cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", [*two_processes.LISTWISE, *two_processes.MEMORIES])
def test_an_objective_is_that_of_the_cpu(name: str, dtype: torch.dtype) -> None:
    on_cpu, on_gpu = (value_and_gradient(name, dtype, device) for device in ("cpu", "cuda"))
    tolerance = 1e-5 if dtype == torch.float32 else 1e-10
    for expected, found in zip(on_cpu, on_gpu, strict=True):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("loss", [tie_aware_ap.simplified, tie_aware_ap.exact, tie_aware_ndcg.simplified])
def test_a_list_of_16384_fits_in_16_gb(loss: Callable[[Tensor, Tensor], Tensor]) -> None:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    relaxed = torch.randn(16_384, 48, device="cuda").tanh().requires_grad_()
    loss(relaxed, label_levels(torch.arange(16_384, device="cuda") % 10)).backward()
    assert relaxed.grad is not None
    assert relaxed.grad.isfinite().all()
    assert torch.cuda.max_memory_allocated() < 16e9
