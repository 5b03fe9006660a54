"""Images per minute of feature extraction, compared with a plain pipeline that prepares one image after another by PIL.

EfficientNet-Lite0, by pixels and in bfloat16, is compared with timm's own network, transforms and a DataLoader. The
whole command is timed once, with its peak memory, on the 60,000 images of CIFAR-10 and on the 1,797 of the digits.

Run `python benchmarks/features.py` after `hashbench download cifar10`; figures are medians of 5. The networks have
random weights, which take as long as trained ones. Writes results/benchmarks/features-MACHINE.json.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import _record
import numpy as np
import timm
import torch
from _record import LAUNCHER
from PIL import Image

from hashbench.foundation import paths
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import available_cores
from hashbench.learning.training.device import one_thread
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.store import open_dataset
from hashbench.running.features import FeatureModule, _gist, features_of_items, named

REPETITIONS = 5
BATCH = 64
IMAGES = {"pixels": 10_000, "gist": 2048, "vggf": 512, "alexnet": 512}
SIDES, OF_A_SIDE = (64, 128, 224), 512  # pixels, images
WHOLE, WHOLE_SIDES = ("digits", "cifar10"), (64, 128)  # of the whole command: data sets, pixels


@dataclass(frozen=True)
class Timing:
    """The time that it took to compute a number of rows of features."""

    what: str
    images: int
    median_s: float
    fastest_s: float

    @property
    def a_minute(self) -> float:
        """Images per minute, at the median."""
        return 60 * self.images / self.median_s


def timed(what: str, images: int, run: Callable[[], object]) -> Timing:
    run()
    seconds = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    found = Timing(what, images, statistics.median(seconds), min(seconds))
    print(f"{what:<44} {found.a_minute:>10,.0f} images a minute", flush=True)
    return found


def ours(name: str, built: FeatureModule, items: np.ndarray, batch: int) -> Timing:
    def run() -> object:
        starts = range(0, len(items), batch)
        return [built.module(torch.from_numpy(items[at : at + batch])).numpy() for at in starts]

    return timed(name, len(items), run)


def plain_network(name: str, built: FeatureModule, items: np.ndarray) -> Timing:
    """The plain pipeline: PIL resizes each image, it is normalised alone; the same network, channels first."""
    prepared, backbone = built.module.prepared, built.module.backbone.to(memory_format=torch.contiguous_format)
    size = (prepared.shape[2], prepared.shape[1])
    gain = prepared.rows[0].sum().item()  # to the network's range of values

    def one(image: np.ndarray) -> torch.Tensor:
        resized = np.asarray(Image.fromarray(image).resize(size, Image.Resampling.BICUBIC))
        return (torch.from_numpy(resized.copy()).permute(2, 0, 1).float() * gain - prepared.mean) / prepared.std

    def run() -> object:
        starts = range(0, len(items), BATCH)
        return [backbone(torch.stack([one(image) for image in items[at : at + BATCH]])).numpy() for at in starts]

    return timed(f"{name}, PIL image by image", len(items), run)


def plain_gist(items: np.ndarray) -> Timing:
    """GIST of one image after another with NumPy's FFT and fixed filters: a transcription of the MATLAB code."""
    filters = np.fft.ifftshift(_gist.transfer(4, 8, 96), (1, 2))
    blur, pad = _gist.blur(42), _gist.mirror(32, 5, 5)

    def one(image: np.ndarray) -> np.ndarray:
        grey = np.asarray(image, np.float64).mean(2)
        grey = np.log1p(255 * (grey - grey.min()) / max(1, np.ptp(grey)))
        padded = pad @ grey @ pad.T
        sharp = padded - blur @ padded @ blur.T
        flat = (sharp / (0.2 + np.sqrt(np.abs(blur @ sharp**2 @ blur.T))))[5:-5, 5:-5]
        spectrum = np.fft.fft2(np.pad(flat, 32, "symmetric"))
        answers = (np.abs(np.fft.ifft2(spectrum * each))[32:64, 32:64] for each in filters)
        return np.concatenate([answer.reshape(4, 8, 4, 8).mean((1, 3)).T.ravel() for answer in answers])

    return timed("gist, NumPy image by image", len(items), lambda: np.stack([one(image) for image in items]))


