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
from torch import Tensor, nn

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData, TrainingFailed
from hashbench.learning.losses import LabelSupervision, label_levels, tie_aware_ap, tie_aware_ndcg
from hashbench.learning.methods import METHODS
from hashbench.learning.sparse.objectives import HashObjective
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
    made: list[graphs.RecordedSteps] = []
    begin = graphs.RecordedSteps.__init__
    monkeypatch.setattr(graphs.RecordedSteps, "__init__", lambda own, *given: made.append(own) or begin(own, *given))
    return made


@pytest.mark.usefixtures("exactly")
@pytest.mark.parametrize("method, changes, n_recorded", small_fits.RECORDED, ids=str)
def test_graphs_end_with_the_weights_of_plain_steps(
    method: str, changes: dict[str, Any], n_recorded: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recorded_steps(monkeypatch)
    recorded = small_fits.fit(method, changes, tmp_path / "recorded", "cuda", "float32")
    (steps,) = made
    assert steps.recorded is not None
    if method != "ce":  # which waits on a CPU only
        assert (steps.recorded.replay_objective is not None) == (n_recorded == 3)
    monkeypatch.setattr(graphs, "recorder_for", lambda device: None)
    plain = small_fits.fit(method, changes, tmp_path / "plain", "cuda", "float32")
    for name, values in plain.items():
        torch.testing.assert_close(
            recorded[name], values, rtol=1e-3, atol=1e-4, msg=lambda text, key=name: f"{key}: {text}"
        )


@pytest.mark.usefixtures("exactly")
@pytest.mark.parametrize("base", ["triplet", "npairs"])
def test_a_flow_on_the_cpu_is_between_the_graphs(base: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded_steps(monkeypatch)
    hashers = []
    given = {"base": base, "d": 16, "k": 2, "width": 0.25, "epochs": 2, "steps_per_epoch": 10, "batch_size": 8}
    settings: Any = Run.resolve("cifar100", "sparse_hash", "sparse_hash", {**given, "classes_per_batch": 4}).settings
    items = np.random.default_rng(0).integers(0, 256, (60, 32, 32, 3), np.uint8)
    labels = np.arange(60) % 6
    for name in ("recorded", "plain"):
        folder = tmp_path / name
        folder.mkdir()
        objective = HashObjective(
            torch.from_numpy(labels), base, k=2, lam=0.5, variant="released", margin=1.0, l2=0.003
        )
        exact = Execution("cuda", precision="float32")
        data = TrainingData(items, labels, 255.0, seed=1, folder=folder, execution=exact)
        hashers.append(loop.train(settings, objective, data, "sparse_hash").state_dict())
        monkeypatch.setattr(graphs, "recorder_for", lambda device: None)
    assert made[0].recorded is not None
    assert made[0].recorded.replay_objective is None
    for key, values in hashers[1].items():
        torch.testing.assert_close(hashers[0][key], values, rtol=1e-2, atol=1e-3)


class Waits(nn.Module):
    """Reads a value at each step, so that it cannot be recorded."""

    def forward(self, values: Tensor) -> Tensor:
        return values * (1.0 + 0.0 * values.detach().sum().item())


@pytest.mark.usefixtures("exactly")
def test_a_network_that_cannot_be_recorded_is_trained_plainly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = loop.Trainer.__init__

    def begin_with_waiting(own: loop.Trainer, *given: Any) -> None:
        begin(own, *given)
        own.hasher.encoder[0] = nn.Sequential(own.hasher.encoder[0], Waits())
        if own.recorded is not None:
            own.recorded = own._recorded()

    monkeypatch.setattr(loop.Trainer, "__init__", begin_with_waiting)
    monkeypatch.setattr(loop.DeepHasher, "save", lambda own, folder: None)
    ended = small_fits.fit("talr_ap", small_fits.DROPOUT, tmp_path, "cuda")  # it draws after the failure
    assert all(values.isfinite().all() for values in ended.values())
    assert "are not replayed as CUDA graphs" in capsys.readouterr().err


def test_a_batch_that_does_not_fit_names_one_that_does(tmp_path: Path) -> None:
    given: Settings = {"bits": 8, "model": "small_cnn", "epochs": 1, "batch_size": 4000}
    settings = Run.resolve("cifar10", "s1", "talr_ap", given).settings
    items = np.zeros((4000, 32, 32, 3), np.uint8)
    exact = Execution("cuda", precision="float32")
    data = TrainingData(items, np.arange(4000) % 10, 255.0, seed=1, folder=tmp_path, execution=exact)
    torch.cuda.empty_cache()
    limit = torch.cuda.memory_reserved() + (256 << 20)
    torch.cuda.set_per_process_memory_fraction(limit / torch.cuda.get_device_properties(0).total_memory)
    try:
        with pytest.raises(
            TrainingFailed, match=r"about [\d.]+ GiB of cuda, .*; batch_size (2000|1000|500|250|125) fits"
        ):
            METHODS.get("talr_ap").fit(settings, data)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
        torch.cuda.empty_cache()


def test_a_resumed_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save = loop.Trainer.save_checkpoint_if_due

    def save_and_stop(run: loop.Trainer) -> None:
        save(run)
        if run.epochs_done == 30:
            raise KeyboardInterrupt

    chosen = cell("dpsh", pairing="memory", epochs=60)  # the memory is part of the checkpoint
    execution = Execution(device="cuda", checkpoint_every_s=0)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(loop.Trainer, "save_checkpoint_if_due", save_and_stop)
        row_of(chosen, Store(tmp_path), execution)
    epochs: list[int] = []
    epoch = loop.Trainer.epoch
    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "epoch", lambda run, at, bar: epochs.append(at) or epoch(run, at, bar))
        row = row_of(chosen, Store(tmp_path), execution)
    assert epochs == list(range(30, 60))
    assert row.status == "ok"


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
