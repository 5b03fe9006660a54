"""What only a GPU can show; make gpu-check."""

from pathlib import Path

import numpy as np
import pytest
import torch

from hashbench import experiment, measure
from hashbench.processes import USUAL, Compute
from hashbench.results import Store

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]


def cell(**settings: int | str) -> experiment.Experiment:
    return experiment.resolve("digits", "s1", "talr_ap", {"bits": 16, **settings})


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_training_on_the_gpu_is_as_good_as_on_the_cpu(precision: str, tmp_path: Path) -> None:
    chosen = cell(precision=precision)
    on_gpu = measure.run(chosen, Store(tmp_path / "gpu"), measure.Options(device="cuda"))
    on_cpu = measure.run(cell(), Store(tmp_path / "cpu"), measure.Options(device="cpu"))
    assert on_gpu.hardware["gpu"]
    assert on_gpu.arithmetic is not None
    assert on_gpu.arithmetic.precision == precision
    assert on_gpu.metrics["ap"].mean == pytest.approx(on_cpu.metrics["ap"].mean, abs=0.03)


@pytest.mark.parametrize(
    "compute", [USUAL, Compute("float32"), Compute(channels_last=False), Compute(compiled=True)], ids=str
)
def test_every_way_to_compute_trains(compute: Compute, tmp_path: Path) -> None:
    row = measure.run(cell(), Store(tmp_path), measure.Options(device="cuda", compute=compute))
    assert row.arithmetic is not None
    assert row.arithmetic.precision == ("float32" if compute.precision == "float32" else "bfloat16")
    assert (row.metrics["ap"].mean or 0) > 0.9


def test_a_hasher_gives_the_same_codes_on_both(tmp_path: Path) -> None:
    store = Store(tmp_path)
    row = measure.run(cell(), store, measure.Options(device="cpu"))
    data, ids = measure.open_protocol(cell())
    items = data.items[ids.query_ids]
    activations = [measure.load_hasher(row, store, device).encode(items) for device in ("cpu", "cuda")]
    np.testing.assert_allclose(*activations, atol=1e-3)
