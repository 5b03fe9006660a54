"""Figure 1 of the sparse-hash paper, measured on this machine: the time to find the codes of a batch.

Run `python benchmarks/flow.py`; figures are medians of 5 on one core (the published ones are means of 20). Problems are
drawn as the authors drew them: class means uniform in [0, 1), k = 4, lambda = 1. Our graph is compared with that of the
paper, which has n_c arcs for each bucket, in the same solver. Writes results/benchmarks/flow-MACHINE.json, which
`hashbench figure sparse_hash_figure1 --write` draws.
"""

import os
import statistics
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version

import _record
import numpy as np

from hashbench.learning.sparse.flow import assign
from hashbench.showing import figures
from hashbench.showing.figures.flow_time import FlowFile

REPETITIONS = 5
DECLARED = figures.load("sparse_hash_figure1").file
assert isinstance(DECLARED, FlowFile)
SIZES, K, LAM, SOURCE = DECLARED.sizes, DECLARED.k, DECLARED.lam, DECLARED.source


@dataclass(frozen=True)
class Point:
    """The median seconds to build and solve one batch, wall-clock and processor time, ours and the alternatives."""

    n_c: int
    d: int
    k: int
    lam: float
    ours_s: float
    full_network_s: float
    published_s: float
    ours_cpu_s: float
    full_network_cpu_s: float


def seconds(batches: list[np.ndarray], arcs: int | None) -> tuple[float, float]:
    """Medians, wall-clock and of the processor; ``arcs`` of a bucket to begin with, or our own number."""
    found = []
    for means in batches:
        started = time.perf_counter(), time.process_time()
        codes = assign(means, K, LAM, arcs=arcs)
        found.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        assert (codes.sum(axis=1) == K).all()
    wall_s, cpu_s = zip(*found, strict=True)
    return statistics.median(wall_s), statistics.median(cpu_s)


def measure(n_c: int, d: int, published_s: float) -> Point:
    rng = np.random.default_rng(n_c * d)
    batches = [rng.random((n_c, d)) for _ in range(REPETITIONS)]
    seconds(batches[:1], None)  # loads the libraries
    (ours, ours_cpu), (full, full_cpu) = seconds(batches, None), seconds(batches, n_c)
    print(
        f"n_c {n_c:>3}  d {d:>3}  ours {ours:.4f} s (processor {ours_cpu:.4f} s)  "
        f"n_c arcs a bucket {full:.4f} s ({full_cpu:.4f} s)  published {published_s:.4f} s",
        flush=True,
    )
    return Point(n_c, d, K, LAM, ours, full, published_s, ours_cpu, full_cpu)


def main() -> None:
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    if cores:
        os.sched_setaffinity(0, {min(cores)})  # the solver has one thread, which must not move between cores
    points = [measure(n_c, d, DECLARED.published_s[str(n_c)][at]) for n_c in SIZES for at, d in enumerate(SIZES)]
    if cores:
        os.sched_setaffinity(0, cores)
    found = {
        "ortools": version("ortools"),
        "repetitions": REPETITIONS,
        "published_source": SOURCE,
        "points": [asdict(point) for point in points],
    }
    _record.write("flow", found)


if __name__ == "__main__":
    main()
