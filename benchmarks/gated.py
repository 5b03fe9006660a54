"""Time and peak memory of the gated distances computed from the k buckets of each code, or by broadcast over all bits.

Run `python benchmarks/gated.py`; it measures forward and backward passes in float32, with 8 examples of each class that
share a code. Times are medians of 5; the forms alternate. A memory figure is the peak of a separate process above its
memory before (Linux only). The broadcast form is that of the authors' code, with residuals and a mask for all pairs and
bits. The triplet objective of the base network is measured too: negatives found by sorting, or by a mask over all
triplets. Writes results/benchmarks/gated-MACHINE.json.
"""

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import _record
import torch
from torch import Tensor

from hashbench.learning.losses import gated, metric_learning

PER_CLASS, REPETITIONS = 8, 5
EXAMPLES, DIMENSIONS, BITS = (128, 512), (256, 512), (1, 4)


@dataclass(frozen=True, eq=False)
class Batch:
    """``embeddings`` float32[M, d], ``labels`` int64[M] and ``buckets`` int64[M, k], in rounds of M / 8 classes."""

    embeddings: Tensor
    labels: Tensor
    buckets: Tensor


@dataclass(frozen=True)
class Figure:
    """The cost of one form: median and least seconds, and peak memory."""

    what: str
    form: str
    m: int
    d: int
    k: int
    median_s: float
    fastest_s: float
    peak_mib: float


def draw(m: int, d: int, k: int) -> Batch:
    torch.manual_seed(0)
    n_classes = m // PER_CLASS
    of_classes = torch.rand(n_classes, d).topk(k).indices
    return Batch(torch.randn(m, d), torch.arange(n_classes).repeat(PER_CLASS), of_classes.repeat(PER_CLASS, 1))


def by_buckets(embeddings: Tensor, batch: Batch) -> Tensor:
    return gated.distance_within(embeddings, batch.buckets).square().sum()


def by_broadcast(embeddings: Tensor, batch: Batch) -> Tensor:
    unset = torch.ones_like(embeddings).scatter(1, batch.buckets, 0)
    either = 1 - unset[:, None] * unset
    return ((embeddings[:, None] - embeddings).abs() * either).sum(2).square().sum()


def by_sorting(embeddings: Tensor, batch: Batch) -> Tensor:
    return metric_learning.semi_hard(torch.cdist(embeddings, embeddings), batch.labels, margin=1.0)


def by_mask(embeddings: Tensor, batch: Batch) -> Tensor:
    distance = torch.cdist(embeddings, embeddings)
    akin = batch.labels[:, None] == batch.labels
    farther = (distance[:, None] > distance[:, :, None]) & ~akin[:, None]  # [a, p, n]
    nearest = distance[:, None].expand_as(farther).masked_fill(~farther, torch.inf).amin(2)
    farthest = distance.masked_fill(akin, -torch.inf).amax(1, keepdim=True)
    cost = (distance - torch.where(farther.any(2), nearest, farthest) + 1).relu()
    positive = akin & ~torch.eye(len(akin), dtype=torch.bool)
    return cost[positive].mean()


Form = Callable[[Tensor, Batch], Tensor]
FORMS: dict[str, dict[str, Form]] = {
    "gated distances": {"buckets": by_buckets, "broadcast": by_broadcast},
    "semi-hard triplets": {"sorting": by_sorting, "mask": by_mask},
}


def once(form: Form, batch: Batch) -> tuple[float, Tensor]:
    """The seconds of one forward and backward pass, and the gradient."""
    leaf = batch.embeddings.clone().requires_grad_()
    started = time.perf_counter()
    form(leaf, batch).backward()
    assert leaf.grad is not None
    return time.perf_counter() - started, leaf.grad


def seconds(what: str, batch: Batch, repetitions: int) -> dict[str, list[float]]:
    """The seconds of each form, after a warm-up; the forms alternate, so that other programs disturb them alike."""
    ours, theirs = (once(form, batch)[1] for form in FORMS[what].values())
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-3 * float(theirs.abs().max()))
    rounds = [{name: once(form, batch)[0] for name, form in FORMS[what].items()} for _ in range(repetitions)]
    return {name: [each[name] for each in rounds] for name in FORMS[what]}


def peak_mib(*of: object) -> float:
    """The peak resident memory of a new process, above its memory before (Linux only)."""
    command = [sys.executable, __file__, "--peak", *map(str, of)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # noqa: S603


def resident_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def report_peak(what: str, form: str, m: str, d: str, k: str) -> None:
    once(FORMS[what][form], draw(16, 8, 1))  # loads the libraries
    batch = draw(int(m), int(d), int(k))
    before = resident_mib("VmRSS:")
    once(FORMS[what][form], batch)
    print(max(0.0, resident_mib("VmHWM:") - before))


def measure(what: str, m: int, d: int, k: int, repetitions: int) -> list[Figure]:
    figures = []
    for form, taken in seconds(what, draw(m, d, k), repetitions).items():
        peak = peak_mib(what, form, m, d, k)
        figures.append(Figure(what, form, m, d, k, statistics.median(taken), min(taken), round(peak, 1)))
        print(
            f"{what}, M {m:>3}  d {d:>3}  k {k}  {form:<9} {1e3 * figures[-1].median_s:9.2f} ms  {peak:8.1f} MiB",
            flush=True,
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--peak", nargs=5, help="print the peak memory of one form, measured in this process")
    parser.add_argument("--smoke", action="store_true", help="measure the smallest sizes once and write nothing")
    given = parser.parse_args()
    if given.peak:
        report_peak(*given.peak)
        return
    if given.smoke:
        for what in FORMS:
            measure(what, EXAMPLES[0], DIMENSIONS[0], BITS[0], 1)
        return
    points = [
        figure
        for m, d, k in product(EXAMPLES, DIMENSIONS, BITS)
        for figure in measure("gated distances", m, d, k, REPETITIONS)
    ]
    for m in EXAMPLES:
        points += measure("semi-hard triplets", m, DIMENSIONS[0], BITS[0], REPETITIONS)
    figures = {"repetitions": REPETITIONS, "threads": torch.get_num_threads(), "points": [asdict(p) for p in points]}
    _record.write("gated", figures)


if __name__ == "__main__":
    main()
