"""Time and peak memory of two ways to compute the soft histogram, forward and backward: two-bin scatter or bin by bin.

Run `python benchmarks/soft_histogram.py`; times are medians of five rounds. A memory figure is the peak of a separate
process, above its memory after the imports and a first small batch. Writes
results/benchmarks/soft-histogram-MACHINE.json.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
from _record import write
from torch import Tensor

from hashbench.learning.losses.soft_histogram import relaxed_distance, soft_histogram

BITS = 48
CLASSES = 10
ROUNDS = 5


def scatter(relaxed: Tensor, level: Tensor) -> Tensor:
    return soft_histogram(relaxed_distance(relaxed), level, n_levels=2, n_bits=BITS)


def bin_by_bin(relaxed: Tensor, level: Tensor) -> Tensor:
    distance = relaxed_distance(relaxed)
    off_diagonal = ~torch.eye(len(relaxed), dtype=torch.bool)
    masks = [((level == v) & off_diagonal).to(distance.dtype) for v in (0, 1)]
    pulses = (torch.relu(1 - (distance - centre).abs()) for centre in range(BITS + 1))
    return torch.stack([torch.stack([(pulse * mask).sum(1) for mask in masks], 1) for pulse in pulses], 1).double()


FORMS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"scatter": scatter, "bin_by_bin": bin_by_bin}


def batch(n_examples: int) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    label = torch.randint(CLASSES, (n_examples,))
    return torch.tanh(torch.randn(n_examples, BITS)), (label[:, None] == label).long()


def once(form: str, relaxed: Tensor, level: Tensor) -> float:
    leaf = relaxed.clone().requires_grad_()
    started = time.perf_counter()
    FORMS[form](leaf, level).square().sum().backward()
    return time.perf_counter() - started


def seconds(n_examples: int) -> dict[str, list[float]]:
    """The seconds of each form; the forms alternate, so that other programs disturb them alike."""
    arrays = batch(n_examples)
    rounds = [{form: once(form, *arrays) for form in FORMS} for _ in range(1 + ROUNDS)][1:]
    return {form: [each[form] for each in rounds] for form in FORMS}


def peak_mib(form: str, n_examples: int) -> float:
    """The peak resident memory of a new process, above its memory before (Linux only)."""
    command = [sys.executable, __file__, form, str(n_examples)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def resident_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def report_peak(form: str, n_examples: int) -> None:
    once(form, *batch(8))
    arrays = batch(n_examples)
    before = resident_mib("VmRSS:")
    once(form, *arrays)
    print(resident_mib("VmHWM:") - before)


def compared(figures: dict[str, float]) -> dict[str, float]:
    return {**figures, "times": round(figures["bin_by_bin"] / figures["scatter"], 1)}


def main() -> None:
    times = {
        f"M = {n_examples}": compared(
            {form: round(1e3 * median(values), 2) for form, values in seconds(n_examples).items()}
        )
        for n_examples in (256, 1024)
    }
    peaks = compared({form: round(peak_mib(form, 2048), 1) for form in FORMS})
    for place, figures in {**times, "M = 2048": peaks}.items():
        unit = "ms" if place in times else "MiB at the peak"
        alternative = f"bin by bin {figures['bin_by_bin']}, {figures['times']} times as much"
        print(f"{place}, {BITS} bits: {figures['scatter']} {unit}; {alternative}")
    write("soft-histogram", {"bits": BITS, "rounds": ROUNDS, "median_ms": times, "peak_mib": {"M = 2048": peaks}})


if __name__ == "__main__":
    if len(sys.argv) == 3:
        report_peak(sys.argv[1], int(sys.argv[2]))
    else:
        main()
