"""A training step as CUDA graphs: what it launches is recorded once, and each later step replays it without Python.

A network of a few million weights is done on a GPU long before Python has launched its next kernel. A step has three
parts: the codes of a batch, the objective with its gradient by the codes, and the gradient of the weights. Each part is
a graph; the objective only if it makes the GPU wait for nothing and draws nothing (a minimum cost flow on the CPU does
the first). The optimiser is not recorded: it has one kernel for each group of weights, and a rate that changes.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from hashbench.foundation.errors import HashbenchError, one_line, printable
from hashbench.foundation.progress import note
from hashbench.learning.training.batch import Batch

WARM_UPS = 3  # executions before a part is recorded: libraries choose algorithms and allocate in the first ones
LEAST_STEPS = 100  # of a run: recording takes as long as tens of steps
# of gradients and losses that are computed twice: sums on a GPU have no fixed order, and bfloat16 has 8 bits
TOLERANCE = 0.05


class Recorder:
    """Records what is launched on a GPU as CUDA graphs, which share their memory: they are replayed in one order."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.pool = torch.cuda.graph_pool_handle()
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def warm_up(self, work: Callable[[], None]) -> None:
        """Executes ``work`` on a stream of its own, as torch.cuda.graph asks for."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.stream):
            for _ in range(WARM_UPS):
                work()
        torch.cuda.current_stream(self.device).wait_stream(self.stream)
        torch.cuda.synchronize(self.device)

    def waits(self, work: Callable[[], None]) -> bool:
        """Whether torch refuses to execute ``work`` without waiting."""
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            with torch.cuda.stream(self.stream):
                work()
        except RuntimeError as error:
            if "synchronizing" in str(error):
                return True
            raise
        finally:
            torch.cuda.set_sync_debug_mode(before)
        return False

    def record(self, work: Callable[[], None]) -> Callable[[], None]:
        """The replay of the graph of ``work``."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            work()
        return graph.replay

    def random_state(self) -> Tensor:
        """Seed and offset of the GPU's default generator."""
        return torch.cuda.get_rng_state(self.device)

    def set_random_state(self, state: Tensor) -> None:
        """Sets seed and offset of the GPU's default generator, in place: the graphs read them at each replay."""
        torch.cuda.set_rng_state(state, self.device)

    def give_up(self, state: Tensor) -> None:
        """Gives the GPU's default generator another state object."""
        torch.cuda.synchronize(self.device)
        fresh = torch.Generator(self.device)
        fresh.set_state(state)
        default = torch.cuda.default_generators[self.device.index or 0]
        default.graphsafe_set_state(fresh.graphsafe_get_state())


def recorder_for(device: torch.device) -> Recorder | None:
    """What records steps on a device; None on a CPU, where nothing is gained."""
    return Recorder(device) if device.type == "cuda" else None


@dataclass(frozen=True)
class StepParts:
    """What a step computes: between two steps of one batch size only the batch differs."""

    network: nn.Module
    objective: nn.Module
    is_static: bool  # whether the objective may be recorded: it has no state but its buffers
    codes: Callable[[Batch], Tensor]  # the relaxed codes [V, bits]
    loss: Callable[[Tensor, Batch, torch.Generator], Tensor]  # of the codes, the scalar to minimise


class _RecordedStep:
    """The three parts of a step, recorded for batches of one size. Their results stay where they are in memory."""

    def __init__(self, parts: StepParts, recorder: Recorder, batch: Batch, generator: torch.Generator) -> None:
        """Records the step of a batch like this one; the random ``generator`` is not changed."""
        self.parts = parts
        self.batch = batch.in_own_memory()
        self.weights = [weight for weight in parts.network.parameters() if weight.requires_grad]
        self.objective_weights = [weight for weight in parts.objective.parameters() if weight.requires_grad]
        self.gradient_of_codes: Tensor | None = None
        unused = torch.Generator()
        unused.set_state(generator.get_state())
        recorder.warm_up(lambda: self._compute_all(unused))
        before = unused.get_state()
        waits = recorder.waits(lambda: self._compute_objective(unused))
        draws = not torch.equal(unused.get_state(), before)
        self.replay_codes = recorder.record(self._compute_codes)
        self.replay_objective: Callable[[], None] | None = None
        if parts.is_static and not waits and not draws:
            self.replay_objective = recorder.record(lambda: self._compute_objective(unused))
        self.replay_weights = recorder.record(self._compute_weights)

    def run(self, batch: Batch, generator: torch.Generator) -> Tensor:
        """The loss of a batch; afterwards all weights have their gradients."""
        self.batch.take(batch)
        self.replay_codes()
        if self.replay_objective is None:
            self._compute_objective(generator)
        else:
            self.replay_objective()
        self.replay_weights()
        for weight, gradient in zip(self.weights, self.gradients, strict=True):
            weight.grad = gradient
        for weight, gradient in zip(self.objective_weights, self.objective_gradients, strict=True):
            weight.grad = gradient
        return self.loss.clone()

    def _compute_codes(self) -> None:
        self.codes = torch.empty(0)  # a node of autograd belongs to the stream of its first use: none may be left
        self.codes = self.parts.codes(self.batch)

    def _compute_objective(self, generator: torch.Generator) -> None:
        codes = self.codes.detach().requires_grad_()
        loss = self.parts.loss(codes, self.batch, generator)
        of_codes, *self.objective_gradients = torch.autograd.grad(
            loss, [codes, *self.objective_weights], allow_unused=True
        )
        if self.gradient_of_codes is None:
            self.gradient_of_codes = torch.empty_like(of_codes)
        self.gradient_of_codes.copy_(of_codes)
        self.loss = loss.detach()

    def _compute_weights(self) -> None:
        self.gradients = torch.autograd.grad(self.codes, self.weights, self.gradient_of_codes, allow_unused=True)

    def _compute_all(self, generator: torch.Generator) -> None:
        self._compute_codes()
        self._compute_objective(generator)
        self._compute_weights()


