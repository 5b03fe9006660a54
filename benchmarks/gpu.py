"""Tests and benchmarks that need a GPU, in a table of what passed, how fast, with how much memory: `make gpu-check`.

Run `python benchmarks/gpu.py [PART ...] [--minutes M] [--epochs E]`. The parts are, by default all of them:

- tests: the tests marked gpu, in a process of their own, for at most three minutes;
- sparse-base: milliseconds a step of the base network of the sparse codes (CIFAR-100, triplets), and of a plain loop;
- sparse-flow: the same for the fine-tuning, where a minimum cost flow is solved on the CPU at each step;
- speed: images per second of our pipeline and of a plain one, and the seconds of the whole of CIFAR-10 S1
  (benchmarks/train.py), with VGG-F from random weights and with small_cnn;
- counting: pairs per second of the exact histogram, with and without the transfers, and the limits of the device;
- scores: seconds of hashbench.score on tensors that a GPU holds, counted there and on the CPU;
- soft-histogram: seconds and memory of the relaxed objective, forward and backward, on lists of up to 16,384;
- short-training: the AP of a short training on CIFAR-10 S1 over three seeds, for each precision, and without CUDA
  graphs. If CIFAR-10 is not downloaded, the digits are used, which need no download.

results/benchmarks/gpu-MACHINE.json is written after each part, so that figures are kept if time runs out. After
``--minutes`` no further part begins. If a part fails, the file says so and the other parts run. Without a GPU the
script says what it skipped and exits 0. It exits 1 if a part failed, if lists of 16,384 took more than 16 GB, or if an
AP differs by more than the noise of seeds. A missed speed target is no failure.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import _record
import numpy as np
import scoring
import torch
from torch import Tensor

import hashbench
from hashbench.foundation.errors import one_line
from hashbench.foundation.execution import Execution
from hashbench.learning.contract import TrainingData
from hashbench.learning.losses import RowObjective, label_levels, tie_aware_ap, tie_aware_ndcg
from hashbench.learning.sparse.objectives import HashObjective, MetricObjective
from hashbench.learning.training import graphs
from hashbench.learning.training.hasher import DeepHasher
from hashbench.learning.training.loop import Trainer
from hashbench.running.datasets.card import load_card
from hashbench.running.datasets.status import dataset_status
from hashbench.running.runs.guard import row_of
from hashbench.running.runs.run import Run
from hashbench.running.runs.store import Store
from hashbench.scoring import histogram
from hashbench.scoring.histogram import torch_kernel
from hashbench.scoring.relevance.labels import ClassRelevance

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
MODELS = ("vggf", "small_cnn")
WAYS = {  # the precision, and whether steps are replayed as graphs
    "float32": ("float32", True),
    "bfloat16": ("bfloat16", True),
    "bfloat16, plain steps": ("bfloat16", False),
}
DEVICE = "cuda"
STEP_MS = {"sparse-base": 1.5, "sparse-flow": 3.0}  # the targets for an H200-class card
TIMED_STEPS, WARM_STEPS = 400, 100
IMAGES, CLASSES = 45_000, 100  # of the training part of CIFAR-100
TESTS_S, TEST_PROCESSES = 180, 8
REPOSITORY = Path(__file__).resolve().parent.parent
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
    from hashbench.scoring.histogram.triton_kernel import count_into  # noqa: PLC0415  (Triton is not everywhere)

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


def tests(found: Found) -> None:
    """How many tests marked gpu passed and failed; those that did not end in time are no failure."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "--no-header", "-rf", "-p", "no:cacheprovider"]
    if find_spec("xdist") is not None:
        command += ["-n", str(TEST_PROCESSES), "--dist", "worksteal"]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)  # noqa: S603  (words, and no shell)
    try:
        said, _ = process.communicate(timeout=TESTS_S)
    except subprocess.TimeoutExpired:
        process.terminate()
        said, _ = process.communicate()
        found["ended"] = f"after {TESTS_S} s, before their end"
    print(said, flush=True)
    lines = said.splitlines()
    found["summary"] = lines[-1].strip("= ") if lines else ""
    if failures := [line for line in lines if line.startswith(("FAILED", "ERROR"))]:
        raise AssertionError(f"{len(failures)} tests failed: {failures[0]}")
    if process.returncode > 0:
        raise AssertionError(f"pytest ended with exit code {process.returncode}: {found['summary']}")


def sparse_base(found: Found) -> None:
    settings = sparse_settings("exhaustive_search")
    steps_of("sparse-base", settings, partial(MetricObjective, base="triplet", margin=0.3, l2=0.003), found)


