"""How fast this CPU trains a network in float32 and in bfloat16; which one is faster depends on the processor."""

import time
from pathlib import Path
from typing import get_args

import torch

from hashbench.contract import Precision
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.training.hasher import DeepHasher
from hashbench.training.settings import TrainingSettings

PRECISIONS: tuple[Precision, ...] = get_args(Precision)
FILE = "precision.txt"  # in the folder of a run: a run that is continued keeps its precision
BATCH, ROUNDS = 50, 2  # images of a step, and timed steps of each precision: a few seconds in all


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
    """The images a second of forward and backward steps of the network in each precision; the best of some steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hasher = DeepHasher(settings, item_shape, value_max)
        items = torch.rand(min(settings.batch_size, batch), *item_shape) * value_max
        inputs = hasher.normalised(items).detach()
        encoder = hasher.train().encoder
        fastest = dict.fromkeys(PRECISIONS, float("inf"))
        for turn in range(ROUNDS + 1):
            for precision in PRECISIONS:  # in turns: another program on the machine slows both
                started = time.perf_counter()
                with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
                    activations = encoder(inputs)
                activations.float().square().mean().backward()
                if turn > 0:  # the first step of each compiles its kernels
                    fastest[precision] = min(fastest[precision], time.perf_counter() - started)
    return {precision: len(inputs) / seconds for precision, seconds in fastest.items()}
