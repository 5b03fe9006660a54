"""Time and memory of counting distances, compared with the evaluators that are usual in the field.

Run `python benchmarks/scoring.py`; times are medians of 5 in nanoseconds for each query-database pair, wall-clock.
Writes results/benchmarks/scoring-MACHINE.json.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import _record
import numpy as np
import torch
from sklearn.metrics import average_precision_score

from hashbench.foundation.parallel import slices
from hashbench.scoring import histogram, metrics
from hashbench.scoring.codes import Codes, pack
from hashbench.scoring.histogram.counting import Kernel
from hashbench.scoring.metrics import Metrics
from hashbench.scoring.relevance.labels import ClassRelevance, Relevance, SharedLabelRelevance

REPETITIONS = 5
WARM_S = 0.3
QUERIES, ITEMS = 1000, 59_000
CLASSES, LABELS = 10, 21
LARGE = 10_000, 1_000_000, 64  # queries, items, bits of the memory figure

rng = np.random.default_rng(0)


@dataclass(frozen=True)
class Case:
    """Codes like those of a trained method: an item has the code of its class with a tenth of the bits flipped."""

    bits: int
    classes: tuple[np.ndarray, np.ndarray]
    codes: tuple[np.ndarray, np.ndarray]

    @staticmethod
    def draw(bits: int, sizes: tuple[int, int] = (QUERIES, ITEMS)) -> "Case":
        """Random codes of ``bits`` bits; ``sizes`` are the numbers of queries and items."""
        centres = rng.integers(0, 2, (CLASSES, bits), np.uint8)
        classes = [rng.integers(0, CLASSES, size) for size in sizes]
        codes = [centres[ids] ^ (rng.random((len(ids), bits), np.float32) < 0.1) for ids in classes]
        return Case(bits, (classes[0], classes[1]), (codes[0], codes[1]))


@dataclass(frozen=True)
class Timing:
    """The time that something took for a number of query-database pairs."""

    what: str
    bits: int
    pairs: int
    median_s: float
    fastest_s: float

    @property
    def ns(self) -> float:
        """Nanoseconds for each pair, at the median."""
        return 1e9 * self.median_s / self.pairs


def timed(what: str, bits: int, pairs: int, run: Callable[[], object], between: Callable[[], object] = int) -> Timing:
    warm_until = time.perf_counter() + WARM_S
    run()
    while (
        time.perf_counter() < warm_until
    ):  # otherwise the first run would be timed at the clock rate of an idle processor
        run()
    seconds = []
    for _ in range(REPETITIONS):
        between()
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    found = Timing(what, bits, pairs, statistics.median(seconds), min(seconds))
    print(f"{what:<44} {bits:>4} bits  {found.ns:>9.3f} ns a pair", flush=True)
    return found


def ours(
    case: Case, what: str = "count, classes", between: Callable[[], object] = int, kernel: Kernel = "numba"
) -> Timing:
    query, database = map(pack, case.codes)
    relevance = ClassRelevance(*case.classes)
    run = partial(histogram.count, query, database, relevance, kernel=kernel)
    return timed(what, case.bits, QUERIES * ITEMS, run, between)


def shared(case: Case) -> Timing:
    query, database = map(pack, case.codes)
    relevance = SharedLabelRelevance(
        *((rng.random((size, LABELS)) < 0.12).astype(np.uint8) for size in (QUERIES, ITEMS))
    )
    run = partial(histogram.count, query, database, relevance, kernel="numba")
    return timed("count, 21 labels", case.bits, QUERIES * ITEMS, run)


def score(case: Case) -> Timing:
    """Counting and the tie-aware mean average precision, as the evaluators below compute it."""
    query, database = map(pack, case.codes)
    relevance = ClassRelevance(*case.classes)

    def run() -> object:
        return metrics.evaluate(histogram.count(query, database, relevance, kernel="numba"), Metrics.parse(["ap"]))

    return timed("count and ap, classes", case.bits, QUERIES * ITEMS, run)


def argsort(case: Case, n_queries: int = 50) -> Timing:
    """The evaluator of many training scripts: distances by a product, argsort, average precision, query by query."""
    query, database = (bits.astype(np.float32) * 2 - 1 for bits in case.codes)

    def run() -> float:
        total = 0.0
        for code, label in zip(query[:n_queries], case.classes[0], strict=False):
            relevant = (case.classes[1] == label).astype(np.float32)
            relevant = relevant[np.argsort(0.5 * (case.bits - code @ database.T))]
            ranks = np.nonzero(relevant)[0] + 1.0
            total += float(np.mean(np.arange(1, len(ranks) + 1) / ranks))
        return total / n_queries

    return timed("per-query argsort and ap", case.bits, n_queries * ITEMS, run)


def sklearn(case: Case, n_queries: int = 10) -> Timing:
    query, database = (bits.astype(np.float32) * 2 - 1 for bits in case.codes)

    def run() -> float:
        return statistics.fmean(
            average_precision_score(case.classes[1] == label, code @ database.T)
            for code, label in zip(query[:n_queries], case.classes[0], strict=False)
        )

    return timed("scikit-learn average_precision_score", case.bits, n_queries * ITEMS, run)


def stirred(pause_s: float) -> Callable[[], object]:
    """Gives the thread pools of NumPy and torch some work, then a pause in which their threads may sleep again."""
    matrix = rng.random((1024, 1024), np.float32)
    tensor = torch.from_numpy(matrix)
    return lambda: (matrix @ matrix, tensor @ tensor, time.sleep(pause_s))


def cuda(bits: int) -> list[Timing]:
    """The time on a CUDA device, with codes and labels already packed; empty if there is no such device."""
    if not torch.cuda.is_available():
        return []
    n_queries, n_items, _ = LARGE
    query, database, relevance = large(bits)
    return [
        timed(
            f"torch on {torch.cuda.get_device_name(0)}, with the transfers",
            bits,
            n_queries * n_items,
            lambda: histogram.count(query, database, relevance, device="cuda:0"),
        )
    ]


def large(bits: int) -> tuple[Codes, Codes, ClassRelevance]:
    n_queries, n_items, _ = LARGE
    sizes = (n_queries, n_items)
    words = (rng.integers(0, 2**64, (size, -(-bits // 64)), np.uint64) >> np.uint64(-bits % 64) for size in sizes)
    query, database = (Codes(packed, bits) for packed in words)
    return query, database, ClassRelevance(*(rng.integers(0, CLASSES, size).astype(np.int16) for size in sizes))


def report_peak(mode: str) -> None:
    """Prints seconds, and the peak memory in MiB above that after a small count (Linux only).

    Modes: "whole" counts the database at once, "streamed" piece by piece, "ap" counts it at once and computes the AP.
    """
    small, ids = pack(np.eye(64, dtype=np.uint8)), np.arange(64)
    metrics.evaluate(histogram.count(small, small, ClassRelevance(ids, ids), kernel="numba"), Metrics.parse(["ap"]))
    before = resident_mib("VmRSS:")
    query, database, relevance = large(LARGE[2])
    started = time.perf_counter()

    def pieces() -> Iterator[tuple[Codes, Relevance]]:
        for part in slices(len(database), 1 << 16):
            yield database[part], ClassRelevance(relevance.query_labels, relevance.database_labels[part])

    if mode == "streamed":
        counted = histogram.count_blocks(query, pieces(), kernel="numba")
    else:
        counted = histogram.count(query, database, relevance, kernel="numba")
    if mode == "ap":
        metrics.evaluate(counted, Metrics.parse(["ap"]))
    seconds = time.perf_counter() - started
    assert counted.counts.sum() == LARGE[0] * LARGE[1]
    packed = (query.words.nbytes + database.words.nbytes) / 2**20
    print(json.dumps({"peak_mib": resident_mib("VmHWM:") - before, "packed_codes_mib": packed, "seconds": seconds}))


def resident_mib(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def peak(mode: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, mode], check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    print(
        f"10,000 x 1,000,000 x 64 bits, {mode}: {found['peak_mib']:.0f} MiB at the peak, of which "
        f"{found['packed_codes_mib']:.0f} are the packed codes; {found['seconds']:.1f} s"
    )
    return found


def measure() -> list[Timing]:
    found = [ours(Case.draw(bits)) for bits in (12, 32, 48, 64, 128, 256, 512)]
    found += [ours(Case.draw(bits), "count, classes, NumPy's kernel", kernel="numpy") for bits in (12, 48, 64, 128)]
    found += [shared(Case.draw(bits)) for bits in (48, 64, 128, 256, 512)]
    for bits in (12, 48, 64):
        case = Case.draw(bits)
        found += [score(case), argsort(case), sklearn(case)]
    for what, pause_s in {"idle": 0.3, "spinning": 0.0}.items():
        stir = stirred(pause_s)
        found += [ours(Case.draw(bits), f"count, classes, beside {what} pools", stir) for bits in (12, 48, 64)]
    return found + [timing for bits in (48, 64, 512) for timing in cuda(bits)]


def ratios(timings: list[Timing]) -> dict[str, float]:
    """How many times longer than ours the usual evaluators take, for the same codes."""
    ns = {(timing.what, timing.bits): timing.ns for timing in timings}
    usual = ("per-query argsort and ap", "scikit-learn average_precision_score")
    found = {}
    for bits in (12, 48, 64):
        for fast in ("count, classes", "count and ap, classes"):
            found |= {f"{what} / {fast}, {bits} bits": round(ns[what, bits] / ns[fast, bits], 1) for what in usual}
    return found


def main() -> None:
    timings = measure()
    peaks = {mode: peak(mode) for mode in ("whole", "streamed", "ap")} if sys.platform == "linux" else {}
    times = ratios(timings)
    for what, ratio in times.items():
        print(f"{what}: {ratio:.0f} times")
    figures = {
        "repetitions": REPETITIONS,
        "queries": QUERIES,
        "items": ITEMS,
        "timings": [{**asdict(timing), "ns_per_pair": round(timing.ns, 4)} for timing in timings],
        "ratios": times,
        "peak_memory": peaks,
    }
    _record.write("scoring", figures)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        report_peak(sys.argv[1])
    else:
        main()
