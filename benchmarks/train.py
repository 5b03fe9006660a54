"""Images per second while training, compared with a plain DataLoader and PIL pipeline for the same network.

Run `python benchmarks/train.py [--images N] [--epochs E] [--device auto] [--model small_cnn] [--finish]`. Both train
the network from random weights with the objective of TALR-AP on the same uint8 images, flipped (and, for small_cnn,
cropped); their epochs alternate. Ours keeps the images on the device, prepares them there in batches and, on a GPU,
uses bfloat16 autocast; in the plain pipeline, workers convert, resize, crop and normalise PIL images. With --finish,
ours is also timed on the whole of CIFAR-10 S1: 50 epochs on 5,000 images, then 60,000 images encoded. Writes
results/benchmarks/train-MACHINE.json, or train-MODEL-MACHINE.json for other networks.
"""

import argparse
import tempfile
import time
from pathlib import Path

import _record
import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from tqdm import tqdm

from hashbench.foundation import parallel
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import as_row_objective, label_levels, supervision_of, tie_aware_ap
from hashbench.learning.models import MODELS
from hashbench.learning.training.device import pick_device
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.loop import Trainer
from hashbench.learning.training.settings import DeepSettings
from hashbench.running.runs.run import Run

SIDE, CLASSES, BITS = 32, 10, 32


class PilImages(Dataset[tuple[Tensor, int]]):
    """The data set of a usual training script: each image of an array is converted to a PIL image and transformed."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, model: str) -> None:
        self.images, self.labels = images, labels
        pretrained = MODELS.get(model).pretrained
        fitted = transforms.RandomCrop(SIDE, padding=4)
        if pretrained is not None:
            fitted = transforms.Resize(pretrained.input.size, transforms.InterpolationMode.BICUBIC)
        self.transform = transforms.Compose(
            [
                fitted,
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
    """The training loop of a usual script in float32: workers prepare a batch, which is copied to the device."""

    def __init__(self, settings: DeepSettings, images: np.ndarray, labels: np.ndarray, device: torch.device) -> None:
        torch.manual_seed(0)
        self.settings, self.device = settings, device
        self.network = DeepHasher(settings, images.shape[1:], 255.0).encoder.to(device)
        self.optimiser = torch.optim.SGD(
            self.network.parameters(), lr=settings.lr, momentum=settings.momentum, weight_decay=settings.weight_decay
        )
        self.loader = DataLoader(
            PilImages(images, labels, settings.model),
            settings.batch_size,
            shuffle=True,
            num_workers=parallel.available_cores(),
            persistent_workers=True,
            pin_memory=device.type == "cuda",
        )

    def epoch(self) -> float:
        """The seconds of one epoch."""
        started = time.perf_counter()
        self.network.train()
        for images, labels in self.loader:
            relaxed = torch.tanh(self.settings.tanh_scale * self.network(images.to(self.device, non_blocking=True)))
            loss = tie_aware_ap.simplified(relaxed, label_levels(labels.to(self.device)), n_bins=12, delta=2.0)
            self.optimiser.zero_grad(set_to_none=True)
            loss.backward()
            self.optimiser.step()
        settle(self.device)
        return time.perf_counter() - started


def settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def ours(run: Trainer, epoch: int, bar: tqdm) -> float:
    started = time.perf_counter()
    run.epoch(epoch, bar)
    settle(run.device)
    return time.perf_counter() - started


def of_cell(model: str) -> DeepSettings:
    """The settings of CIFAR-10 S1 with this network, from random weights."""
    starts = {"weights": "none", "augment": "flip"} if MODELS.get(model).pretrained is not None else {}
    settings = Run.resolve("cifar10", "s1", "talr-ap", {"bits": BITS, "model": model, **starts}).settings
    assert isinstance(settings, DeepSettings)
    return settings


def objective(relaxed: Tensor, level: Tensor) -> Tensor:
    return tie_aware_ap.simplified(relaxed, level, n_bins=12, delta=2.0)


def run_of(settings: DeepSettings, data: TrainingData) -> Trainer:
    return Trainer(settings, as_row_objective(objective, supervision_of(data)), data, "talr_ap")


def finish(model: str, device_name: str, epochs: int = 50, n_encoded: int = 60_000) -> dict[str, float]:
    """The seconds to train on 5,000 images, and to encode ``n_encoded`` images, including all preparation."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n_encoded, SIDE, SIDE, 3), np.uint8)
    labels = rng.integers(0, CLASSES, 5000)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, tqdm(disable=True) as bar:
        run = run_of(
            of_cell(model),
            TrainingData(images[:5000], labels, 255.0, 0, Path(folder), execution=Execution(device_name)),
        )
        for epoch in range(epochs):
            run.epoch(epoch, bar)
        settle(run.device)
        trained = time.perf_counter()
        run.hasher.encode(images)
    seconds = {"train": round(trained - started, 2), "encode": round(time.perf_counter() - trained, 2)}
    print(f"CIFAR-10 S1 with {model}: {seconds['train']} s to train, {seconds['encode']} s to encode {n_encoded:,}")
    return seconds


def measure(n_images: int, epochs: int, device_name: str, model: str) -> dict[str, object]:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n_images, SIDE, SIDE, 3), np.uint8)  # the content does not change the speed
    labels = rng.integers(0, CLASSES, n_images)
    settings, device = of_cell(model), pick_device(device_name)
    with tempfile.TemporaryDirectory() as folder, tqdm(disable=True) as bar:
        run = run_of(settings, TrainingData(images, labels, 255.0, 0, Path(folder), execution=Execution(device_name)))
        plain = Plain(settings, images, labels, device)
        seconds = [(ours(run, epoch, bar), plain.epoch()) for epoch in range(1 + epochs)][1:]  # the first one warms up
    fastest = {name: min(each) for name, each in zip(("hashbench", "plain"), zip(*seconds, strict=True), strict=True)}
    speed = {name: round(n_images / value, 1) for name, value in fastest.items()}
    for name, value in speed.items():
        print(f"{name:<10} {value:>10.0f} images a second")
    times = round(speed["hashbench"] / speed["plain"], 2)
    print(f"{times} times the plain pipeline on {device}, {model}")
    return {
        "network": model,
        "batch_size": settings.batch_size,
        "device": str(device),
        "precision": run.precision,
        "images": n_images,
        "epochs": epochs,
        "images_per_s": speed,
        "times": times,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--model", default="small_cnn")
    parser.add_argument("--finish", action="store_true", help="also time the whole of CIFAR-10 S1")
    given = parser.parse_args()
    found = measure(given.images, given.epochs, given.device, given.model)
    if given.finish:
        found["cifar10_s1_seconds"] = finish(given.model, given.device)
    what = "train" if given.model == "small_cnn" else f"train-{given.model}"
    _record.write(what, found, str(found["device"]))


if __name__ == "__main__":
    main()
