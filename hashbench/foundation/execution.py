"""How a computation is done: the device, its arithmetic, checkpoints and progress."""

import re
import time
from dataclasses import dataclass

from hashbench.foundation.errors import HashbenchError

PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True)
class Execution:
    """How a run is executed: this changes its speed and rounding, never its name. The row records the arithmetic."""

    device: str = "auto"  # cpu, cuda, cuda:N, or auto: a GPU where there is one
    threads: int = 1  # of OpenMP and PyTorch on a CPU; BLAS has one
    precision: str = "auto"  # of the encoder in training; auto: bfloat16 on a GPU, float32 on a CPU
    progress: bool = False
    checkpoint_every_s: float = 10.0
    stop_at: float | None = None  # of time.monotonic: nothing begins after it, and trainings stop; None: never
    weights: str | None = None  # the file of pretrained weights; None: the official file in the data folder
    eval_every: int = 0  # epochs between two evaluations of a network in training; 0: none
    track: str | None = None  # the tracker that gets the values of each epoch

    def __post_init__(self) -> None:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", self.device):
            raise HashbenchError(f"device {self.device!r}: one of auto, cpu, cuda, cuda:N")
        if self.precision not in PRECISIONS:
            raise HashbenchError(f"precision {self.precision!r}: one of {', '.join(PRECISIONS)}")

    @property
    def time_is_over(self) -> bool:
        """Whether ``stop_at`` has come."""
        return self.stop_at is not None and time.monotonic() >= self.stop_at


DEFAULT = Execution()