class RecordedSteps:
    """Steps that are recorded when that works, and plain ones else.

    The first step of a run is plain: objectives check their first batch. Before the second one it is recorded, and at
    the third one the recorded step has to agree with the plain one. Otherwise a note says so, and all steps are plain.
    Neither recording nor comparing changes anything: buffers and random numbers are as after plain steps alone.
    """

    def __init__(self, parts: StepParts, recorder: Recorder) -> None:
        self.parts = parts
        self.recorder = recorder
        self.n_examples = 0  # of a batch that is recorded: that of the first one
        self.recorded: _RecordedStep | None = None
        self.is_checked = self.is_given_up = False

    def run(self, batch: Batch, generator: torch.Generator, plain: Callable[[], Tensor]) -> Tensor:
        """The loss of a batch, detached; afterwards all weights have their gradients, as after the ``plain`` step."""
        if self.n_examples == 0:
            self.n_examples = len(batch.rows)
            return plain()
        if self.is_given_up or len(batch.rows) != self.n_examples:  # the last batch of an epoch may be smaller
            return plain()
        if self.recorded is not None and self.is_checked:
            return self.recorded.run(batch, generator)
        if self.recorded is None:
            self._record(batch, generator)
            return plain()
        return self._compare(self.recorded, batch, generator, plain)

    def _record(self, batch: Batch, generator: torch.Generator) -> None:
        state = self._state(generator)
        try:
            self.recorded = _RecordedStep(self.parts, self.recorder, batch, generator)
        except (RuntimeError, HashbenchError) as error:  # what is wrong with the batch itself, the plain step says
            self.recorder.give_up(state.of_device)
            self._give_up(printable(one_line(error), 200))
        self._set(state, generator)

    def _compare(
        self, recorded: _RecordedStep, batch: Batch, generator: torch.Generator, plain: Callable[[], Tensor]
    ) -> Tensor:
        before = self._state(generator)
        loss = plain()
        after = self._state(generator)
        gradients = self._gradients()
        self._set(before, generator)
        try:
            other = recorded.run(batch, generator)
            apart = _apart([loss, *gradients.values()], [other, *self._gradients().values()])
        except RuntimeError as error:
            self._give_up(printable(one_line(error), 200))
        else:
            self.is_checked = apart <= TOLERANCE
            if not self.is_checked:
                self._give_up(f"its gradient differs by {apart:.0%} from that of a plain step")
        self._set(after, generator)
        for weight, gradient in gradients.items():
            weight.grad = gradient
        return loss

    def _give_up(self, why: str) -> None:
        self.recorded = None
        self.is_given_up = True
        note(f"note: the steps are not replayed as CUDA graphs, and so take longer: {why}")

    def _gradients(self) -> dict[nn.Parameter, Tensor | None]:
        weights = [*self.parts.network.parameters(), *self.parts.objective.parameters()]
        return {weight: weight.grad for weight in weights}

    def _state(self, generator: torch.Generator) -> "_State":
        buffers = [buffer.clone() for buffer in self._buffers()]
        return _State(buffers, self.recorder.random_state(), generator.get_state())

    def _set(self, state: "_State", generator: torch.Generator) -> None:
        for buffer, value in zip(self._buffers(), state.buffers, strict=True):
            buffer.copy_(value)
        self.recorder.set_random_state(state.of_device)
        generator.set_state(state.of_generator)

    def _buffers(self) -> list[Tensor]:
        return [*self.parts.network.buffers(), *self.parts.objective.buffers()]


class _State(NamedTuple):
    """What a step changes besides the gradients: buffers, and the random numbers of the device and the objective."""

    buffers: list[Tensor]
    of_device: Tensor
    of_generator: Tensor


def _apart(plain: Sequence[Tensor | None], others: Sequence[Tensor | None]) -> float:
    """The largest relative difference of two of the tensors; the norm of a small one counts as 1% of that of all."""
    norms = list[float]()
    differences = list[float]()
    for expected, other in zip(plain, others, strict=True):
        if expected is None or other is None:
            norms.append(0.0)
            differences.append(0.0 if expected is other else math.inf)
        else:
            norms.append(float(torch.linalg.vector_norm(expected.double())))
            differences.append(float(torch.linalg.vector_norm((expected - other).double())))
    if not all(map(math.isfinite, differences)):
        return math.inf
    least = max(0.01 * math.hypot(*norms), 1e-30)
    return max(difference / max(norm, least) for difference, norm in zip(differences, norms, strict=True))
