"""How fast steps of training are: a clock that the loop tells each step, and that ends the training after a while."""

import time

import torch

from hashbench.learning.training.hasher import DeepHasher

WARM_UP = 10  # one part of so many of the time passes before steps are timed: kernels are chosen and compiled


class Enough(Exception):  # noqa: N818  (no error: it ends a training whose steps were timed)
    """Ends a training."""


class StepClock:
    """Times the steps of a training after a warm-up, and raises ``Enough`` when they have gone on for ``seconds``.

    ``network`` is the trained network as the last step left it; ``n_items`` and ``n_steps`` are those that were timed,
    in ``timed_s`` seconds. A training that ends before has a part, or nothing, that was timed.
    """

    network: DeepHasher

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.made_at = time.perf_counter()
        self.first_at: float | None = None  # when the first step ended
        self.started_at: float | None = None
        self.n_items = self.n_steps = self.n_all_steps = 0
        self.timed_s = 0.0

    def __call__(self, network: DeepHasher, n_items: int) -> None:
        """Counts a step on so many items. A GPU is waited for where the timing begins and ends, and nowhere between."""
        self.network = network
        self.n_all_steps += 1
        self.first_at = self.first_at or time.perf_counter()
        passed_s = time.perf_counter() - self.first_at
        if self.started_at is not None:
            self.n_items += n_items
            self.n_steps += 1
            if passed_s >= self.seconds:
                self.timed_s = self._now() - self.started_at
                raise Enough
        elif passed_s >= self.seconds / WARM_UP:
            self.started_at = self._now()

    def _now(self) -> float:
        device = self.network.normalised.mean.device
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.perf_counter()

    @property
    def before_s(self) -> float:
        """The seconds before the first step, in which averages are taken and weights are loaded."""
        assert self.first_at is not None
        return max(0.0, self.first_at - self.made_at - self.timed_s / self.n_steps)
