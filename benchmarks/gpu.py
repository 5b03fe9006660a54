"""Benchmarks that need a GPU; `make gpu-check` runs them after the gpu tests.

Run `python benchmarks/gpu.py [PART ...] [--epochs E]`. The parts are, by default all of them:

- counting: pairs per second of the exact histogram, with and without the transfers, and the limits of the device;
- scores: seconds of hashbench.score on tensors that a GPU holds, counted there and on the CPU;
- soft-histogram: seconds and memory of the relaxed objective, forward and backward, on lists of up to 16,384;
- speed: images per second of our pipeline and of a plain one, and the seconds of the whole of CIFAR-10 S1
  (benchmarks/train.py), with small_cnn and with VGG-F from random weights;
- short-training: the AP of a short training on CIFAR-10 S1 over three seeds, for each precision and compile option. If
  CIFAR-10 is not downloaded, the digits are used, which need no download.

results/benchmarks/gpu-MACHINE.json is written after each part, so that figures are kept if time runs out. If a part
fails, the file says so and the other parts run. Without a GPU the script says what it skipped and exits 0. It exits 1
if a part failed, if lists of 16,384 took more than 16 GB, or if an AP differs by more than the noise of seeds. A missed
speed target is no failure.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import _record
import numpy as np
import scoring
import torch
from torch import Tensor

import hashbench
from hashbench import histogram
from hashbench.datasets.card import load_card
from hashbench.datasets.status import dataset_status
from hashbench.foundation.errors import one_line
from hashbench.foundation.parallel import ComputeOptions
from hashbench.histogram import torch_kernel
from hashbench.losses import label_levels, tie_aware_ap, tie_aware_ndcg
from hashbench.relevance.labels import ClassRelevance
from hashbench.runs.guard import row_of
from hashbench.runs.run import Options, Run
from hashbench.runs.store import Store

Found = dict[str, object]  # figures by name
Part = Callable[[Found], None]  # fills in what it finds

COUNTED_BITS = (12, 48, 64, 128, 512)
PAIRS_PER_S = 200e9  # the target for an H200-class card
POPCOUNTS = 16  # per clock and multiprocessor, compute capability 7.x to 9.0 (CUDA C++ Programming Guide, throughputs)
SCORED, SCORED_BITS = (1000, 1_000_000), (12, 48, 128)  # queries and items of a score, and the bits
CHECKED = 100  # queries that are also counted on the CPU
REPETITIONS = 5
TIMES, FINISHED_S = 5, 60  # the targets: times the plain pipeline, and seconds for CIFAR-10 S1
LISTS, LIST_BITS = (1024, 4096, 16_384), 48
LIST_BYTES = 16e9  # the most memory for the longest list
MODELS = ("small_cnn", "vggf")
WAYS = {
    "float32": ComputeOptions("float32"),
    "bfloat16": ComputeOptions("bfloat16"),
    "bfloat16, channels first": ComputeOptions("bfloat16", channels_last=False),
    "bfloat16, compiled": ComputeOptions("bfloat16", compiled=True),
}
SEEDS = range(3)
STANDARD_ERRORS = 4  # the largest accepted difference of two means; 3 of them are compared


def fastest_s(run: Callable[[], object]) -> float:
    """The least seconds of a call, including its work on the device; the first two calls warm up."""
    seconds = []
    for _ in range(2 + REPETITIONS):
        torch.cuda.synchronize()
        started = time.perf_counter()
        run()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return min(seconds[2:])


def counting(found: Found) -> None:
    if find_spec("triton") is None:
        raise RuntimeError("Triton is not installed, and without it nothing is counted in one kernel")
    found["asked_pairs_per_s"] = PAIRS_PER_S
    for bits in COUNTED_BITS:
        found[f"{bits} bits"] = count(bits)


def count(bits: int) -> Found:
    """Pairs per second of 10,000 queries and 1,000,000 items, with and without transfers, and the device's limits."""
    from hashbench.histogram.triton_kernel import count_into  # noqa: PLC0415  (Triton is not everywhere)

    query, database, relevance = scoring.large(bits)
    pairs = len(query) * len(database)
    device = torch.device("cuda")
    words, items = (torch_kernel.TensorCodes.of(codes, device).words for codes in (query, database))
    items, labels = items.T.contiguous(), torch_kernel.labels_on(device, relevance, slice(None))
    assert labels is not None
    counts = torch.zeros((len(query), bits + 1, len(relevance.levels)), dtype=torch.int64, device=device)
    seconds = fastest_s(lambda: count_into(counts, words, items, *labels))
    whole = fastest_s(lambda: histogram.count(query, database, relevance, device="cuda:0"))
    first = ClassRelevance(relevance.query_labels[:CHECKED], relevance.database_labels)
    expected = histogram.count(query[:CHECKED], database, first)
    assert (counts[:CHECKED].cpu().numpy() == (2 + REPETITIONS) * expected.counts).all(), "not what the CPU counts"
    ceilings = {name: round(value) for name, value in ceilings_of(items, labels[1]).items()}
    speed = pairs / seconds
    ceiling = min(ceilings.values())
    print(f"{bits} bits: {speed / 1e9:.0f} G pairs/s, {speed / ceiling:.0%} of {ceiling / 1e9:.0f}", flush=True)
    print(f"{bits} bits: {pairs / whole / 1e9:.0f} G pairs/s with the transfers", flush=True)
    return {
        "pairs_per_s": round(speed),
        "pairs_per_s_with_transfers": round(pairs / whole),
        "ceilings_pairs_per_s": ceilings,
    }


