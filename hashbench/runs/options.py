"""How to run a cell: what changes the rounding and the speed, and nothing that the cell is named by."""

import re
from dataclasses import dataclass

from hashbench.errors import HashbenchError
from hashbench.parallel import ALONE, DEFAULT_COMPUTE, ComputeOptions, ProcessGroup


@dataclass(frozen=True)
class Options:
    """The device, the process group, the arithmetic; the row says which they were.

    ``group`` is the group of processes that run the cell together: the first calls ``run``, the others ``follow``.
    ``weights`` is the file of pretrained weights, where it is not the official one in the data folder.
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


DEFAULT_OPTIONS = Options()
