"""Training and feature extraction on an idle and on a shared machine, with OpenMP threads that sleep or spin.

Run `python benchmarks/threads.py [--repetitions N]`. Each case runs in a process of its own, with
OMP_WAIT_POLICY=PASSIVE (what hashbench sets) or unset (threads spin), with nothing beside it or with one busy loop; the
four alternate. Times are medians of 5 in seconds, imports left out. All four must give the same result. Start it on an
idle machine. Writes results/benchmarks/threads-MACHINE.json.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import _record
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.methods import METHODS
from hashbench.running.features import features_of_items
from hashbench.running.runs.run import Run

REPETITIONS = 5
POLICIES = {"sleep": "PASSIVE", "spin": None}
CASES = ("linear", "mlp", "small_cnn", "gist")
EPOCHS = {"linear": 40, "mlp": 40, "small_cnn": 2}
IMAGES, BITS = 2000, 32

rng = np.random.default_rng(0)


def images() -> np.ndarray:
    return rng.integers(0, 256, (IMAGES, 32, 32, 3), np.uint8)


def train(model: str, epochs: int) -> bytes:
    """The activations of a hasher that TALR-AP trains: on the digits, or a convolutional network on random images."""
    if model == "small_cnn":
        dataset, items, labels, value_max = "cifar10", images(), rng.integers(0, 10, IMAGES), 255.0
    else:
        digits = load_digits()
        dataset, items, labels = "digits", digits.images[..., None].astype(np.uint8), digits.target
        value_max = 16.0
    spec = Run.resolve(dataset, "s1", "talr-ap", {"bits": BITS, "model": model, "epochs": epochs})
    with tempfile.TemporaryDirectory() as folder:
        data = TrainingData(items, labels, value_max, 0, Path(folder), execution=Execution("cpu"))
        return METHODS.get("talr-ap").fit(spec.settings, data).encode(items).tobytes()


def gist() -> bytes:
    return features_of_items(images(), "gist", 255.0, device="cpu").tobytes()


def measure(case: str) -> None:
    """Prints the seconds of one case and a checksum of its result; a first, shorter run has loaded everything."""
    warm, run = (gist, gist) if case == "gist" else (partial(train, case, epochs) for epochs in (1, EPOCHS[case]))
    warm()
    started = time.perf_counter()
    result = run()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "sha256": hashlib.sha256(result).hexdigest()}))


@contextmanager
def busy(beside: int) -> Iterator[None]:
    """While it is open, ``beside`` processes compute without a pause."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(beside)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def once(case: str, policy: str | None, beside: int) -> dict[str, float | str]:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    environment |= {} if policy is None else {"OMP_WAIT_POLICY": policy}
    command = [sys.executable, __file__, "--case", case]
    with busy(beside):
        found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return dict(json.loads(found.stdout.splitlines()[-1]))


def compare(case: str, repetitions: int, bar: tqdm) -> dict[str, float | bool]:
    """The median seconds by policy and company, and whether all runs gave the same result."""
    ways = {(name, beside): policy for beside in (0, 1) for name, policy in POLICIES.items()}
    found = {way: [] for way in ways}
    for _ in range(repetitions):
        for (name, beside), policy in ways.items():
            bar.set_postfix_str(f"{case}, {name}, {beside} beside")
            found[name, beside].append(once(case, policy, beside))
            bar.update()
    median = {way: statistics.median(float(run["seconds"]) for run in runs) for way, runs in found.items()}
    checksums = {run["sha256"] for runs in found.values() for run in runs}
    return {
        **{f"{name}_{'busy' if beside else 'idle'}_s": round(s, 3) for (name, beside), s in median.items()},
        "same_result": len(checksums) == 1,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        measure(given.case)
        return
    with tqdm(total=len(CASES) * given.repetitions * 4, unit="run") as bar:
        figures = {case: compare(case, given.repetitions, bar) for case in CASES}
    for case, found in figures.items():
        print(case, found)
    _record.write("threads", {"repetitions": given.repetitions, "cases": figures})


if __name__ == "__main__":
    main()
