"""What only a GPU shows, kept in results/benchmarks/gpu-MACHINE.json; `make gpu-check` runs it after the gpu tests.

Images a second against the plain pipeline and the seconds of all of CIFAR-10 S1 (benchmarks/train.py), with small_cnn
and with VGG-F; and, where CIFAR-10 is downloaded, the AP of a short training of its S1 over three seeds, with each way
to compute. Without a GPU it says what it skipped and ends well; it ends with 1 where an AP is outside of seed noise.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import _record
import numpy as np
import torch
import train

from hashbench import experiment, measure
from hashbench.errors import HashbenchError
from hashbench.processes import Compute
from hashbench.results import Store

MODELS = ("small_cnn", "vggf")
WAYS = {
    "float32": Compute("float32"),
    "bfloat16": Compute("bfloat16"),
    "bfloat16, channels first": Compute("bfloat16", channels_last=False),
    "bfloat16, compiled": Compute("bfloat16", compiled=True),
}
SEEDS = range(3)


def short_training(epochs: int) -> dict[str, list[float]]:
    """The AP of CIFAR-10 S1, 32 bits, small_cnn, after so many epochs: of each way to compute, of each seed."""
    found: dict[str, list[float]] = {}
    for name, compute in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            options = measure.Options("cuda", compute=compute)
            rows = [measure.run(cell(seed, epochs), Store(Path(folder)), options) for seed in SEEDS]
        found[name] = [round(row.metrics["ap"].mean or 0.0, 4) for row in rows]
        print(f"CIFAR-10 S1, {epochs} epochs, {name}: AP {' '.join(map(str, found[name]))}")
    return found


def cell(seed: int, epochs: int) -> experiment.Experiment:
    return experiment.resolve(
        "cifar10", "s1", "talr-ap", {"bits": 32, "model": "small_cnn", "epochs": epochs}, seed=seed
    )


def outside_noise(found: dict[str, list[float]]) -> list[str]:
    """The ways whose mean is more than three standard errors (of both means) from that of float32."""
    usual = found["float32"]
    return [
        name
        for name, others in found.items()
        if abs(np.mean(others) - np.mean(usual))
        > 3 * np.sqrt((np.var(usual, ddof=1) + np.var(others, ddof=1)) / len(SEEDS))
    ]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20, help="of the short training")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device here: skipped the speed of training, CIFAR-10 S1 with VGG-F, and its short training")
        return 0
    found: dict[str, object] = {"speed": [train.measure(5000, 3, "cuda", model) for model in MODELS]}
    found["cifar10_s1_seconds"] = {model: train.finish(model, "cuda") for model in MODELS}
    bad: list[str] = []
    try:
        found["short_training_ap"] = short = short_training(given.epochs)
        bad = outside_noise(short)
    except HashbenchError as error:
        print(f"skipped the short training of CIFAR-10 S1: {error}")
        found["short_training_ap"] = f"skipped: {error}"
    _record.write("gpu", found, "cuda")
    for name in bad:
        print(f"error: {name}: the AP is outside of seed noise", file=sys.stderr)
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
