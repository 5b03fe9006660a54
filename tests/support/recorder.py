"""A recorder of steps that needs no GPU: a replay executes again what was recorded."""

from collections.abc import Callable

import torch
from support.watched_tensors import Watched
from torch import Tensor

WAITS = {"_local_scalar_dense", "nonzero", "unique_dim", "_unique2", "masked_select", "is_nonzero", "equal"}

Work = Callable[[], None]


class FakeRecorder:
    """Does what it is asked on the CPU, and lists it; ``fails`` at one of these."""

    def __init__(self, fails: str = "", change: Callable[[Work], Work] = lambda work: work) -> None:
        self.fails = fails
        self.change = change
        self.asked: list[str] = []

    def _note(self, what: str) -> None:
        self.asked.append(what)
        if what == self.fails:
            raise RuntimeError("operation not permitted\nwhen stream is capturing")

    def warm_up(self, work: Work) -> None:
        work()
        self._note("warm up")

    def waits(self, work: Work) -> bool:
        with Watched() as watched:
            work()
        self._note("waits")
        return bool(watched.operations & WAITS)

    def record(self, work: Work) -> Work:
        work()
        self._note("record")
        replay = self.change(work)

        def replayed() -> None:
            self._note("replay")
            replay()

        return replayed

    def random_state(self) -> Tensor:
        return torch.get_rng_state()

    def set_random_state(self, state: Tensor) -> None:
        torch.set_rng_state(state)

    def give_up(self, state: Tensor) -> None:
        self._note("give up")
        torch.set_rng_state(state)
