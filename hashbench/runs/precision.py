"""The floating point type of a run that asks for the fastest one."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

from hashbench.contract import Precision
from hashbench.foundation.files import write_text
from hashbench.foundation.progress import note
from hashbench.runs.data import RunData
from hashbench.runs.options import Options
from hashbench.training.settings import TrainingSettings

FILE = "precision.txt"  # in the folder of a run: a run that is continued keeps its precision


def with_fastest_precision(data: RunData, folder: Path, options: Options) -> Options:
    """``options``, with the precision that is faster on this CPU in place of "fastest"; on a GPU with "auto".

    A few steps of training are timed, unless an earlier start of the same run in ``folder`` has timed them.
    """
    if options.compute.precision != "fastest":
        return options
    return replace(options, compute=replace(options.compute, precision=_chosen(data, folder, options)))


def _chosen(data: RunData, folder: Path, options: Options) -> str:
    settings = data.spec.settings
    is_small = data.items.ndim == 2  # features: the steps are too short to be timed
    if not isinstance(settings, TrainingSettings) or settings.precision != "auto" or is_small:
        return "auto"
    from hashbench.training.device import pick_device
    from hashbench.training.speed import images_a_second

    if pick_device(options.device).type != "cpu":
        return "auto"
    kept = (folder / FILE).read_text().strip() if (folder / FILE).is_file() else ""
    if kept in get_args(Precision):
        return kept
    speeds = images_a_second(settings, tuple(data.items.shape[1:]), data.value_max)
    fastest = max(speeds, key=lambda precision: speeds[precision])
    timed = ", ".join(f"{precision} {speed:,.0f}" for precision, speed in speeds.items())
    note(f"note: images a second: {timed}: this run takes {fastest}")
    write_text(folder / FILE, f"{fastest}\n")
    return fastest
