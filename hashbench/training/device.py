"""The device that trains, how many threads of the CPU PyTorch uses there, and in which precision it is faster."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import get_args

import torch
from torch import nn

from hashbench.contract import Precision
from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.training.settings import TrainingSettings

SMALL = 1 << 24  # multiply-adds of a forward step: less than a millisecond of one core (benchmarks/threads.py)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FILE = "precision.txt"  # in the folder of a run: a run that is continued keeps its precision
BATCH, ROUNDS = 50, 2  # images of a step, and timed steps of each precision: a few seconds in all


def pick_device(name: str) -> torch.device:
    """The device called ``name``; ``auto`` is the GPU if there is one, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise HashbenchError(f"device {name!r} is not here: auto, cpu or cuda[:N]") from None
    return device


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch uses one thread for each operation during the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_for(encoder: nn.Module, batch_size: int) -> AbstractContextManager[None]:
    """``one_thread`` if a step of training ``encoder`` is small, so that its threads would mostly wait.

    A network is small if it has no convolution and its weights, times the batch, are at most ``SMALL``.
    """
    weights = [weight for weight in encoder.parameters() if weight.ndim > 1]
    has_convolution = any(weight.ndim > 2 for weight in weights)
    is_small = not has_convolution and batch_size * sum(weight.numel() for weight in weights) <= SMALL
    return one_thread() if is_small else nullcontext()


def fastest(settings: TrainingSettings, item_shape: tuple[int, ...], value_max: float, folder: Path) -> Precision:
    """The faster precision: that of an earlier start of the run in ``folder``, or a few steps of training are timed."""
    kept = (folder / FILE).read_text().strip() if (folder / FILE).is_file() else ""
    if found := [precision for precision in PRECISIONS if precision == kept]:
        return found[0]
    speeds = images_a_second(settings, item_shape, value_max)
    chosen = max(speeds, key=lambda precision: speeds[precision])
    timed = ", ".join(f"{precision} {speed:,.0f}" for precision, speed in speeds.items())
    note(f"note: images a second: {timed}: this run takes {chosen}")
    write_text(folder / FILE, f"{chosen}\n")
    return chosen


def images_a_second(
    settings: TrainingSettings, item_shape: tuple[int, ...], value_max: float, batch: int = BATCH
) -> dict[Precision, float]:
    """The images a second of forward and backward steps of the network in each precision; the best of some steps.

    The steps of the two take turns, so that another program on the machine slows both. No state of PyTorch's random
    numbers is changed.
    """
    from hashbench.training.hasher import DeepHasher

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hasher = DeepHasher(settings, item_shape, value_max)
        items = torch.rand(min(settings.batch_size, batch), *item_shape) * value_max
        inputs = hasher.normalised(items).detach()
        encoder = hasher.train().encoder
        fastest = dict.fromkeys(PRECISIONS, float("inf"))
        for turn in range(ROUNDS + 1):
            for precision in PRECISIONS:
                started = time.perf_counter()
                with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                    activations = encoder(inputs)
                activations.float().square().mean().backward()
                if turn > 0:  # the first step of each compiles its kernels
                    fastest[precision] = min(fastest[precision], time.perf_counter() - started)
    return {precision: len(inputs) / seconds for precision, seconds in fastest.items()}