def lite0(side: int, items: np.ndarray) -> list[Timing]:
    """The extraction as hashbench features makes it, one batch a core; the same in bfloat16; and timm's loop."""
    name = f"efficientnet_lite0_{side}px"
    built = named(name, "none")[1].build(items.shape[1:], 255.0)
    half, batch = built.module.backbone.to(torch.bfloat16), named(name, "none")[1].batch

    def in_bfloat16(start: int) -> np.ndarray:
        with torch.inference_mode():  # it holds for a thread
            images = built.module.prepared(torch.from_numpy(items[start : start + batch]))
            images = images.to(torch.bfloat16).contiguous(memory_format=torch.channels_last)
            return half(images).float().numpy()

    def all_in_bfloat16() -> object:
        with one_thread(), ThreadPoolExecutor(available_cores()) as pool:
            return list(pool.map(in_bfloat16, range(0, len(items), batch)))

    return [
        timed(name, len(items), lambda: features_of_items(items, f"{name}_random", 255.0, device="cpu")),
        timed(f"{name}, bfloat16", len(items), all_in_bfloat16),
        timed(f"{name}, timm", len(items), timms_loop(side, items)),
    ]


def timms_loop(side: int, items: np.ndarray) -> Callable[[], object]:
    """A network of timm, its transforms on PIL images, and a DataLoader with a worker for each core."""
    network = timm.create_model("efficientnet_lite0", num_classes=0).eval()
    transform = timm.data.create_transform((3, side, side), is_training=False, crop_pct=1.0, interpolation="bicubic")

    class Images(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(items)

        def __getitem__(self, index: int) -> torch.Tensor:
            return transform(Image.fromarray(items[index]))

    loader = torch.utils.data.DataLoader(Images(), BATCH, num_workers=available_cores())
    return lambda: [network(batch).numpy() for batch in loader]


def whole(dataset: str, side: int) -> dict[str, object]:
    """``hashbench features`` of a whole data set in a process of its own: its seconds and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        (copy := Path(folder) / dataset).mkdir()  # the data without the features that are there
        for file in (paths.data() / dataset).glob("*"):
            if file.is_file():
                (copy / file.name).symlink_to(file)
        command = [sys.executable, "-m", "hashbench", "--data", folder, "features", dataset]
        command += ["--model", f"efficientnet_lite0_{side}px", "--weights", "none"]
        done = subprocess.run([sys.executable, "-c", LAUNCHER, *command], capture_output=True, check=True)  # noqa: S603
    status, seconds, _, peak_mib = json.loads(done.stdout)
    assert os.waitstatus_to_exitcode(status) == 0, done.stderr
    images = load_card(dataset).n_items
    print(f"{dataset}, {side} pixels: {images:,} images in {seconds:.0f} s, {peak_mib:.0f} MiB", flush=True)
    return {"dataset": dataset, "side": side, "images": images, "seconds": seconds, "peak_mib": peak_mib}


def measure() -> list[Timing]:
    items = open_dataset(load_card("cifar10")).items
    timings = []
    for name, n in IMAGES.items():
        chosen = np.array(items[:n])
        _, extractor = named(name, None if name in ("gist", "pixels") else "none")
        built = extractor.build(chosen.shape[1:], 255.0)
        timings.append(ours(name, built, chosen, extractor.batch))
        if name == "gist":
            timings.append(plain_gist(chosen[:128]))
        elif name != "pixels":
            timings.append(plain_network(name, built, chosen))
    return timings + [timing for side in SIDES for timing in lite0(side, np.array(items[:OF_A_SIDE]))]


def main() -> None:
    try:
        of_command = [whole(dataset, side) for side in WHOLE_SIDES for dataset in WHOLE]
        with torch.inference_mode():
            timings = measure()
    except HashbenchError as error:
        sys.exit(f"error: {error}")
    rates = [{**asdict(timing), "images_a_minute": round(timing.a_minute)} for timing in timings]
    _record.write("features", {"repetitions": REPETITIONS, "timings": rates, "of_command": of_command})


if __name__ == "__main__":
    main()
