"""Images a second while training, side by side with a plain DataLoader and PIL pipeline of the same network.

Run as `python benchmarks/train.py [--images N] [--epochs E] [--device auto]`. Both train small_cnn with TALR-AP's
objective on the same uint8 images, cropped and flipped, epoch about; what differs is the pipeline (images on the
device, moved there in batch, against workers that decode nothing but turn, crop and normalise PIL images) and, on a
GPU, bfloat16 autocast. Writes results/benchmarks/train-MACHINE.json.
"""

import argparse
import json
import os
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from tqdm import tqdm

from hashbench import experiment, histogram, provenance
from hashbench.files import write_text
from hashbench.hasher import Fit
from hashbench.losses import tie_aware_ap
from hashbench.training.hasher import DeepHasher, pick_device
from hashbench.training.loop import Run, levels
from hashbench.training.settings import DeepSettings

REPOSITORY = Path(__file__).resolve().parent.parent
SIDE, CLASSES, BITS = 32, 10, 32


class PilImages(Dataset[tuple[Tensor, int]]):
    """The data set of a usual training script: an array of images, each turned into a PIL image and transformed."""

    def __init__(self, images: np.ndarray, labels: np.ndarray) -> None:
        self.images, self.labels = images, labels
        self.transform = transforms.Compose(
            [
                transforms.RandomCrop(SIDE, padding=4),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25)),
            ]
        )

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.images[index])), int(self.labels[index])


class Plain:
    """The training loop of a usual script: float32, workers, the batch sent to the device, one update."""

    def __init__(self, settings: DeepSettings, images: np.ndarray, labels: np.ndarray, device: torch.device) -> None:
        torch.manual_seed(0)
        self.settings, self.device = settings, device
        self.network = DeepHasher(settings, images.shape[1:]).encoder.to(device)
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay
        )
        self.loader = DataLoader(
            PilImages(images, labels),
            settings.batch_size,
            shuffle=True,
            num_workers=histogram.available_cores(),
            persistent_workers=True,
            pin_memory=device.type == "cuda",
        )

    def epoch(self) -> float:
        """Seconds of an epoch."""
        started = time.perf_counter()
        self.network.train()
        for images, labels in self.loader:
            relaxed = torch.tanh(self.settings.tanh_scale * self.network(images.to(self.device, non_blocking=True)))
            loss = tie_aware_ap.simplified(relaxed, levels(labels.to(self.device)), n_bins=12, delta=2.0)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
        settle(self.device)
        return time.perf_counter() - started


def settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def ours(run: Run, epoch: int, bar: tqdm) -> float:
    started = time.perf_counter()
    run.epoch(epoch, bar)
    settle(run.device)
    return time.perf_counter() - started


def measure(n_images: int, epochs: int, device_name: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n_images, SIDE, SIDE, 3), np.uint8)  # their content does not change the speed
    labels = rng.integers(0, CLASSES, n_images)
    settings = experiment.resolve("cifar10", "s1", "talr-ap", {"bits": BITS, "model": "small_cnn"}).settings
    assert isinstance(settings, DeepSettings)
    device = pick_device(device_name)

    def objective(relaxed: Tensor, level: Tensor) -> Tensor:
        return tie_aware_ap.simplified(relaxed, level, n_bins=12, delta=2.0)

    with tempfile.TemporaryDirectory() as folder, tqdm(disable=True) as bar:
        run = Run(settings, objective, Fit(images, labels, 255.0, 0, Path(folder), device_name), "talr_ap")
        plain = Plain(settings, images, labels, device)
        seconds = [(ours(run, epoch, bar), plain.epoch()) for epoch in range(1 + epochs)][1:]  # the first one warms up
    fastest = {name: min(each) for name, each in zip(("hashbench", "plain"), zip(*seconds, strict=True), strict=True)}
    speed = {name: round(n_images / value, 1) for name, value in fastest.items()}
    for name, value in speed.items():
        print(f"{name:<10} {value:>10.0f} images a second")
    times = round(speed["hashbench"] / speed["plain"], 2)
    print(f"{times} times the plain pipeline on {device}")
    return {"device": str(device), "images": n_images, "epochs": epochs, "images_per_s": speed, "times": times}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="auto")
    given = parser.parse_args()
    found = measure(given.images, given.epochs, given.device)
    machine = {**provenance.hardware(str(found["device"])), "cores": histogram.available_cores()}
    record = {
        "utc": provenance.utc(),
        "machine": machine,
        "load_average": [round(load, 2) for load in os.getloadavg()],
        "versions": provenance.versions(),
        "network": "small_cnn",
        "batch_size": 250,
        **found,
    }
    shown = machine["gpu"] or f"{machine['cpu']} {machine['cores']} cores"
    name = re.sub(r"[^a-z0-9]+", "-", str(shown).lower()).strip("-")
    path = REPOSITORY / "results" / "benchmarks" / f"train-{name}.json"
    write_text(path, json.dumps(record, indent=1) + "\n")
    print(path.relative_to(REPOSITORY))


if __name__ == "__main__":
    main()