def ceilings_of(items: Tensor, labels: Tensor) -> dict[str, float]:
    """The roofline: pairs per second if only reading the items, or only the popcounts, took time.

    The kernel reads the code and the label of an item for each query, usually from the second-level cache. The
    speed of that cache is measured by summing codes of the same size 512 times.
    """
    read = items.view(1, -1).expand(512, -1)
    bytes_per_s = read.numel() * read.element_size() / fastest_s(lambda: read.sum(dim=1, dtype=torch.int32))
    chip = torch.cuda.get_device_properties(items.device)
    found = {"reading": bytes_per_s / (len(items) * items.element_size() + labels.element_size())}
    if clock := getattr(chip, "clock_rate", 0):  # in kHz; older torch does not say
        found["popcounts"] = 1e3 * clock * chip.multi_processor_count * POPCOUNTS / len(items)
    return found


def scores(found: Found) -> None:
    """Seconds of score(), what it prints by default included, on activations and labels that the GPU holds."""
    for bits in SCORED_BITS:
        found[f"{bits} bits"] = figures = score(bits)
        print(f"score of {SCORED[0]:,} x {SCORED[1]:,} x {bits} bits: {figures}", flush=True)


def score(bits: int) -> Found:
    generator = torch.Generator("cuda").manual_seed(bits)
    activations = [torch.randn(n, bits, device="cuda", generator=generator) for n in SCORED]
    labels = [torch.randint(10, (n,), device="cuda", generator=generator) for n in SCORED]
    seconds, printed = {}, set()
    for device in ("auto", "cpu"):
        run_score = partial(hashbench.score, *activations, *labels, device=device)
        seconds[device] = fastest_s(run_score)
        printed.add(str(run_score()))
    assert len(printed) == 1, "the devices do not give the same scores"
    return {
        "on_the_gpu_s": round(seconds["auto"], 3),
        "on_the_cpu_s": round(seconds["cpu"], 3),
        "times": round(seconds["cpu"] / seconds["auto"], 1),
    }


def soft_histogram(found: Found) -> None:
    """The seconds and bytes of an objective and its gradient on a list."""
    for name, loss in {"ap": tie_aware_ap.simplified, "ndcg": tie_aware_ndcg.simplified}.items():
        for n_examples in LISTS:
            found[f"{name}, list of {n_examples}"] = figures = one_list(loss, n_examples)
            print(f"{name}, list of {n_examples}: {figures}", flush=True)
            if n_examples == LISTS[-1] and figures["peak_bytes"] > LIST_BYTES:
                raise MemoryError(f"{figures['peak_bytes'] / 1e9:.1f} GB for {name} on a list of {n_examples}")


