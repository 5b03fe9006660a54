"""Seconds to fit each shallow method, and to encode a million items with linear hash functions.

Run `python benchmarks/shallow.py [METHOD ...]`. Data are 2,000 items of 26 classes with 617 features, as in ISOLET,
drawn from Gaussians around random class means; codes have 64 bits. Each fit is timed once, with the processor time
beside the wall-clock time; encoding is the median of 5. Writes results/benchmarks/shallow-MACHINE.json.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import _record
import numpy as np

from hashbench.codes import binarize
from hashbench.contract import TrainingData
from hashbench.methods import METHODS, Linear, ShallowSettings
from hashbench.methods._shallow import ShallowHasher
from hashbench.runs.run import Run

ITEMS, FEATURES, CLASSES, BITS = 2000, 617, 26, 64
ENCODED, WIDTH = 1_000_000, 512
REPETITIONS = 5


def training_data(folder: Path) -> TrainingData:
    """Items around random class means, so that there is something to learn and something to confuse."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, ITEMS)
    means = random.standard_normal((CLASSES, FEATURES))
    items = means[labels] + 4 * random.standard_normal((ITEMS, FEATURES))
    return TrainingData(items, labels, 1.0, 0, folder, device="cpu")


def seconds_to_fit(method: str) -> dict[str, float]:
    """Wall-clock and processor seconds of one fit."""
    settings = Run.resolve("digits", "s1", method, {"bits": BITS}).settings
    with tempfile.TemporaryDirectory() as folder:
        data = training_data(Path(folder))
        started = time.perf_counter(), time.process_time()
        METHODS.get(method).fit(settings, data)
        return {"wall_s": time.perf_counter() - started[0], "cpu_s": time.process_time() - started[1]}


def seconds_to_encode() -> float:
    """The median seconds to encode a million float32 items of 512 features with 64 linear hash functions, packed."""
    random = np.random.default_rng(0)
    items = random.standard_normal((ENCODED, WIDTH), dtype=np.float32)
    hasher = ShallowHasher(Linear(np.zeros(WIDTH), random.standard_normal((WIDTH, BITS))), 1.0)
    found = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        binarize(hasher.encode(items))
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def main() -> None:
    """Times what the command line names, or all shallow methods."""
    shallow = [name for name in METHODS.names if issubclass(METHODS.get(name).settings, ShallowSettings)]
    fits = {}
    for method in sys.argv[1:] or shallow:
        fits[method] = {name: round(value, 2) for name, value in seconds_to_fit(method).items()}
        print(f"{method:18} {fits[method]['wall_s']:8.2f} s  {fits[method]['cpu_s']:8.2f} s of processor", flush=True)
    encode_s = round(seconds_to_encode(), 2)
    print(f"encode {ENCODED:,} x {WIDTH}: {encode_s} s")
    if not sys.argv[1:]:
        _record.write(
            "shallow", {"items": ITEMS, "features": FEATURES, "bits": BITS, "fit": fits, "encode_s": encode_s}
        )


if __name__ == "__main__":
    main()
