"""Seconds to fit each shallow method, its support vector machines beside LIBLINEAR's, and to encode a million items.

Run `python benchmarks/shallow.py [METHOD ...]`. Data are 2,000 items of 26 classes with 617 features, as in ISOLET,
drawn from Gaussians around random class means; codes have 64 bits. Each fit is timed once, with the processor time
beside the wall-clock time. Encoding is the median of 5, as are the machines, of 32 bits, which
`python benchmarks/shallow.py machines` times alone. Writes results/benchmarks/shallow-MACHINE.json, or
shallow-machines-MACHINE.json.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import _record
import numpy as np
from sklearn.svm import LinearSVC

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS, Linear, ShallowSettings
from hashbench.learning.methods._machines import machines
from hashbench.learning.methods._shallow import ShallowHasher
from hashbench.running.runs.run import Run
from hashbench.scoring.codes import binarize

ITEMS, FEATURES, CLASSES, BITS = 2000, 617, 26, 64
ENCODED, WIDTH = 1_000_000, 512
REPETITIONS = 5


def training_data(folder: Path) -> TrainingData:
    """Items around random class means, so that there is something to learn and something to confuse."""
    random = np.random.default_rng(0)
    labels = random.integers(0, CLASSES, ITEMS)
    means = random.standard_normal((CLASSES, FEATURES))
    items = means[labels] + 4 * random.standard_normal((ITEMS, FEATURES))
    return TrainingData(items, labels, 1.0, 0, folder, execution=Execution("cpu"))


def seconds_to_fit(method: str) -> dict[str, float]:
    """Wall-clock and processor seconds of one fit."""
    settings = Run.resolve("digits", "s1", method, {"bits": BITS}).settings
    with tempfile.TemporaryDirectory() as folder:
        data = training_data(Path(folder))
        started = time.perf_counter(), time.process_time()
        METHODS.get(method).fit(settings, data)
        return {"wall_s": time.perf_counter() - started[0], "cpu_s": time.process_time() - started[1]}


def seconds_of_machines() -> dict[str, float]:
    """The median seconds of the machines of 32 bits, random signs of classes, all in one problem and bit by bit."""
    with tempfile.TemporaryDirectory() as folder:
        data = training_data(Path(folder))
    inputs = data.items / np.linalg.norm(data.items, axis=1, keepdims=True)
    codes = np.where(np.random.default_rng(1).random((CLASSES, 32)) < 0.5, -1, 1).astype(np.int8)[data.labels]
    start = np.zeros((FEATURES, 32))

    def one_problem() -> None:
        machines(inputs, codes, start, 1.0, 1000, 1e-7)

    def bit_by_bit() -> None:
        for code in codes.T:
            LinearSVC(C=1.0, dual=False, fit_intercept=False).fit(inputs, code)

    return {way.__name__: median_seconds(way) for way in (one_problem, bit_by_bit)}


def median_seconds(work: Callable[[], object]) -> float:
    """The median of 5."""
    found = []
    for _ in range(REPETITIONS):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return statistics.median(found)


def seconds_to_encode() -> float:
    """The median seconds to encode a million float32 items of 512 features with 64 linear hash functions, packed."""
    random = np.random.default_rng(0)
    items = random.standard_normal((ENCODED, WIDTH), dtype=np.float32)
    hasher = ShallowHasher(Linear(np.zeros(WIDTH), random.standard_normal((WIDTH, BITS))), 1.0)
    return median_seconds(lambda: binarize(hasher.encode(items)))


def main() -> None:
    """Times what the command line names, or all shallow methods."""
    if sys.argv[1:] == ["machines"]:
        timed = {way: round(value, 3) for way, value in seconds_of_machines().items()}
        print(timed)
        _record.write("shallow-machines", {"items": ITEMS, "features": FEATURES, "bits": 32, "median_s": timed})
        return
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