def one_list(loss: Callable[[Tensor, Tensor], Tensor], n_examples: int) -> dict[str, float]:
    generator = torch.Generator().manual_seed(0)
    relaxed = torch.randn(n_examples, LIST_BITS, generator=generator).tanh().cuda().requires_grad_()
    level = label_levels(torch.randint(10, (n_examples,), generator=generator).cuda())
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds = fastest_s(lambda: loss(relaxed, level).backward())
    assert relaxed.grad is not None
    assert relaxed.grad.isfinite().all()
    return {
        "seconds": round(seconds, 5),
        "peak_bytes": torch.cuda.max_memory_allocated(),
        "reserved_bytes": torch.cuda.max_memory_reserved(),
    }


def speed(found: Found) -> None:
    import train  # noqa: PLC0415  (without torchvision, of the plain pipeline, the other parts run)

    found["asked"] = {"times": TIMES, "cifar10_s1_seconds": FINISHED_S}
    for model in MODELS:
        found[f"{model}, cifar10_s1_seconds"] = train.finish(model, "cuda")
        found[model] = train.measure(5000, 3, "cuda", model)


def short_training(found: Found, epochs: int) -> None:
    """The AP of TALR-AP, 32 bits, small_cnn, after ``epochs`` epochs, for each way to compute and each seed."""
    dataset = "cifar10" if dataset_status(load_card("cifar10")).state == "stored" else "digits"
    found |= {"dataset": dataset, "epochs": epochs}
    ap: dict[str, list[float]] = {}
    for name, compute in WAYS.items():
        with tempfile.TemporaryDirectory() as folder:
            options = Options("cuda", compute=compute)
            rows = [row_of(cell(dataset, seed, epochs), Store(Path(folder)), options) for seed in SEEDS]
        assert all(row.status == "ok" for row in rows), [row.reason for row in rows]
        found[f"ap, {name}"] = ap[name] = [round(row.metrics["ap"].mean or 0.0, 4) for row in rows]
        print(f"{dataset} S1, {epochs} epochs, {name}: AP {' '.join(map(str, ap[name]))}", flush=True)
    if outside := outside_noise(ap):
        raise ArithmeticError(f"outside of seed noise: {'; '.join(outside)}")


def cell(dataset: str, seed: int, epochs: int) -> Run:
    return Run.resolve(dataset, "s1", "talr-ap", {"bits": 32, "model": "small_cnn", "epochs": epochs}, seed=seed)


def outside_noise(found: dict[str, list[float]]) -> list[str]:
    """The ways to compute whose mean AP differs too much from that of float32; the variance over seeds is pooled."""
    variance = np.mean([np.var(each, ddof=1) for each in found.values()])
    far = STANDARD_ERRORS * np.sqrt(2 * variance / len(SEEDS))
    return [name for name, each in found.items() if abs(np.mean(each) - np.mean(found["float32"])) > far]


def main() -> int:
    parser = argparse.ArgumentParser()
    names = ("counting", "scores", "soft-histogram", "speed", "short-training")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run: {', '.join(names)}; default: all")
    parser.add_argument("--epochs", type=int, default=20, help="number of epochs of the short training")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(names):
        parser.error(f"no part {', '.join(sorted(unknown))}: {', '.join(names)}")
    if not torch.cuda.is_available():
        print(f"no CUDA device here: skipped {', '.join(given.parts or names)}")
        return 0
    runs = (counting, scores, soft_histogram, speed, partial(short_training, epochs=given.epochs))
    parts: dict[str, Part] = dict(zip(names, runs, strict=True))
    return run_parts({name: parts[name] for name in given.parts or names})


def run_parts(parts: dict[str, Part]) -> int:
    """The exit code, 1 if a part failed; runs all parts and writes the figures of each."""
    found: dict[str, Found] = {}
    for name, part in parts.items():
        started = time.perf_counter()
        found[name] = {}
        try:
            part(found[name])
        except Exception as error:  # the next part may tell more
            found[name]["failed"] = f"{type(error).__name__}: {one_line(error)}"
            traceback.print_exc()
            print(f"error: {name}: {found[name]['failed']}", file=sys.stderr, flush=True)
        found[name]["wall_s"] = round(time.perf_counter() - started, 1)
        _record.write("gpu", found, "cuda")
    return int(any("failed" in each for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