def sparse_flow(found: Found) -> None:
    for k in (1, 4):
        settings = sparse_settings("sparse_hash", k=k)
        own = {"k": k, "lam": settings.lam, "variant": settings.variant, "margin": settings.margin, "l2": settings.l2}
        of_k: Found = {}
        found[f"k = {k}"] = of_k
        steps_of("sparse-flow", settings, partial(HashObjective, base="triplet", **own), of_k)


def sparse_settings(method: str, **changes: int) -> Any:
    """The settings of the paper's table 1 on CIFAR-100."""
    given: dict[str, Any] = {"base": "triplet", "d": 256, "model": "nin", **changes}
    return Run.resolve("cifar100", "sparse_hash", method, given, budget="paper").settings


def steps_of(name: str, settings: Any, objective_of: Callable[[Tensor], RowObjective], found: Found) -> None:
    """Milliseconds a step of our training, with graphs and without, and of a plain loop of the same network."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (IMAGES, 32, 32, 3), np.uint8)  # the content does not change the speed
    labels = rng.integers(0, CLASSES, IMAGES)
    found["asked_ms"] = STEP_MS[name]
    for way, with_graphs in (("ms", True), ("ms_without_graphs", False)):
        with tempfile.TemporaryDirectory() as folder, graphs_if(with_graphs):
            data = TrainingData(images, labels, 255.0, seed=0, folder=Path(folder), execution=Execution(DEVICE))
            run = Trainer(settings, objective_of(torch.from_numpy(labels)), data, name)
            found[way] = milliseconds(run.steps(0))
            if with_graphs:
                found["are_graphs"] = run.recorded is not None and run.recorded.is_checked
    found["ms_plain_loop"] = milliseconds(plain_steps(settings, objective_of(torch.from_numpy(labels)), images, labels))
    found["images_per_s"] = round(1e3 * settings.batch_size / float(str(found["ms"])))
    print(f"{name}: {found}", flush=True)


def milliseconds(steps: Iterator[object]) -> float:
    """The mean milliseconds of a step, after the first ones."""
    for _ in range(WARM_STEPS):
        next(steps)
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(TIMED_STEPS):
        next(steps)
    torch.cuda.synchronize()
    return round(1e3 * (time.perf_counter() - started) / TIMED_STEPS, 3)


def plain_steps(settings: Any, objective: RowObjective, images: np.ndarray, labels: np.ndarray) -> Iterator[None]:
    """The loop of a usual script: the same network, objective and batches, images on the GPU, Adam, autocast."""
    device, rng = torch.device(DEVICE), np.random.default_rng(1)
    network = DeepHasher(settings, images.shape[1:], 255.0).encoder.to(device).train()
    updates = torch.optim.Adam(network.parameters(), settings.lr, weight_decay=settings.weight_decay)
    on_device, objective = torch.from_numpy(images).to(device), objective.to(device)
    members = [np.flatnonzero(labels == each) for each in range(CLASSES)]
    rounds = settings.batch_size // settings.classes_per_batch
    while True:
        classes = rng.permutation(CLASSES)[: settings.classes_per_batch]
        chosen = np.stack([rng.choice(members[each], rounds, replace=False) for each in classes], axis=1)
        rows = torch.from_numpy(chosen.ravel()).to(device)
        inputs = on_device[rows].permute(0, 3, 1, 2).float() / 255 - 0.5
        top, left = rng.integers(0, 9, 2)
        inputs = torch.nn.functional.pad(inputs, (4, 4, 4, 4))[:, :, top : top + 32, left : left + 32]
        inputs = inputs.flip(3) if rng.random() < 0.5 else inputs
        with torch.autocast(DEVICE, torch.bfloat16):
            outputs = network(inputs)
        loss = objective.forward(outputs.float(), rows, torch.Generator())
        updates.zero_grad()
        loss.backward()
        updates.step()
        yield


@contextmanager
def graphs_if(wanted: bool) -> Iterator[None]:
    """During the block steps are replayed as graphs, or not."""
    before = graphs.recorder_for
    if not wanted:
        graphs.recorder_for = lambda device: None  # noqa: ARG005
    try:
        yield
    finally:
        graphs.recorder_for = before


def short_training(found: Found, epochs: int) -> None:
    """The AP of TALR-AP, 32 bits, small_cnn, after ``epochs`` epochs, for each way to compute and each seed."""
    dataset = "cifar10" if dataset_status(load_card("cifar10")).state == "stored" else "digits"
    found |= {"dataset": dataset, "epochs": epochs}
    ap: dict[str, list[float]] = {}
    for name, (precision, with_graphs) in WAYS.items():
        with tempfile.TemporaryDirectory() as folder, graphs_if(with_graphs):
            execution = Execution("cuda", precision=precision)
            rows = [row_of(cell(dataset, seed, epochs), Store(Path(folder)), execution) for seed in SEEDS]
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
    runs: dict[str, Part] = {
        "tests": tests,
        "sparse-base": sparse_base,
        "sparse-flow": sparse_flow,
        "speed": speed,
        "counting": counting,
        "scores": scores,
        "soft-histogram": soft_histogram,
    }
    names = (*runs, "short-training")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"parts to run: {', '.join(names)}; default: all")
    parser.add_argument("--epochs", type=int, default=20, help="number of epochs of the short training")
    parser.add_argument("--minutes", type=float, default=60, help="after which no further part begins")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(names):
        parser.error(f"no part {', '.join(sorted(unknown))}: {', '.join(names)}")
    if not torch.cuda.is_available():
        print(f"no CUDA device here: skipped {', '.join(given.parts or names)}")
        return 0
    runs["short-training"] = partial(short_training, epochs=given.epochs)
    return run_parts({name: runs[name] for name in given.parts or names}, 60 * given.minutes)


def run_parts(parts: dict[str, Part], seconds: float) -> int:
    """The exit code, 1 if a part failed; runs all parts that begin in time, writes their figures, prints a table."""
    found: dict[str, Found] = {}
    begun = time.perf_counter()
    for name, part in parts.items():
        started = time.perf_counter()
        figures: Found = {}
        found[name] = figures
        if started - begun > seconds:
            figures["not_begun"] = f"the {seconds / 60:g} minutes were over"
            continue
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        try:
            part(figures)
        except Exception as error:  # the next part may tell more
            figures["failed"] = f"{type(error).__name__}: {one_line(error)}"
            traceback.print_exc()
            print(f"error: {name}: {figures['failed']}", file=sys.stderr, flush=True)
        figures["wall_s"] = round(time.perf_counter() - started, 1)
        figures["gpu_bytes"] = torch.cuda.max_memory_reserved()
        _record.write("gpu", found, "cuda")
    print(table(found), flush=True)
    return int(any("failed" in figures for figures in found.values()))


def table(found: dict[str, Found]) -> str:
    """A line for each part: whether it passed, its seconds and gigabytes of the GPU, and its main figures."""
    lines = [f"{'part':<16}{'result':<12}{'seconds':>8}{'GB':>7}  figures"]
    for name, figures in found.items():
        result = "failed" if "failed" in figures else "not begun" if "not_begun" in figures else "passed"
        gigabytes = float(str(figures.get("gpu_bytes", 0))) / 1e9
        told = figures.get("failed") or figures.get("not_begun") or brief(name, figures)
        lines.append(f"{name:<16}{result:<12}{figures.get('wall_s', 0)!s:>8}{gigabytes:>7.1f}  {told}")
    return "\n".join(lines)


def brief(name: str, figures: Found) -> str:
    """The main figures of a part that passed."""
    match name:
        case "tests":
            return f"{figures['summary']} {figures.get('ended', '')}".strip()
        case "sparse-base":
            return of_steps(figures)
        case "sparse-flow":
            return "; ".join(f"{k}: {of_steps(of_k)}" for k, of_k in figures.items() if isinstance(of_k, dict))
        case "speed":
            measured = [(model, figures[model]) for model in MODELS]
            times = "; ".join(
                f"{model} {each['times']} times the plain" for model, each in measured if isinstance(each, dict)
            )
            return f"vggf {figures['vggf, cifar10_s1_seconds']} s (aim {FINISHED_S}); {times}"
        case "counting":
            fastest = [each["pairs_per_s"] for each in figures.values() if isinstance(each, dict)]
            return f"{min(fastest) / 1e9:.0f} to {max(fastest) / 1e9:.0f} G pairs a second"
        case _:
            return ""


def of_steps(figures: Found) -> str:
    with_graphs = "graphs" if figures["are_graphs"] else "no graphs"
    others = f"without graphs {figures['ms_without_graphs']}, plain loop {figures['ms_plain_loop']}"
    return f"{figures['ms']} ms a step ({with_graphs}; aim {figures['asked_ms']}), {others}"


if __name__ == "__main__":
    sys.exit(main())
