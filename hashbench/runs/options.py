"""The options of a run: they change rounding and speed only, so they are not part of the run's name."""

import re
from dataclasses import dataclass

from hashbench.foundation.errors import HashbenchError
from hashbench.foundation.parallel import ALONE, DEFAULT_COMPUTE, ComputeOptions, ProcessGroup


@dataclass(frozen=True)
class Options:
    """The device, the process group and the arithmetic of a run; its row records them.

    ``group`` is the group of processes that train together: the first one calls ``run``, the others call ``follow``.
    ``weights`` is the file of pretrained weights; None is the official file in the data folder.
    """

    device: str = "auto"
    progress: bool = False
    checkpoint_every_s: float = 10.0
    group: ProcessGroup = ALONE
    compute: ComputeOptions = DEFAULT_COMPUTE
    weights: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise HashbenchError(f"device {self.device!r}: one of auto, cpu, cuda, cuda:N")
        if self.compute.precision == "fastest" and not self.group.is_alone:
            raise HashbenchError("--precision fastest times one process, and there are several: float32 or bfloat16")


DEFAULT_OPTIONS = Options()
