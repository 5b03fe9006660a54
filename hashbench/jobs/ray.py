"""A Ray cluster as a pool. The driver, a process on a node of the cluster, gives it tasks and alone writes results."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from hashbench.foundation import extras, provenance
from hashbench.foundation.errors import HashbenchError, one_line
from hashbench.foundation.progress import note
from hashbench.jobs.node import Sent, run_on_this_node
from hashbench.jobs.task import Died, Pool, Task, result_of

LOCAL = "local"  # a cluster of this machine alone, which ends with the command
# Ray on this machine alone: it listens on loopback, and whoever connects needs a token that only its processes have.
LOCALLY = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
ANSWER_S = 20.0  # until a cluster answers; Ray itself would try for minutes
RESTARTS = 2  # of a cluster that was started here
A_CORE = 2  # tasks that the cluster has at the same time: one is done while the next one waits for its core


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to the cluster during the block; raises HashbenchError where there is no Ray or no cluster."""
    if extras.missing("ray"):
        raise HashbenchError(f"--ray needs Ray: {extras.how_to_install('ray')}")
    if address.startswith("ray://"):
        raise HashbenchError(f"--ray {address}: start hashbench on a node of the cluster, with --ray auto")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    if address == LOCAL:  # before Ray is imported, which reads them then
        os.environ |= {**LOCALLY, "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    import ray

    _start(ray, address)
    with redirect_stdout(sys.stderr):  # Ray would say between our results that a node has died
        try:
            note(f"Ray: {len(ray.nodes())} nodes, {ray.cluster_resources().get('CPU', 0):g} cores")
            yield ray
        finally:
            ray.shutdown()


def _start(ray: Any, address: str) -> None:
    own = signal.getsignal(signal.SIGTERM)
    try:
        if address != LOCAL:
            _require_answer(address)
        # the messages of its processes, in colours, which log_to_driver lets through; our notes say what matters
        ray._private.worker.print_to_stdstream = lambda *_, **__: None
        ray.init(address=address, include_dashboard=False, log_to_driver=False, logging_level="CRITICAL")
    except Exception as error:  # Ray's own are of no narrower type
        raise HashbenchError(f"--ray {address}: no cluster there: {one_line(error)[:200]}") from None
    finally:
        signal.signal(signal.SIGTERM, own)  # Ray's own handler ends the process without our line


def _require_answer(address: str) -> None:
    """Raises ValueError unless a cluster answers at the address within ``ANSWER_S``."""
    given = [] if address == "auto" else ["--address", address]
    command = [sys.executable, "-P", "-m", "ray.scripts.scripts", "health-check", *given]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise ValueError(f"no answer within {ANSWER_S:g} s") from None
    if done.returncode and given:  # the error is below its traceback; with "auto", Ray itself knows more
        raise ValueError(done.stderr.rstrip().rpartition("\n")[2])


def has_gpus(ray: Any) -> bool:
    """Whether the cluster has a GPU."""
    return bool(ray.cluster_resources().get("GPU", 0) >= 1)


class RayPool(Pool):
    """The tasks that a cluster has at the moment; each reserves its cores, its GPUs and its memory in GiB (0: none).

    A cluster that was started here is started again if its process dies, and given its tasks again.
    """

    def __init__(self, ray: Any, address: str, *, cores: int = 1, gpus: int = 0, memory_gib: float = 0.0) -> None:
        self._ray, self._restarts = ray, RESTARTS if address == LOCAL else 0
        self.running: dict[Any, tuple[int, Task]] = {}
        self._needs = {"num_cpus": cores, "num_gpus": gpus, "memory": int(memory_gib * 2**30) or None}
        self._begin()

    def _begin(self) -> None:
        self._on_node = self._ray.remote(**self._needs, max_retries=0)(_on_node)  # ``follow`` tries again what dies
        self._files = _files_of_driver(self._ray)

    @property
    def has_room(self) -> bool:
        """Whether it takes one more task: so few that their results fit into the memory of the nodes."""
        cores = int(self._ray.cluster_resources().get("CPU", 0))
        return len(self.running) < A_CORE * max(1, cores)

    def give(self, at: int, task: Task) -> None:
        """Puts a task into the queue of the cluster."""
        sent = Sent(task.for_node(), task.inputs(), provenance.code())
        self.running[self._on_node.remote(sent, self._files)] = at, task

    def ended(self, seconds: float | None = None) -> Iterator[tuple[int, Any]]:
        """(place, result) of tasks that have ended; waits for the first, so many ``seconds`` at most."""
        done, _ = self._ray.wait(list(self.running), num_returns=1, timeout=seconds)
        for reference in done:
            errors = self._ray.exceptions
            try:
                result = self._ray.get(reference)
            except errors.RayError as error:
                if self._restarts and isinstance(error, errors.NodeDiedError | errors.LocalRayletDiedError):
                    self._restart()
                    return
                result = Died(_cause(error))
            at, _task = self.running.pop(reference)
            yield at, result

    def _restart(self) -> None:
        self._restarts -= 1
        note("note: Ray's process on this machine died: it is started again")
        self._ray.shutdown()
        _start(self._ray, LOCAL)
        self._begin()
        lost, self.running = [*self.running.values()], {}
        for at, task in lost:
            self.give(at, task)


def _cause(error: Exception) -> str:
    """The error that the task raised, or what ended it."""
    cause = getattr(error, "cause", None)
    text = f"{type(cause).__name__}: {one_line(cause)}" if isinstance(cause, Exception) else one_line(error)
    return text.partition(" The node IP")[0].partition(" Node IP")[0][:300]


def _on_node(sent: Sent, files: Any) -> Any:
    """The result of a task on this node, which reads the driver's files through their actor."""
    import ray

    def read(path: Path, start: int, n_bytes: int) -> bytes:
        piece: bytes = ray.get(files.read.remote(path, start, n_bytes))
        return piece

    return result_of(lambda: run_on_this_node(sent, read))


def _files_of_driver(ray: Any) -> Any:
    """The actor that reads files, on the driver's own node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(_Files).remote()


class _Files:
    """Reads pieces of files on the node where the driver is."""

    def read(self, path: Path, start: int, n_bytes: int) -> bytes:
        """The bytes from ``start`` on."""
        with path.open("rb") as file:
            file.seek(start)
            return file.read(n_bytes)
